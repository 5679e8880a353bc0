/// The kernel language for users: a C++ function that runs once and records a kernel for every device.
///
///     using namespace strata::lang;
///     auto axpy = kernel("axpy", [](In<f32> x, InOut<f32> y, Scalar<f32> a) {
///       auto i = absolute_pos();
///       if_(i < y.len(), [&] { y[i] = fma(a, x[i], y[i]); });
///     });
///
/// launch.hpp runs it on tensors.
///
/// Terms: a *unit* is a thread, a *cube* a thread block; a launch has a grid of cubes. Host values (lane
/// counts, tile sizes, bounds of a C++ loop) are constants of the kernel; a C++ loop is an unrolled one.
/// Types never mix silently: use `convert<T>(v)`; a C++ number takes the type of the other operand, a scalar
/// is spread over the lanes of a vector. Everything below except `kernel` itself throws CompileError outside
/// the function that is being recorded.
///
/// Every access is checked where its index is not known to fit: one beyond a memory reads zeros or writes
/// nothing, and whoever reads a result of the launch gets an IndexError.
#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "strata/config.hpp"
#include "strata/dtype.hpp"

namespace strata::inline v0::lang {

using f64 = double;
using f32 = float;
using f16 = Float16;
using bf16 = BFloat16;
using i64 = std::int64_t;
using i32 = std::int32_t;
using u8 = std::uint8_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;

/// Types of values inside kernels: the element types of tensors, and u32 and u64.
template <class T>
concept KernelType = Element<T> || std::same_as<T, u32> || std::same_as<T, u64>;
template <class T>
concept FloatType =
    std::same_as<T, f64> || std::same_as<T, f32> || std::same_as<T, f16> || std::same_as<T, bf16>;
template <class T>
concept IntType = KernelType<T> && !FloatType<T> && !std::same_as<T, bool>;

/// Units of a cube along x, y and z, at most 1024 together.
struct Cube {
  std::uint32_t x = 256, y = 1, z = 1;
};
/// Cubes of a launch along x, y and z; y and z at most 65535.
struct Grid {
  std::uint32_t x = 1, y = 1, z = 1;
  bool operator==(const Grid&) const = default;
};

namespace detail {

struct Type {
  std::uint8_t scalar;
  std::uint16_t lanes;
};
template <KernelType T>
constexpr std::uint8_t code() {
  if constexpr (std::same_as<T, u32>)
    return 8;
  else if constexpr (std::same_as<T, u64>)
    return 9;
  else
    return static_cast<std::uint8_t>(dtype_of<T>());
}
/// A recorded value or memory.
struct Handle {
  std::uint32_t id;
  Type type;
};
enum class Unary : std::uint8_t {
  neg,
  bit_not,
  logical_not,
  abs,
  sqrt,
  floor,
  ceil,
  rint,
  trunc,
  is_nan,
  exp,
  log,
  tanh,
  sin,
  cos,
  log1p,
  expm1,
  erf,
  sigmoid,
  sign,
  reduce_add,
  reduce_mul,
  reduce_min,
  reduce_max
};
enum class Binary : std::uint8_t {
  add,
  sub,
  mul,
  div,
  min,
  max,
  bit_and,
  bit_or,
  bit_xor,
  shift_left,
  shift_right,
  eq,
  ne,
  lt,
  le,
  gt,
  ge,
  pow,
  floor_div,
  floor_rem
};
enum class Access : std::uint8_t { read, write };
/// What an argument of a kernel is to its caller.
enum class Role : std::uint8_t { in, out, in_out, scalar };
enum class Space : std::uint8_t { shared, local };
enum class Atomic : std::uint8_t { add, min, max };

/// A function without arguments or with one handle, by reference.
struct Callback {
  const void* object;
  void (*call)(const void* object, Handle argument);
  template <class F>
  static Callback of(const F& f) {
    return {&f, [](const void* o, Handle argument) {
              if constexpr (std::invocable<const F&, Handle>)
                (*static_cast<const F*>(o))(argument);
              else
                (*static_cast<const F*>(o))();
            }};
  }
};

STRATA_API Handle constant(Type type, double value);
STRATA_API Handle constant(Type type, std::int64_t value);
STRATA_API Handle unary(Unary op, Handle a);
STRATA_API Handle binary(Binary op, Handle a, Handle b);
STRATA_API Handle fma(Handle a, Handle b, Handle c);
STRATA_API Handle select(Handle condition, Handle if_true, Handle if_false);
STRATA_API Handle convert(Handle a, std::uint8_t scalar);
STRATA_API Handle splat(Handle a, int lanes);
STRATA_API Handle buffer(std::uint8_t scalar, Access access);
STRATA_API Handle array(Space space, std::uint8_t scalar, std::int64_t elements);
STRATA_API Handle scalar(std::uint8_t scalar);
STRATA_API Handle length(Handle memory);
STRATA_API Handle load(Handle memory, Handle index, int lanes);
STRATA_API void store(Handle memory, Handle index, Handle value);
STRATA_API Handle atomic(Atomic op, Handle memory, Handle index, Handle value);
STRATA_API Handle position(int builtin);
STRATA_API Handle absolute_position();
STRATA_API void barrier();
STRATA_API void leave();
STRATA_API void if_else(Handle condition, Callback then, Callback otherwise);
STRATA_API void for_range(Handle begin, Handle end, Handle step, Callback body);
/// `condition` is called to record the test and stores its handle through `result`.
STRATA_API void while_loop(Callback condition, const Handle& result, Callback body);

struct Argument {
  Role role;
  std::uint8_t scalar;
};
/// What callers must know of a recorded kernel.
struct Signature {
  std::string name;
  Cube cube;
  std::vector<Argument> arguments;
  std::array<std::uint64_t, 2> hash{};  ///< of the whole kernel
};
struct KernelImpl;  ///< a Signature

/// A kernel being recorded on this thread.
class STRATA_API Recording {
 public:
  Recording(std::string_view name, Cube cube);
  ~Recording();
  Recording(const Recording&) = delete;
  /// After the arguments were made, before anything else is.
  void begin_body(std::vector<Argument> arguments);
  std::shared_ptr<const Signature> finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

template <class T, int Lanes>
struct Operators;

}  // namespace detail

/// A value of a running kernel; `Lanes` > 1 is a vector. Immutable; for state see Var.
template <KernelType T, int Lanes = 1>
class Value : public detail::Operators<T, Lanes> {
 public:
  using Type = T;
  /// A constant.
  template <class Number>
  requires std::is_arithmetic_v<Number> Value(Number v)  // NOLINT(google-explicit-constructor)
      : handle_(std::is_floating_point_v<Number> ? detail::constant(type(), static_cast<double>(v))
                                                 : detail::constant(type(), static_cast<std::int64_t>(v))) {}
  /// Spreads a scalar over the lanes.
  template <int One>
  requires(One == 1 && Lanes > 1) Value(const Value<T, One>& v)  // NOLINT(google-explicit-constructor)
      : handle_(detail::splat(v.handle(), Lanes)) {}
  explicit Value(detail::Handle handle) : handle_(handle) {}
  detail::Handle handle() const { return handle_; }

