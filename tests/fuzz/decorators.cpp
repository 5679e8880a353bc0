#include "fuzz/decorators.hpp"

#include <cmath>

#include "fuzz/fuzzer/bounds.hpp"

namespace strata::fuzz {
namespace {

class FaultyValue final : public backend::Value {
 public:
  FaultyValue(backend::Backend& home, ValueRef value)
      : Value(home, value->dtype, value->shape), inner(std::move(value)) {}
  ~FaultyValue() override { *alive = false; }

  const ValueRef inner;
  op::Operation made_by;  ///< a Fill where it came as data
  ValueRef operand;       ///< the first operand on flex
  std::shared_ptr<bool> alive = std::make_shared<bool>(true);
  std::shared_ptr<bool> base_alive;  ///< of a view
  std::thread::id thread = std::this_thread::get_id();
};

const FaultyValue& get(const ValueRef& v) { return static_cast<const FaultyValue&>(*v); }

bool odd(const Shape& shape, const Axes& axes) {
  for (auto axis : axes) {
    const auto e = shape[static_cast<int>(axis)];
    if (e > 1 && e % 2 != 0) return true;
  }
  return false;
}

/// The first axis along which `to` repeats elements of `from`; -1: none.
int stretched_axis(const Shape& from, const Shape& to) {
  const int lead = to.rank() - from.rank();
  for (int i = 0; i < to.rank(); ++i) {
    if (to[i] > 1 && (i < lead || from[i - lead] == 1)) return i;
  }
  return -1;
}

}  // namespace

ValueRef FaultyBackend::resolve(const ValueRef& value) {
  const auto& v = get(value);
  const bool dead = fault_ == Fault::view_dies_with_its_base && v.base_alive && !*v.base_alive;
  return dead ? run(op::Fill{v.shape, v.dtype, 0}, {}) : v.inner;
}

ValueRef FaultyBackend::from_data(const TensorData& data) {
  return ValueRef(new FaultyValue(*this, flex_.from_data(data)));
}
Future<TensorData> FaultyBackend::into_data(const ValueRef& value) { return flex_.into_data(resolve(value)); }

backend::Values FaultyBackend::execute(const op::Operation& op, backend::Inputs inputs) {
  std::vector<ValueRef> on_flex;
  for (const auto& v : inputs) on_flex.push_back(resolve(v));
  ValueRef result;
  try {
    result = corrupted(op, inputs, on_flex);
    if (!result) result = run(op, on_flex);
  } catch (const ShapeError& e) {
    if (fault_ == Fault::errors_change_their_type) throw ArgumentError(e.what());
    throw;
  }
  const backend::Ref<FaultyValue> wrapped(new FaultyValue(*this, std::move(result)));
  wrapped->made_by = op;
  if (!inputs.empty()) wrapped->operand = on_flex[0];
  if (std::holds_alternative<op::Slice>(op)) wrapped->base_alive = get(inputs[0]).alive;
  return backend::Values(wrapped);
}

ValueRef FaultyBackend::corrupted(const op::Operation& op, backend::Inputs inputs,
                                  const std::vector<ValueRef>& on_flex) {
  const auto* binary = std::get_if<op::Binary>(&op);
  const auto is = [&](op::BinaryKind kind) { return binary && binary->kind == kind; };
  switch (fault_) {
    case Fault::flip_ignored_on_odd_extents:
      if (const auto* flip = std::get_if<op::Flip>(&op); flip && odd(on_flex[0]->shape, flip->axes))
        return on_flex[0];
      break;
    case Fault::reduce_of_a_slice_reads_the_base:
      if (std::holds_alternative<op::Reduce>(op)) {
        if (const auto* slice = std::get_if<op::Slice>(&get(inputs[0]).made_by)) {
          auto from_start = *slice;
          for (int i = 0; i < slice->start.rank(); ++i) {
            from_start.start[i] = 0;
            from_start.stop[i] -= slice->start[i];
          }
          return run(op, {run(from_start, {get(inputs[0]).operand})});
        }
      }
      break;
    case Fault::sub_swaps_broadcast_operands:
      if (is(op::BinaryKind::sub) && on_flex[0]->shape != on_flex[1]->shape)
        return run(op, {on_flex[1], on_flex[0]});
      break;
    case Fault::write_through_an_expanded_value:
      // All elements along an expanded axis share memory: the last one written is what all read.
      if (binary && std::holds_alternative<op::Expand>(get(inputs[0]).made_by)) {
        const int axis = stretched_axis(get(inputs[0]).operand->shape, on_flex[0]->shape);
        const auto sum = run(op, on_flex);
        if (axis < 0 || sum->shape != on_flex[0]->shape) return sum;
        op::Slice last{Dims::filled(sum->shape.rank(), 0), sum->shape, Dims::filled(sum->shape.rank(), 1)};
        last.start[axis] = sum->shape[axis] - 1;
        return run(op::Expand{sum->shape}, {run(last, {sum})});
      }
      break;
    case Fault::operands_of_other_threads_are_swapped:
      if (is(op::BinaryKind::sub) && get(inputs[0]).thread != std::this_thread::get_id())
        return run(op, {on_flex[1], on_flex[0]});
      break;
    case Fault::factor_one_half_is_forgotten:
      if (is(op::BinaryKind::mul)) {
        const auto* fill = std::get_if<op::Fill>(&get(inputs[1]).made_by);
        if (fill && fill->value == op::Number(0.5)) return on_flex[0];
      }
      break;
    case Fault::view_dies_with_its_base:
    case Fault::errors_change_their_type:
      break;
  }
  return {};
}

backend::Values NoisyBackend::execute(const op::Operation& op, backend::Inputs inputs) {
  auto result = flex_.execute(op, inputs);
  const auto t = result[0]->dtype;
  const auto* unary = std::get_if<op::Unary>(&op);
  const auto* reduce = std::get_if<op::Reduce>(&op);
  const bool inexact = (unary && unary->kind >= op::UnaryKind::rsqrt && unary->kind <= op::UnaryKind::erf) ||
                       (reduce && reduce->kind <= op::ReduceKind::mean && !reduce->axes.empty() &&
                        inputs[0]->shape.product() != result[0]->shape.product()) ||
                       std::holds_alternative<op::Matmul>(op);
  if (!inexact || (t != DType::f32 && t != DType::f64)) return result;
  auto values = flex_.read(result[0]).to_doubles();
  for (auto& v : values) v *= 1 + (2 * choices_.unit() - 1) * ulps_ * static_cast<double>(epsilon(t));
  const auto moved = TensorData::from<double>(std::span<const double>(values), result[0]->shape);
  return backend::Values(flex_.from_data(moved.convert(t)));
}

}  // namespace strata::fuzz
