/// Runs programs on backends and compares what they give.
#pragma once

#include <memory>

#include "autodiff/autodiff.hpp"
#include "fuzz/fuzzer/bounded_backend.hpp"

namespace strata::fuzz {

/// One result of a program: elements, or the error that came instead.
struct Output {
  std::string label;  ///< unique in the program: "body 0, v3 read by action 7", "gradient of in0"
  TensorData data;
  std::vector<double> errors;  ///< of the reference only; empty: all 0
  std::string error;           ///< type and message; empty: there is data
  bool backward = false;       ///< a gradient
};
using Outputs = std::vector<Output>;

/// A backend that programs run on, alone or under an Autodiff.
class Stack {
 public:
  Stack(std::string name, backend::Backend& backend, bool autodiff);

  const std::string& name() const { return name_; }
  bool has_gradients() const { return with_gradients_[0] != nullptr; }
  Outputs run(const Program& program);

 private:
  const std::string name_;
  backend::Backend& backend_;
  std::unique_ptr<autodiff::Autodiff> with_gradients_[2];  ///< for either checkpointing; or none
};

struct Mismatch {
  std::string stack;
  std::string text;  ///< what differs, with both results
};

/// What comparing one stack, or all, came to.
struct Verdict {
  std::optional<Mismatch> mismatch;
  std::size_t compared = 0, excluded = 0;  ///< elements
  bool blind() const { return compared == 0 && excluded > 0; }
};
Verdict& operator+=(Verdict& total, const Verdict& one);

/// `expected` comes from the reference.
Verdict compare(const std::string& stack, const Outputs& expected, const Outputs& actual);

/// The reference and the stacks that are held against it.
class Rig {
 public:
  explicit Rig(backend::Backend& reference);

  void add(std::string name, backend::Backend& backend, bool autodiff = false);
  /// Programs between two uses of stack i, 1 by default: for stacks that take long.
  void every(std::size_t programs) { stacks_.back().every = programs; }

  /// `turn` counts programs. Stops at the first mismatch.
  Verdict check(const Program& program, std::size_t turn = 0);
  /// The same on one stack only; programs with threads get several attempts.
  Verdict check_on(const std::string& stack, const Program& program);
  /// What the reference computes.
  Outputs expected(const Program& program) { return plain_.run(program); }

 private:
  struct Held {
    std::unique_ptr<Stack> stack;
    std::size_t every = 1;
  };
  BoundedBackend bounded_;
  Stack plain_, with_gradients_;
  std::vector<Held> stacks_;
};

}  // namespace strata::fuzz