 private:
  static constexpr detail::Type type() { return {detail::code<T>(), Lanes}; }
  detail::Handle handle_;
};

namespace detail {

/// Operators and functions of values and of everything that converts to them, found by argument-dependent
/// look-up.
template <class T, int Lanes>
struct Operators {
  using V = Value<T, Lanes>;
  using Test = Value<bool, Lanes>;
#define STRATA_BINARY(result, name, op, condition)             \
  friend result name(V a, V b) requires(condition) {           \
    return result(binary(Binary::op, a.handle(), b.handle())); \
  }
  STRATA_BINARY(V, operator+, add, (!std::same_as<T, bool>))
  STRATA_BINARY(V, operator-, sub, (!std::same_as<T, bool>))
  STRATA_BINARY(V, operator*, mul, (!std::same_as<T, bool>))
  STRATA_BINARY(V, operator/, div, FloatType<T>)
  STRATA_BINARY(V, operator&, bit_and, !FloatType<T>)
  STRATA_BINARY(V, operator|, bit_or, !FloatType<T>)
  STRATA_BINARY(V, operator^, bit_xor, !FloatType<T>)
  STRATA_BINARY(V, operator&&, bit_and, (std::same_as<T, bool>))  // both sides are evaluated
  STRATA_BINARY(V, operator||, bit_or, (std::same_as<T, bool>))
  STRATA_BINARY(V, operator<<, shift_left, IntType<T>)
  STRATA_BINARY(V, operator>>, shift_right, IntType<T>)
  STRATA_BINARY(Test, operator==, eq, true)
  STRATA_BINARY(Test, operator!=, ne, true)
  STRATA_BINARY(Test, operator<, lt, true)
  STRATA_BINARY(Test, operator<=, le, true)
  STRATA_BINARY(Test, operator>, gt, true)
  STRATA_BINARY(Test, operator>=, ge, true)
  /// NaN if either is NaN.
  STRATA_BINARY(V, min, min, (!std::same_as<T, bool>))
  STRATA_BINARY(V, max, max, (!std::same_as<T, bool>))
  STRATA_BINARY(V, pow, pow, (!std::same_as<T, bool>))
  /// Integers: floored, x / 0 = 0 and x % 0 = 0. Remainders have the sign of the divisor.
  STRATA_BINARY(V, operator/, floor_div, IntType<T>)
  STRATA_BINARY(V, operator%, floor_rem, IntType<T>)
  STRATA_BINARY(V, floor_div, floor_div, (!std::same_as<T, bool>))
  STRATA_BINARY(V, floor_rem, floor_rem, (!std::same_as<T, bool>))
#undef STRATA_BINARY
#define STRATA_UNARY(name, op, condition) \
  friend V name(V a) requires(condition) { return V(unary(Unary::op, a.handle())); }
  STRATA_UNARY(operator-, neg, (!std::same_as<T, bool>))
  STRATA_UNARY(operator~, bit_not, IntType<T>)
  STRATA_UNARY(operator!, logical_not, (std::same_as<T, bool>))
  STRATA_UNARY(abs, abs, (!std::same_as<T, bool>))
  STRATA_UNARY(sqrt, sqrt, FloatType<T>)
  STRATA_UNARY(floor, floor, FloatType<T>)
  STRATA_UNARY(ceil, ceil, FloatType<T>)
  STRATA_UNARY(round, rint, FloatType<T>)  // half to even
  STRATA_UNARY(trunc, trunc, FloatType<T>)
  STRATA_UNARY(exp, exp, FloatType<T>)
  STRATA_UNARY(log, log, FloatType<T>)
  STRATA_UNARY(tanh, tanh, FloatType<T>)
  STRATA_UNARY(sin, sin, FloatType<T>)
  STRATA_UNARY(cos, cos, FloatType<T>)
  STRATA_UNARY(log1p, log1p, FloatType<T>)
  STRATA_UNARY(expm1, expm1, FloatType<T>)
  STRATA_UNARY(erf, erf, FloatType<T>)
  STRATA_UNARY(sigmoid, sigmoid, FloatType<T>)
  STRATA_UNARY(sign, sign, (!std::same_as<T, bool>))
#undef STRATA_UNARY
  friend Test is_nan(V a) requires FloatType<T> { return Test(unary(Unary::is_nan, a.handle())); }
  /// a * b + c, rounded once.
  friend V fma(V a, V b, V c) requires FloatType<T> { return V(fma(a.handle(), b.handle(), c.handle())); }
  friend V select(Value<bool, Lanes> condition, V if_true, V if_false) {
    return V(select(condition.handle(), if_true.handle(), if_false.handle()));
  }
#define STRATA_REDUCE(name)                                                 \
  friend Value<T> name(V a) requires(Lanes > 1 && !std::same_as<T, bool>) { \
    return Value<T>(unary(Unary::name, a.handle()));                        \
  }
  STRATA_REDUCE(reduce_add)
  STRATA_REDUCE(reduce_mul)
  STRATA_REDUCE(reduce_min)
  STRATA_REDUCE(reduce_max)
#undef STRATA_REDUCE
};

}  // namespace detail

/// Numeric conversion: float to integer truncates and saturates, NaN becomes 0; anything but zero is true.
template <KernelType To, KernelType From, int Lanes>
Value<To, Lanes> convert(Value<From, Lanes> v) {
  return Value<To, Lanes>(detail::convert(v.handle(), detail::code<To>()));
}

/// An element index.
class Index {
 public:
  template <std::integral I>
  Index(I i) : Index(Value<i64>(i)) {}          // NOLINT(google-explicit-constructor)
  Index(Value<i64> i) : handle_(i.handle()) {}  // NOLINT(google-explicit-constructor)
  Index(Value<i32> i) : handle_(i.handle()) {}  // NOLINT(google-explicit-constructor)
  template <class V>
  requires(std::convertible_to<V, Value<i64>> && !std::integral<V> && !std::same_as<V, Value<i64>>)
      Index(const V& v)
      : Index(static_cast<Value<i64>>(v)) {}  // NOLINT(google-explicit-constructor)
  template <class V>
  requires(std::convertible_to<V, Value<i32>> && !std::integral<V> && !std::same_as<V, Value<i32>>)
      Index(const V& v)
      : Index(static_cast<Value<i32>>(v)) {}  // NOLINT(google-explicit-constructor)
  detail::Handle handle() const { return handle_; }

