/// A tensor of the fusion layer: it knows how it is to be made, and once it was made, where its data is.
#pragma once

#include <exception>
#include <span>
#include <vector>

#include "base/inline_vector.hpp"
#include "cube/cube_value.hpp"
#include "op/operation.hpp"
#include "strata/detail/value.hpp"

namespace strata::fusion {

class FusionValue;
using FusionRef = backend::Ref<FusionValue>;

/// Operands of one operation: inline for all but long Cats.
class Operands {
 public:
  explicit Operands(std::span<const backend::ValueRef> values);
  Operands() = default;
  std::span<const FusionRef> view() const {
    return many_.empty() ? std::span(few_.data(), few_.size()) : std::span(many_);
  }
  void clear() {
    few_.clear();
    many_.clear();
  }

 private:
  base::InlineVector<FusionRef, 3> few_;
  std::vector<FusionRef> many_;
};

/// The calling thread fills in `op` and `operands` and from then on only holds references; everything below
/// belongs to the upstream thread.
class FusionValue final : public backend::Value {
 public:
  FusionValue(backend::Backend& home, const op::TensorType& type, const op::Operation& operation,
              std::span<const backend::ValueRef> inputs)
      : Value(home, type.dtype, type.shape), op(operation), operands(inputs) {}

  op::Operation op;
  Operands operands;
  std::vector<FusionRef> siblings;  ///< the other results of `op`, which is run with this one

  enum class State : std::uint8_t {
    queued,     ///< not seen by the upstream thread yet
    constant,   ///< a Fill: becomes part of whatever uses it, and a buffer only when it must
    pending,    ///< in the open block of `stream`
    ready,      ///< `data` is there (its kernel may still be running)
    failed,     ///< `error` is what every reader gets
    discarded,  ///< nobody could reach it when its block closed
  };
  State state = State::queued;
  int position = -1;         ///< in the open block
  std::uint32_t stream = 0;  ///< of the thread that called
  backend::Ref<cube::CubeValue> data;
  std::exception_ptr error;

  /// With one element for each result.
  template <class Results>
  void succeed_all(const Results& results) {
    const auto made = [&](std::size_t i) {
      return backend::Ref<cube::CubeValue>(static_cast<cube::CubeValue*>(results[i].get()));
    };
    for (std::size_t i = 0; i < siblings.size(); ++i) siblings[i]->succeed(made(i + 1));
    succeed(made(0));
  }
  void succeed(backend::Ref<cube::CubeValue> result) {
    data = std::move(result);
    finish(State::ready);
  }
  void fail(std::exception_ptr cause) {
    for (const auto& sibling : siblings) sibling->fail(cause);
    error = std::move(cause);
    finish(State::failed);
  }
  void discard() { finish(State::discarded); }

 private:
  void finish(State final_state) {
    state = final_state;
    siblings.clear();
    operands.clear();  // what made this value is needed no more
  }
};

inline Operands::Operands(std::span<const backend::ValueRef> values) {
  const auto ref = [](const backend::ValueRef& v) { return FusionRef(static_cast<FusionValue*>(v.get())); };
  if (values.size() <= 3) {
    for (const auto& v : values) few_.push_back(ref(v));
  } else {
    for (const auto& v : values) many_.push_back(ref(v));
  }
}

}  // namespace strata::fusion
