#include "cube/emit_node.hpp"

#include <bit>
#include <cmath>
#include <numbers>
#include <string>

#include "base/convert.hpp"
#include "kernel/functions.hpp"
#include "kernel/math.hpp"

namespace strata::cube {
namespace {

using kernel::Scalar;
using kernel::Val;
using op::BinaryKind;
using op::CompareKind;
using op::UnaryKind;

bool is_half(DType t) { return t == DType::f16 || t == DType::bf16; }
int bits_of(Scalar s) { return static_cast<int>(kernel::size_of(s)) * 8; }

/// Operations whose result on halves is a half without rounding.
bool keeps_precision(const op::Operation& op) {
  if (const auto* unary = std::get_if<op::Unary>(&op)) return unary->kind <= UnaryKind::trunc;
  if (const auto* binary = std::get_if<op::Binary>(&op)) {
    return binary->kind == BinaryKind::max || binary->kind == BinaryKind::min;
  }
  return std::holds_alternative<op::Fill>(op) || std::holds_alternative<op::Where>(op);
}

Val emit_unary(UnaryKind kind, Val x) {
  switch (kind) {
    case UnaryKind::neg:
      return -x;
    case UnaryKind::abs:
      return kernel::abs(x);
    case UnaryKind::sign:
      return kernel::sign(x);
    case UnaryKind::floor:
      return kernel::floor(x);
    case UnaryKind::ceil:
      return kernel::ceil(x);
    case UnaryKind::round:
      return kernel::rint(x);
    case UnaryKind::trunc:
      return kernel::trunc(x);
    case UnaryKind::recip:
      return 1.0 / x;
    case UnaryKind::sqrt:
      return kernel::sqrt(x);
    case UnaryKind::rsqrt:
      return 1.0 / kernel::sqrt(x);
    case UnaryKind::exp:
      return kernel::exp(x);
    case UnaryKind::expm1:
      return kernel::expm1(x);
    case UnaryKind::log:
      return kernel::log(x);
    case UnaryKind::log1p:
      return kernel::log1p(x);
    case UnaryKind::sin:
      return kernel::sin(x);
    case UnaryKind::cos:
      return kernel::cos(x);
    case UnaryKind::tanh:
      return kernel::tanh(x);
    case UnaryKind::sigmoid:
      return kernel::sigmoid(x);
    case UnaryKind::erf:
      return kernel::erf(x);
    case UnaryKind::exp2:
      return kernel::exp2(x);
    case UnaryKind::log2:
      return kernel::log2(x);
    case UnaryKind::log10:
      return kernel::log10(x);
    case UnaryKind::tan:
      return kernel::tan(x);
    case UnaryKind::asin:
      return kernel::asin(x);
    case UnaryKind::acos:
      return kernel::acos(x);
    case UnaryKind::atan:
      return kernel::atan(x);
    case UnaryKind::sinh:
      return kernel::sinh(x);
    case UnaryKind::cosh:
      return kernel::cosh(x);
    case UnaryKind::asinh:
      return kernel::asinh(x);
    case UnaryKind::acosh:
      return kernel::acosh(x);
    case UnaryKind::atanh:
      return kernel::atanh(x);
    case UnaryKind::gelu:
      return kernel::gelu(x);
    case UnaryKind::silu:
      return kernel::silu(x);
    case UnaryKind::softplus:
      return kernel::softplus(x);
    case UnaryKind::erfinv:
      return kernel::erfinv(x);
    case UnaryKind::lgamma:
      return kernel::lgamma(x);
    case UnaryKind::digamma:
      return kernel::digamma(x);
    case UnaryKind::logical_not:
      return !x;
    case UnaryKind::bit_not:
      return ~x;
  }
  return x;
}

/// Counts outside [0, bits) shift everything out; the machine's shifts leave them undefined.
Val emit_shift(bool left, Val x, Val count) {
  const int bits = bits_of(x.scalar());
  const auto number = [&](int v) { return kernel::constant(x.type, v); };
  Val inside = count < bits;
  if (kernel::is_signed(x.scalar())) inside = inside & (count >= 0);
  const Val safe = kernel::select(inside, count, number(0));
  if (left) return kernel::select(inside, x << safe, number(0));
  const Val emptied = kernel::is_signed(x.scalar()) ? x >> number(bits - 1) : number(0);
  return kernel::select(inside, x >> safe, emptied);
}

Val emit_binary(BinaryKind kind, Val a, Val b) {
  switch (kind) {
    case BinaryKind::add:
      return a + b;
    case BinaryKind::sub:
      return a - b;
    case BinaryKind::mul:
      return a * b;
    case BinaryKind::div:
      return kernel::is_float(a.scalar()) ? a / b : kernel::floor_div(a, b);
    case BinaryKind::rem:
      return kernel::floor_rem(a, b);
    case BinaryKind::fmod:
      return kernel::truncated_rem(a, b);
    case BinaryKind::pow:
      return kernel::pow(a, b);
    case BinaryKind::max:
      return kernel::max(a, b);
    case BinaryKind::min:
      return kernel::min(a, b);
    case BinaryKind::atan2:
      return kernel::atan2(a, b);
    case BinaryKind::hypot:
      return kernel::hypot(a, b);
    case BinaryKind::bit_and:
      return a & b;
    case BinaryKind::bit_or:
      return a | b;
    case BinaryKind::bit_xor:
      return a ^ b;
    case BinaryKind::shift_left:
      return emit_shift(true, a, b);
    case BinaryKind::shift_right:
      return emit_shift(false, a, b);
  }
  return a;
}

Val emit_compare(CompareKind kind, Val a, Val b) {
  switch (kind) {
    case CompareKind::equal:
      return a == b;
    case CompareKind::not_equal:
      return a != b;
    case CompareKind::less:
      return a < b;
    case CompareKind::less_equal:
      return a <= b;
    case CompareKind::greater:
      return a > b;
    case CompareKind::greater_equal:
      return a >= b;
  }
  return a;
}

Val emit_iota(const op::Iota& op, const NodeArguments& arguments, Val position) {
  const Scalar computed = is_float(op.dtype) ? Scalar::f64 : Scalar::i64;
  const Val i = kernel::convert(position, computed);
  return kernel::convert(arguments[0] + i * arguments[1], compute_scalar(op.dtype));
}

/// Words of the Philox stream that one element takes.
struct RandomWords {
  Val w0, w1;  ///< u32, one pair a lane
};

/// `position` is i64, one a lane; `seed` u64, scalar. Two elements share the four words of a counter.
RandomWords random_words(Val position, Val seed) {
  const int lanes = position.lanes();
  const Val counter = kernel::bitcast(position, Scalar::u64) >> 1;
  const auto low = [](Val wide) { return kernel::convert(wide, Scalar::u32); };
  const Val zero = kernel::constant(kernel::make_type(Scalar::u32, lanes), 0);
  const auto r = kernel::philox({low(counter), low(counter >> 32), zero, zero},
                                {kernel::splat(low(seed), lanes), kernel::splat(low(seed >> 32), lanes)});
  const Val odd = (low(kernel::bitcast(position, Scalar::u64)) & 1) != 0;
  return {kernel::select(odd, r[2], r[0]), kernel::select(odd, r[3], r[1])};
}

/// Uniform in [0, 1): 24 bits as f32, or 53 bits as f64.
Val unit_f32(Val word) {
  return kernel::convert(kernel::bitcast(word >> 8, Scalar::i32), Scalar::f32) * 0x1p-24;
}
Val unit_f64(const RandomWords& r) {
  const Val wide = (kernel::convert(r.w1, Scalar::u64) << 32) | kernel::convert(r.w0, Scalar::u64);
  return kernel::convert(kernel::bitcast(wide >> 11, Scalar::i64), Scalar::f64) * 0x1p-53;
}

/// Bounds travel in the type they are computed in: f64 for f64 and integers, f32 for the rest.
Scalar random_scalar(const op::Random& op) {
  const bool wide =
      op.distribution != op::Distribution::bernoulli && (op.dtype == DType::f64 || is_int(op.dtype));
  return wide ? Scalar::f64 : Scalar::f32;
}

Val emit_random(const op::Random& op, const NodeArguments& arguments, Val position) {
  const Val seed = arguments[0], a = arguments[1], b = arguments[2];
  const auto words = random_words(position, seed);
  const Scalar out = compute_scalar(op.dtype);
  switch (op.distribution) {
    case op::Distribution::uniform: {
      if (random_scalar(op) == Scalar::f32) return a + unit_f32(words.w0) * (b - a);
      if (op.dtype == DType::f64) return a + unit_f64(words) * (b - a);
      const Val low = kernel::floor(a);
      return kernel::convert(low + kernel::floor(unit_f64(words) * (b - low)), out);
    }
    case op::Distribution::normal: {
      const Scalar s = random_scalar(op);
      const Val u = kernel::convert(unit_f32(words.w0), s), v = kernel::convert(unit_f32(words.w1), s);
      const Val radius = kernel::sqrt(-2.0 * kernel::log(1.0 - u));
      return a + b * (radius * kernel::cos(v * (2 * std::numbers::pi)));
    }
    case op::Distribution::bernoulli:
      return kernel::convert(unit_f32(words.w0) < a, out);
  }
  return position;
}

std::int64_t bits(double v, Scalar s) {
  return s == Scalar::f64 ? std::bit_cast<std::int64_t>(v)
                          : static_cast<std::int64_t>(std::bit_cast<std::uint32_t>(static_cast<float>(v)));
}

/// The fill value as Cast makes it, in the bits of the compute type.
std::int64_t fill_bits(const op::Fill& op) {
  return visit_dtype(op.dtype, [&]<class T>() -> std::int64_t {
    const T v = op.value.kind == op::Number::Kind::floating ? base::convert<T>(op.value.as_double())
                                                            : base::convert<T>(op.value.as_int());
    if constexpr (dtype_of<T>() == DType::f64) {
      return std::bit_cast<std::int64_t>(v);
    } else if constexpr (is_float(dtype_of<T>())) {
      return std::bit_cast<std::uint32_t>(static_cast<float>(v));
    } else {
      return static_cast<std::int64_t>(v);
    }
  });
}

}  // namespace

Val widen(Val stored, DType t) { return is_half(t) ? kernel::convert(stored, Scalar::f32) : stored; }
Val narrow(Val computed, DType t) {
  return is_half(t) ? kernel::convert(computed, kernel::scalar_of(t)) : computed;
}

NodeArguments declare_arguments(kernel::Builder& builder, const Node& node, int number) {
  const auto scalar = [&](const char* name, Scalar s) {
    return builder.scalar(name + std::to_string(number), s);
  };
  if (const auto* fill = std::get_if<op::Fill>(&node.op)) {
    // Booleans travel as a byte: a scalar parameter has no 1-bit form on every target.
    const Scalar s = fill->dtype == DType::boolean ? Scalar::u8 : compute_scalar(fill->dtype);
    const Val v = scalar("fill", s);
    return NodeArguments(fill->dtype == DType::boolean ? v != 0 : v);
  }
  if (const auto* iota = std::get_if<op::Iota>(&node.op)) {
    const Scalar s = is_float(iota->dtype) ? Scalar::f64 : Scalar::i64;
    const Val start = scalar("start", s);
    return NodeArguments{start, scalar("step", s)};
  }
  if (const auto* random = std::get_if<op::Random>(&node.op)) {
    const Scalar s = random_scalar(*random);
    const Val seed = scalar("seed", Scalar::u64), a = scalar("a", s);
    return NodeArguments{seed, a, scalar("b", s)};
  }
  return {};
}

void append_arguments(const Node& node, std::vector<std::int64_t>& out) {
  if (const auto* fill = std::get_if<op::Fill>(&node.op)) {
    out.push_back(fill_bits(*fill));
  } else if (const auto* iota = std::get_if<op::Iota>(&node.op)) {
    const bool real = is_float(iota->dtype);
    for (const auto& v : {iota->start, iota->step})
      out.push_back(real ? bits(v.as_double(), Scalar::f64) : v.as_int());
  } else if (const auto* random = std::get_if<op::Random>(&node.op)) {
    const Scalar s = random_scalar(*random);
    out.push_back(static_cast<std::int64_t>(random->seed));
    out.push_back(bits(random->a, s));
    out.push_back(bits(random->b, s));
  }
}

bool is_copy(const Node& node, DType operand) {
  const auto* cast = std::get_if<op::Cast>(&node.op);
  return cast && cast->dtype == operand;
}

bool needs_position(const Node& node) {
  return std::holds_alternative<op::Iota>(node.op) || std::holds_alternative<op::Random>(node.op);
}

NodeValue emit_node_value(const Node& node, std::span<const Val> operands, std::span<const DType> types,
                          const NodeArguments& arguments, Val position, int lanes) {
  const auto elementwise_only = [](const auto&) -> Val {
    base::fail_check("a node of a block is element-wise", __FILE_NAME__, __LINE__);
  };
  const Val v = std::visit(
      op::Overload{[&](const op::Fill&) { return kernel::splat(arguments[0], lanes); },
                   [&](const op::Iota& op) { return emit_iota(op, arguments, position); },
                   [&](const op::Random& op) { return emit_random(op, arguments, position); },
                   [&](const op::Unary& op) { return emit_unary(op.kind, operands[0]); },
                   [&](const op::Binary& op) { return emit_binary(op.kind, operands[0], operands[1]); },
                   [&](const op::Compare& op) { return emit_compare(op.kind, operands[0], operands[1]); },
                   [&](const op::Where&) { return kernel::select(operands[0], operands[1], operands[2]); },
                   [&](const op::Cast& op) {
                     return op.dtype == types[0] ? operands[0]
                                                 : kernel::convert(operands[0], compute_scalar(op.dtype));
                   },
                   elementwise_only},
      node.op);
  const DType dtype = node.type.dtype;
  if (!is_half(dtype) || keeps_precision(node.op) || (!types.empty() && is_copy(node, types[0])))
    return {v, {}};
  const Val stored = narrow(v, dtype);
  return {widen(stored, dtype), stored};
}

}  // namespace strata::cube
