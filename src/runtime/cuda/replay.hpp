/// Launches that repeat themselves, started several at a time.
///
/// A training loop queues the same kernels in the same order again and again, and where launches wait behind
/// each other the driver's time for each is the limit. A graph of a dozen costs hardly more than one launch.
/// Nothing waits for a graph to become full: launches are held back only while others are queued behind them.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "runtime/client.hpp"
#include "runtime/cuda/driver.hpp"

namespace strata::runtime::cuda {

/// What the driver is given.
struct KernelLaunch {
  ProgramRef program;  ///< keeps `function`
  Handle function = nullptr;
  std::array<unsigned, 3> cubes{}, units{};
  unsigned shared_bytes = 0;
  std::vector<std::uint64_t> arguments;  ///< addresses, lengths, scalars: 8 bytes each

  /// Equal but for arguments.
  bool resembles(const KernelLaunch& o) const {
    return function == o.function && cubes == o.cubes && shared_bytes == o.shared_bytes;
  }
};

/// A stream, as replaying needs it.
class LaunchSink {
 public:
  class Graph {
   public:
    virtual ~Graph() = default;
    /// From the next `start` on, node `i` has the arguments of `launch`, which resembles the one before.
    virtual void update(std::size_t i, const KernelLaunch& launch) = 0;
    virtual void start() = 0;
  };
  virtual ~LaunchSink() = default;
  virtual void start(const KernelLaunch& launch) = 0;
  /// One after the other; null where the driver cannot.
  virtual std::unique_ptr<Graph> graph(std::span<const KernelLaunch> launches) = 0;
  /// Waits for all that was started.
  virtual void finish() = 0;
};

/// One thread at a time.
class Replay {
 public:
  explicit Replay(LaunchSink& sink) : sink_(sink) {}
  /// Starts the launch, at once unless `more` are queued behind it.
  void launch(KernelLaunch launch, bool more);
  /// Starts what was held back: before anything else is given to the stream, and before memory that the
  /// device may still use is freed.
  void flush();
  /// Started as graphs so far.
  std::uint64_t graphs_started() const { return graphs_started_; }

 private:
  static constexpr std::size_t longest = 256;  ///< list
  static constexpr std::size_t shortest = 8;
  static constexpr std::size_t part_size = 12;  ///< launches of a graph

  /// Neighbours in the list that make one graph.
  struct Part {
    std::size_t begin = 0, end = 0;
    std::unique_ptr<LaunchSink::Graph> graph{};
    std::vector<std::vector<std::uint64_t>> arguments{};  ///< of the graph's nodes
  };

  void watch(const KernelLaunch& launch);
  void settle(std::size_t length);
  void forget();
  void start_part(Part& part);

  LaunchSink& sink_;

  // While looking for a list: the launches so far by what they resemble.
  std::deque<KernelLaunch> recent_;
  std::deque<std::uint64_t> kinds_;
  std::unordered_map<std::uint64_t, std::uint64_t> last_seen_;
  std::uint64_t count_ = 0;
  std::size_t period_ = 0, repeated_ = 0;

  // Once there is one: of the launches before position_ the last held_ are still to be started.
  std::vector<KernelLaunch> list_;
  std::vector<Part> parts_;
  std::size_t part_ = 0, position_ = 0, held_ = 0;
  bool refused_ = false;  ///< the driver makes no graphs
  std::uint64_t graphs_started_ = 0;
};

}  // namespace strata::runtime::cuda
