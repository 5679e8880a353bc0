#include "kernel/passes/promote_halves.hpp"

#include <algorithm>
#include <utility>

#include "kernel/passes/rewrite.hpp"

namespace strata::kernel {
namespace {

bool moves_only(Opcode op) {
  switch (op) {
    case Opcode::bitcast:
    case Opcode::select:
    case Opcode::splat:
    case Opcode::extract:
    case Opcode::insert:
    case Opcode::shuffle:
    case Opcode::plane_shuffle:
    case Opcode::plane_shuffle_xor:
      return true;
    default:
      return false;
  }
}

bool computes(Opcode op) {
  return is_elementwise(op) || (op >= Opcode::reduce_add && op <= Opcode::reduce_max) ||
         (op >= Opcode::plane_reduce_add && op <= Opcode::plane_reduce_max);
}

std::optional<Val> promote(const Instruction& i) {
  auto& b = Builder::current();
  if (i.result == no_value) return std::nullopt;
  const Type r = b.kernel().types[i.result];
  if (i.opcode == Opcode::lane_index && is_half(r.scalar))
    return convert(lane_index({Scalar::f32, r.lanes}), r.scalar);
  if (!computes(i.opcode) || moves_only(i.opcode)) return std::nullopt;
  const bool half_operands = std::any_of(i.operands.begin(), i.operands.end(),
                                         [&](ValueId v) { return is_half(b.value(v).scalar()); });
  if (!half_operands && !is_half(r.scalar)) return std::nullopt;
  if (i.opcode == Opcode::convert) {
    const Val x = b.value(i.operands[0]);
    if (x.scalar() == Scalar::f32 || (half_operands && r.scalar == Scalar::f32)) return std::nullopt;
    return convert(convert(x, Scalar::f32), r.scalar);
  }
  Instruction in_f32 = i;
  for (auto& v : in_f32.operands) v = convert(b.value(v), Scalar::f32).id;
  const Val computed =
      b.record_anew(std::move(in_f32), {is_half(r.scalar) ? Scalar::f32 : r.scalar, r.lanes});
  return convert(computed, r.scalar);
}

}  // namespace

Kernel promote_halves(Kernel kernel) {
  const bool none =
      std::none_of(kernel.types.begin(), kernel.types.end(), [](Type t) { return is_half(t.scalar); });
  if (none) return kernel;
  return rewrite(std::move(kernel), promote);
}

}  // namespace strata::kernel