 private:
  detail::Handle handle_;
};

/// One element of a memory: read when used, written when assigned to.
template <KernelType T>
class Element : public detail::Operators<T, 1> {
 public:
  Element(detail::Handle memory, Index index) : memory_(memory), index_(index) {}
  Element(const Element&) = default;
  operator Value<T>() const { return Value<T>(detail::load(memory_, index_.handle(), 1)); }  // NOLINT
  const Element& operator=(Value<T> v) const {
    detail::store(memory_, index_.handle(), v.handle());
    return *this;
  }
  const Element& operator=(const Element& e) const { return *this = static_cast<Value<T>>(e); }
  const Element& operator+=(Value<T> v) const { return *this = static_cast<Value<T>>(*this) + v; }

 private:
  detail::Handle memory_;
  Index index_;
};

/// What can be read by index.
template <KernelType T>
class Readable {
 public:
  using Type = T;
  explicit Readable(detail::Handle memory) : memory_(memory) {}
  /// Elements.
  Value<i64> len() const { return Value<i64>(detail::length(memory_)); }
  Value<T> operator[](Index i) const { return Value<T>(detail::load(memory_, i.handle(), 1)); }
  /// `Lanes` elements from i on.
  template <int Lanes>
  Value<T, Lanes> load(Index i) const {
    return Value<T, Lanes>(detail::load(memory_, i.handle(), Lanes));
  }

