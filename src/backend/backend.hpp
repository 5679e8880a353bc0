/// What a backend is: it executes operations on its own values. Layers decorate backends (Autodiff, Fusion)
/// or are the bottom of a stack (Flex, Cube).
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/inline_vector.hpp"
#include "op/operation.hpp"
#include "strata/detail/value.hpp"
#include "strata/future.hpp"
#include "strata/tensor_data.hpp"

namespace strata::backend {

using Inputs = std::span<const ValueRef>;
using Values = base::InlineVector<ValueRef, op::max_results>;

class Backend {
 public:
  virtual ~Backend();

  /// Runs `op`, or queues it. Inputs are values of this very backend (see `execute` below). The bottom of the
  /// stack checks with op::infer, so a faulty call throws a UserError from here with nothing queued or
  /// recorded.
  virtual Values execute(const op::Operation& op, Inputs inputs) = 0;
  virtual ValueRef from_data(const TensorData& data) = 0;
  /// A copy of `value`, which lives on another backend; null where there is none but through the host.
  virtual ValueRef from_peer(const ValueRef& value);
  /// The elements, row-major. The future carries the error of the op that failed to make this value, if one
  /// did.
  virtual Future<TensorData> into_data(const ValueRef& value) = 0;
  /// `into_data` for a caller that waits: lazy backends may use its thread meanwhile.
  virtual TensorData read(const ValueRef& value) { return into_data(value).get(); }
  /// `into_data` and `read` of several values: a lazy backend queues all of these reads before it starts one.
  virtual std::vector<Future<TensorData>> into_data_all(Inputs values);
  virtual std::vector<TensorData> read_all(Inputs values);
  /// Returns when everything the calling thread queued is done.
  virtual void sync() = 0;
  /// The stack from here down, e.g. "autodiff<flex>"; built once from the objects that run.
  virtual std::string_view name() const = 0;
};

/// Execution with the one check that no backend can make for itself: all inputs live on one backend.
/// `execute(op, inputs)` takes the backend of the first input.
Values execute(const op::Operation& op, Inputs inputs);
/// For families without inputs.
Values execute(Backend& backend, const op::Operation& op, Inputs inputs = {});

/// Reads of values of any backends. All are queued before the first is waited for. Throws the error of the
/// first value, in their order, that could not be made.
std::vector<TensorData> read_all(Inputs values);
std::vector<Future<TensorData>> into_data_all(Inputs values);
/// Waits for one after the other.
std::vector<TensorData> get_all(std::vector<Future<TensorData>> futures);

/// The types of `inputs`, for op::infer.
inline op::TensorType type_of(const Value& v) { return {v.dtype, v.shape}; }
/// op::infer on values; `device` names the backend in errors.
op::TensorTypes infer(const op::Operation& op, Inputs inputs, std::string_view device);

}  // namespace strata::backend
