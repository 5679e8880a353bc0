/// What matmul remembers of one device: plans by problem, the tuner, the device's peaks.
#pragma once

#include <list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "cube/cube_backend.hpp"
#include "cube/matmul/kernels.hpp"
#include "cube/matmul/rule.hpp"
#include "tune/roofline.hpp"
#include "tune/tuner.hpp"

namespace strata::cube::matmul {

/// Buffers of one product, in the order of the kernels' arguments, the workspace apart.
struct Operands {
  std::vector<runtime::BufferRef> buffers;
  bool real = true;  ///< false while a plan is only described: there is no data to measure with
};

/// A kernel for a problem, ready to launch.
struct Plan {
  Schedule schedule;
  Program program;
  std::uint32_t cubes_x = 1, cubes_y = 1;
  std::int64_t workspace = 0;  ///< elements of the accumulator's type
  /// Where k is split: adds the parts, with the same buffers and scalars.
  std::optional<Program> sum;
  std::uint32_t sum_cubes = 0;
};

/// One thread at a time.
class Engine {
 public:
  Engine(CubeBackend& backend, cache::Store& store, const tune::Settings& settings);
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;
  /// The engine of `backend`, made on first use with the process's store and the environment's settings.
  static Engine& of(CubeBackend& backend);

  void run(const Problem& problem, const Operands& operands);
  /// What `run` does from the third call of the problem on, with the record behind it.
  std::pair<Plan, tune::TuneRecord> settle(const Problem& problem, const Operands& operands);
  /// The kernel of `schedule`, recorded unless it is known.
  Plan plan(const Problem& problem, const Schedule& schedule);

  const Machine& machine() const { return machine_; }
  tune::Tuner& tuner() { return tuner_; }
  /// Plans in memory.
  std::size_t size() const { return entries_.size(); }

 private:
  struct Entry {
    Plan plan;
    int uses = 0;
    bool settled = false;
  };
  struct Hash {
    std::size_t operator()(const KernelKey& k) const { return static_cast<std::size_t>(k.low); }
  };
  using Order = std::list<std::pair<KernelKey, Entry>>;

  Entry& entry_of(const Problem& problem);
  /// For shapes that have no kernel of their own yet.
  Plan general(const Problem& problem);
  bool settles_at_once(const Problem& problem);
  tune::Problem tuning_problem(const Problem& problem, std::span<const Schedule> schedules);
  Plan tuned(const Problem& problem, const Operands& operands, tune::TuneRecord* record);
  void launch(const Plan& plan, const Problem& problem, const Operands& operands);

  CubeBackend& backend_;
  const Machine machine_;
  tune::Tuner tuner_;
  tune::Roofline roofline_;
  Order order_;  ///< used last first
  std::unordered_map<KernelKey, Order::iterator, Hash> entries_;
  std::unordered_map<KernelKey, int, Hash> tuned_in_class_;
};

}  // namespace strata::cube::matmul
