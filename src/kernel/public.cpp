/// include/strata/kernel.hpp on top of the builder.
#include "kernel/public.hpp"

#include "base/check.hpp"

#include "kernel/builder.hpp"
#include "kernel/hash.hpp"
#include "kernel/math.hpp"
#include "kernel/print.hpp"

namespace strata::inline v0::lang {
namespace detail {
namespace {

namespace k = strata::kernel;

k::Type type_of(Type t) { return {static_cast<k::Scalar>(t.scalar), t.lanes}; }
k::Val val(Handle h) { return {h.id, type_of(h.type)}; }
Handle handle(k::Val v) { return {v.id, {static_cast<std::uint8_t>(v.type.scalar), v.type.lanes}}; }
k::Buffer memory(Handle h) { return {h.id, static_cast<k::Scalar>(h.type.scalar)}; }
Handle handle(k::Buffer b) { return {b.id(), {static_cast<std::uint8_t>(b.scalar()), 1}}; }
std::string argument_name() {
  const auto& kernel = k::Builder::current().kernel();
  return "arg" + std::to_string(kernel.memories.size() + kernel.scalars.size());
}

constexpr std::string_view misfits = "misfits";

/// Whether a memory has the `lanes` elements from `index` on, as a mask; absent where that is certain. An
/// access that does not fit is reported.
k::Val fits(k::Buffer m, k::Val index, int lanes) {
  auto& builder = k::Builder::current();
  const bool global = builder.is_global(m.id());
  const auto known = builder.bits_of(index);
  if (known && !global) {
    if (*known >= 0 && *known + lanes <= builder.length_of(m.id())) return {};
    builder.fail("index " + std::to_string(*known) + " lies outside an array of " +
                 std::to_string(builder.length_of(m.id())) + " elements");
  }
  const k::Val i = k::convert(index, k::Scalar::i64);
  const k::Val fit = (i >= 0) & (i <= m.length() - lanes);
  k::if_(!fit, [&] {
    const auto& kernel = builder.kernel();
    const auto last = static_cast<k::MemoryId>(kernel.buffer_count() - 1);
    STRATA_CHECK(kernel.memories[last].name == misfits);
    const k::Val place = k::max(k::min(i, farthest_index), -farthest_index) + farthest_index;
    k::Buffer(last, k::Scalar::i64).atomic_min(0, place + (std::int64_t{m.id()} << index_bits));
  });
  return k::splat(fit, lanes);
}

}  // namespace

Handle constant(Type type, double value) { return handle(k::constant(type_of(type), value)); }
Handle constant(Type type, std::int64_t value) { return handle(k::constant(type_of(type), value)); }

Handle unary(Unary op, Handle h) {
  const k::Val a = val(h);
  switch (op) {
    case Unary::neg:
      return handle(-a);
    case Unary::bit_not:
      return handle(~a);
    case Unary::logical_not:
      return handle(!a);
    case Unary::abs:
      return handle(k::abs(a));
    case Unary::sqrt:
      return handle(k::sqrt(a));
    case Unary::floor:
      return handle(k::floor(a));
    case Unary::ceil:
      return handle(k::ceil(a));
    case Unary::rint:
      return handle(k::rint(a));
    case Unary::trunc:
      return handle(k::trunc(a));
    case Unary::is_nan:
      return handle(k::is_nan(a));
    case Unary::exp:
      return handle(k::exp(a));
    case Unary::log:
      return handle(k::log(a));
    case Unary::tanh:
      return handle(k::tanh(a));
    case Unary::sin:
      return handle(k::sin(a));
    case Unary::cos:
      return handle(k::cos(a));
    case Unary::log1p:
      return handle(k::log1p(a));
    case Unary::expm1:
      return handle(k::expm1(a));
    case Unary::erf:
      return handle(k::erf(a));
    case Unary::sigmoid:
      return handle(k::sigmoid(a));
    case Unary::sign:
      return handle(k::sign(a));
    case Unary::reduce_add:
      return handle(k::reduce_add(a));
    case Unary::reduce_mul:
      return handle(k::reduce_mul(a));
    case Unary::reduce_min:
      return handle(k::reduce_min(a));
    case Unary::reduce_max:
      break;
  }
  return handle(k::reduce_max(a));
}

Handle binary(Binary op, Handle left, Handle right) {
  const k::Val a = val(left), b = val(right);
  switch (op) {
    case Binary::add:
      return handle(a + b);
    case Binary::sub:
      return handle(a - b);
    case Binary::mul:
      return handle(a * b);
    case Binary::div:
      return handle(a / b);
    case Binary::min:
      return handle(k::min(a, b));
    case Binary::max:
      return handle(k::max(a, b));
    case Binary::bit_and:
      return handle(a & b);
    case Binary::bit_or:
      return handle(a | b);
    case Binary::bit_xor:
      return handle(a ^ b);
    case Binary::shift_left:
      return handle(a << b);
    case Binary::shift_right:
      return handle(a >> b);
    case Binary::eq:
      return handle(a == b);
    case Binary::ne:
      return handle(a != b);
    case Binary::lt:
      return handle(a < b);
    case Binary::le:
      return handle(a <= b);
    case Binary::gt:
      return handle(a > b);
    case Binary::ge:
      return handle(a >= b);
    case Binary::pow:
      return handle(k::pow(a, b));
    case Binary::floor_div:
      return handle(k::floor_div(a, b));
    case Binary::floor_rem:
      break;
  }
  return handle(k::floor_rem(a, b));
}

Handle fma(Handle a, Handle b, Handle c) { return handle(k::fma(val(a), val(b), val(c))); }
Handle select(Handle condition, Handle t, Handle f) {
  return handle(k::select(val(condition), val(t), val(f)));
}
Handle convert(Handle a, std::uint8_t scalar) {
  return handle(k::convert(val(a), static_cast<k::Scalar>(scalar)));
}
Handle splat(Handle a, int lanes) { return handle(k::splat(val(a), lanes)); }

Handle buffer(std::uint8_t scalar, Access access) {
  auto& b = k::Builder::current();
  const auto s = static_cast<k::Scalar>(scalar);
  return handle(access == Access::read ? b.read(argument_name(), s) : b.read_write(argument_name(), s));
}
Handle array(Space space, std::uint8_t scalar, std::int64_t elements) {
  const auto s = static_cast<k::Scalar>(scalar);
  return handle(space == Space::shared ? k::shared_array(s, elements) : k::local_array(s, elements));
}
Handle scalar(std::uint8_t scalar) {
  return handle(k::Builder::current().scalar(argument_name(), static_cast<k::Scalar>(scalar)));
}

Handle length(Handle m) { return handle(memory(m).length()); }
Handle load(Handle m, Handle index, int lanes) {
  return handle(memory(m).load(val(index), lanes, {.mask = fits(memory(m), val(index), lanes)}));
}
void store(Handle m, Handle index, Handle value) {
  memory(m).store(val(index), val(value), {.mask = fits(memory(m), val(index), value.type.lanes)});
}
Handle atomic(Atomic op, Handle m, Handle index, Handle value) {
  const k::Buffer b = memory(m);
  const auto done = [&] {
    switch (op) {
      case Atomic::add:
        return b.atomic_add(val(index), val(value));
      case Atomic::min:
        return b.atomic_min(val(index), val(value));
      case Atomic::max:
        break;
    }
    return b.atomic_max(val(index), val(value));
  };
  const k::Val fit = fits(b, val(index), 1);
  if (!fit.present()) return handle(done());
  const k::Var old(k::constant(type_of(value.type), 0));
  k::if_(fit, [&] { old = done(); });
  return handle(old);
}

Handle position(int builtin) { return handle(k::builtin(static_cast<k::Builtin>(builtin))); }
Handle absolute_position() { return handle(k::absolute_pos()); }
void barrier() { k::barrier(); }
void leave() { k::return_(); }

void if_else(Handle condition, Callback then, Callback otherwise) {
  k::if_(
      val(condition), [&] { then.call(then.object, {}); }, [&] { otherwise.call(otherwise.object, {}); });
}
void for_range(Handle begin, Handle end, Handle step, Callback body) {
  k::for_(val(begin), val(end), val(step), [&](k::Val i) { body.call(body.object, handle(i)); });
}
void while_loop(Callback condition, const Handle& result, Callback body) {
  k::while_(
      [&] {
        condition.call(condition.object, {});
        return val(result);
      },
      [&] { body.call(body.object, {}); });
}

struct Recording::State {
  k::Builder builder;
  Signature signature;
};

Recording::Recording(std::string_view name, Cube cube)
    : state_(new State{k::Builder(name, {cube.x, cube.y, cube.z}), {std::string(name), cube, {}, {}}}) {
  constexpr std::uint64_t most = 1024;  // what every GPU can run
  if (cube.x > most || cube.y > most || std::uint64_t{cube.x} * cube.y * cube.z > most)
    state_->builder.fail("a cube has at most 1024 units");
}
Recording::~Recording() = default;
void Recording::begin_body(std::vector<Argument> arguments) {
  state_->signature.arguments = std::move(arguments);
  state_->builder.read_write(misfits, k::Scalar::i64);
}
std::shared_ptr<const Signature> Recording::finish() {
  auto impl =
      std::make_shared<KernelImpl>(KernelImpl{std::move(state_->signature), state_->builder.finish()});
  const auto hash = k::hash(impl->ir);
  impl->hash = {hash.high, hash.low};
  return impl;
}

}  // namespace detail

std::string Kernel::to_string() const { return strata::kernel::print(impl().ir); }
const detail::KernelImpl& Kernel::impl() const { return static_cast<const detail::KernelImpl&>(*signature_); }

}  // namespace strata::inline v0::lang