 protected:
  detail::Handle memory_;
};

/// What can also be written.
template <KernelType T>
class Writable : public Readable<T> {
 public:
  using Readable<T>::Readable;
  Element<T> operator[](Index i) const { return Element<T>(this->memory_, i); }
  template <int Lanes>
  void store(Index i, Value<T, Lanes> v) const {
    detail::store(this->memory_, i.handle(), v.handle());
  }
  /// Return the old element. Relaxed, whole device; not for local arrays.
  Value<T> atomic_add(Index i, Value<T> v) const { return atomic(detail::Atomic::add, i, v); }
  Value<T> atomic_min(Index i, Value<T> v) const { return atomic(detail::Atomic::min, i, v); }
  Value<T> atomic_max(Index i, Value<T> v) const { return atomic(detail::Atomic::max, i, v); }

 private:
  Value<T> atomic(detail::Atomic op, Index i, Value<T> v) const {
    return Value<T>(detail::atomic(op, this->memory_, i.handle(), v.handle()));
  }
};

/// Arguments of a kernel: a buffer that is read, one that is written, one that is both, a number.
template <KernelType T>
class In : public Readable<T> {
 public:
  using Readable<T>::Readable;
  static constexpr detail::Argument described{detail::Role::in, detail::code<T>()};
  static In argument() { return In(detail::buffer(described.scalar, detail::Access::read)); }
};
template <KernelType T>
class Out : public Writable<T> {
 public:
  using Writable<T>::Writable;
  static constexpr detail::Argument described{detail::Role::out, detail::code<T>()};
  static Out argument() { return Out(detail::buffer(described.scalar, detail::Access::write)); }
};
template <KernelType T>
class InOut : public Writable<T> {
 public:
  using Writable<T>::Writable;
  static constexpr detail::Argument described{detail::Role::in_out, detail::code<T>()};
  static InOut argument() { return InOut(detail::buffer(described.scalar, detail::Access::write)); }
};
template <KernelType T>
class Scalar : public Value<T> {
 public:
  using Value<T>::Value;
  static constexpr detail::Argument described{detail::Role::scalar, detail::code<T>()};
  static Scalar argument() { return Scalar(detail::scalar(described.scalar)); }
};

/// An array of all units of a cube, and one of a single unit. Elements are undefined until written.
template <KernelType T>
class SharedArray : public Writable<T> {
 public:
  explicit SharedArray(i64 elements)
      : Writable<T>(detail::array(detail::Space::shared, detail::code<T>(), elements)) {}
};
template <KernelType T>
class LocalArray : public Writable<T> {
 public:
  explicit LocalArray(i64 elements)
      : Writable<T>(detail::array(detail::Space::local, detail::code<T>(), elements)) {}
};

/// A variable of one unit.
template <KernelType T, int Lanes = 1>
class Var : public detail::Operators<T, Lanes> {
 public:
  Var(Value<T, Lanes> initial)  // NOLINT(google-explicit-constructor)
      : memory_(detail::array(detail::Space::local, detail::code<T>(), Lanes)) {
    *this = initial;
  }
  template <class Number>
  requires std::is_arithmetic_v<Number> Var(Number initial)
      : Var(Value<T, Lanes>(initial)) {}  // NOLINT(google-explicit-constructor)
  Var(const Var&) = delete;
  operator Value<T, Lanes>() const {  // NOLINT(google-explicit-constructor)
    return Value<T, Lanes>(detail::load(memory_, Index(0).handle(), Lanes));
  }
  const Var& operator=(Value<T, Lanes> v) const {
    detail::store(memory_, Index(0).handle(), v.handle());
    return *this;
  }
  const Var& operator=(const Var& v) const { return *this = static_cast<Value<T, Lanes>>(v); }
  const Var& operator+=(Value<T, Lanes> v) const { return *this = *this + v; }
  const Var& operator-=(Value<T, Lanes> v) const { return *this = *this - v; }
  const Var& operator*=(Value<T, Lanes> v) const { return *this = *this * v; }

 private:
  detail::Handle memory_;
};

/// See convert of values.
template <KernelType To, KernelType From>
Value<To> convert(const Element<From>& e) {
  return convert<To>(static_cast<Value<From>>(e));
}
template <KernelType To, KernelType From, int Lanes>
Value<To, Lanes> convert(const Var<From, Lanes>& v) {
  return convert<To>(static_cast<Value<From, Lanes>>(v));
}

/// Position of the unit in its cube, of the cube in the grid, and the grid's extent.
inline Value<i32> unit_x() { return Value<i32>(detail::position(0)); }
inline Value<i32> unit_y() { return Value<i32>(detail::position(1)); }
inline Value<i32> unit_z() { return Value<i32>(detail::position(2)); }
inline Value<i32> cube_x() { return Value<i32>(detail::position(3)); }
inline Value<i32> cube_y() { return Value<i32>(detail::position(4)); }
inline Value<i32> cube_z() { return Value<i32>(detail::position(5)); }
inline Value<i32> cube_count_x() { return Value<i32>(detail::position(6)); }
inline Value<i32> cube_count_y() { return Value<i32>(detail::position(7)); }
inline Value<i32> cube_count_z() { return Value<i32>(detail::position(8)); }
/// Position of the unit along x in the whole grid.
inline Value<i64> absolute_pos() { return Value<i64>(detail::absolute_position()); }

/// Waits for all units of the cube; must be reached by all of them together, which is checked.
inline void barrier() { detail::barrier(); }
/// Ends this unit.
inline void return_() { detail::leave(); }

template <std::invocable Then, std::invocable Else>
void if_(Value<bool> condition, Then then, Else otherwise) {
  detail::if_else(condition.handle(), detail::Callback::of(then), detail::Callback::of(otherwise));
}
template <std::invocable Then>
void if_(Value<bool> condition, Then then) {
  if_(condition, std::move(then), [] {});
}

/// body(i) for i = begin, begin + step ... while i < end.
template <std::invocable<Value<i64>> Body>
void for_(Value<i64> begin, Value<i64> end, Value<i64> step, Body body) {
  const auto record = [&body](detail::Handle counter) { body(Value<i64>(counter)); };
  detail::for_range(begin.handle(), end.handle(), step.handle(), detail::Callback::of(record));
}

template <class Condition, std::invocable Body>
requires std::is_invocable_r_v<Value<bool>, Condition&> void while_(Condition condition, Body body) {
  detail::Handle result{};
  const auto record = [&] { result = static_cast<Value<bool>>(condition()).handle(); };
  detail::while_loop(detail::Callback::of(record), result, detail::Callback::of(body));
}

/// A recorded kernel: cheap to copy, immutable, usable from any thread.
class STRATA_API Kernel {
 public:
  const std::string& name() const { return signature_->name; }
  /// The kernel as readable text.
  std::string to_string() const;

  explicit Kernel(std::shared_ptr<const detail::Signature> signature) : signature_(std::move(signature)) {}
  const detail::Signature& signature() const { return *signature_; }
  const detail::KernelImpl& impl() const;

 private:
  std::shared_ptr<const detail::Signature> signature_;
};

/// A kernel whose arguments (In, Out, InOut, Scalar) the compiler knows.
template <class... Parameter>
class KernelOf : public Kernel {
 public:
  using Kernel::Kernel;
};

namespace detail {
template <class F>
struct Parameters : Parameters<decltype(&F::operator())> {};
template <class C, class R, class... P>
struct Parameters<R (C::*)(P...) const> {
  using Tuple = std::tuple<std::remove_cvref_t<P>...>;
};
}  // namespace detail

/// Records `function`, whose parameters (In, Out, InOut, Scalar) become the kernel's arguments in order, for
/// cubes of the given size. Throws CompileError naming the kernel when it is malformed.
template <class F>
auto kernel(std::string_view name, Cube cube, const F& function) {
  return [&]<class... P>(std::type_identity<std::tuple<P...>>) {
    detail::Recording recording(name, cube);
    std::tuple<P...> arguments{P::argument()...};  // braces: in order
    recording.begin_body({P::described...});
    std::apply(function, arguments);
    return KernelOf<P...>(recording.finish());
  }(std::type_identity<typename detail::Parameters<F>::Tuple>{});
}
template <class F>
auto kernel(std::string_view name, const F& function) {
  return kernel(name, Cube{}, function);
}

}  // namespace strata::inline v0::lang
