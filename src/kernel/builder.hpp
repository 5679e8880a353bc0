/// The kernel language: C++ that runs once and records a kernel. Lane counts, tile sizes and dtypes are host
/// values; a loop of the host is an unrolled loop of the kernel.
///
///     Builder b("axpy");
///     auto x = b.read("x", Scalar::f32);
///     auto y = b.read_write("y", Scalar::f32);
///     auto a = b.scalar("a", Scalar::f32);
///     auto i = absolute_pos();
///     if_(i < y.length(), [&] { y[i] = fma(a, x[i], y[i]); });
///     Kernel k = b.finish();
///
/// A Builder is the current one of its thread from construction until `finish` or destruction; the functions
/// below record into it. Integer arithmetic on constants folds while building. Every function throws
/// CompileError, naming the kernel, when operand types do not fit. A scalar operand of a vector operation is
/// splat; a C++ literal takes the type of the other operand. Nothing else is converted silently.
#pragma once

#include <array>
#include <concepts>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <vector>

#include "kernel/traits.hpp"

namespace strata::kernel {

/// A value of the kernel being built. A default-constructed one stands for "none" (an absent mask).
struct Val {
  ValueId id = no_value;
  Type type{};
  explicit operator bool() const = delete;  // a kernel value is not a host condition: use if_
  bool present() const { return id != no_value; }
  Scalar scalar() const { return type.scalar; }
  int lanes() const { return type.lanes; }
};

/// A C++ number that takes the type of the value it meets.
struct Literal {
  bool is_float = false;
  double real = 0;
  std::int64_t integer = 0;
  template <class T>
  requires std::is_arithmetic_v<T> Literal(T v)  // NOLINT(google-explicit-constructor)
      : is_float(std::is_floating_point_v<T>), real(static_cast<double>(v)) {
    if constexpr (!std::is_floating_point_v<T>) integer = static_cast<std::int64_t>(v);
  }
};

constexpr Type make_type(Scalar s, int lanes = 1) { return {s, static_cast<std::uint16_t>(lanes)}; }

Val constant(Type t, Literal value);
/// A constant of the type's exact bits.
Val constant_bits(Type t, std::int64_t bits);

/// An element index: a value (i32 or i64) or a C++ integer, which becomes i64 where nothing else decides.
class Index {
 public:
  template <class T>
  requires std::is_integral_v<T> Index(T v)
      : literal_(static_cast<std::int64_t>(v)), is_literal_(true) {}  // NOLINT(google-explicit-constructor)
  template <class T>
  requires(std::is_convertible_v<T, Val> && !std::is_integral_v<T>) Index(const T& v)
      : value_(v) {}  // NOLINT(google-explicit-constructor)
  bool is_literal() const { return is_literal_; }
  Scalar scalar() const { return is_literal_ ? Scalar::i64 : value_.scalar(); }
  Val value(Scalar literal_type = Scalar::i64) const;

 private:
  Val value_{};
  std::int64_t literal_ = 0;
  bool is_literal_ = false;
};

/// Options of a load or store.
struct AccessOptions {
  Val mask{};                     ///< boolean, one a lane; lanes that are false are not touched
  Val other{};                    ///< load: what masked-off lanes hold; 0 when absent
  std::uint8_t flags = no_flags;  ///< Flags::aligned, Flags::non_temporal
};

class Element;
/// A memory of the kernel: a global buffer, a shared array or a local array. A cheap handle. Indices count
/// elements.
class Buffer {
 public:
  Buffer() = default;
  Buffer(MemoryId id, Scalar scalar) : id_(id), scalar_(scalar) {}
  MemoryId id() const { return id_; }
  Scalar scalar() const { return scalar_; }
  /// Elements: i64; a constant for shared and local arrays.
  Val length() const;
  Element operator[](Index i) const;
  /// `lanes` consecutive elements from `index` on.
  Val load(Index index, int lanes = 1, const AccessOptions& options = {}) const;
  void store(Index index, Val value, const AccessOptions& options = {}) const;
  Val gather(Val indices, Val mask = {}) const;
  void scatter(Val indices, Val value, Val mask = {}) const;
  void prefetch(Index index, bool for_writing = false) const;
  /// Of a shared array of halves or f32; see Opcode::load_matrix.
  Val load_matrix(Index row, bool transposed) const;
  /// 16 bytes of `source`, or zeros, into this shared array; see Opcode::copy_async.
  void copy_async(Index index, const Buffer& source, Index source_index, Val condition = {}) const;
  /// Return the old value; relaxed, whole device.
  Val atomic_add(Index index, Val value) const;
  Val atomic_min(Index index, Val value) const;
  Val atomic_max(Index index, Val value) const;

 private:
  MemoryId id_ = no_memory;
  Scalar scalar_ = Scalar::f32;
};

/// `buffer[i]`: reads when used as a value, writes when assigned to.
class Element {
 public:
  operator Val() const { return buffer_.load(index_); }  // NOLINT(google-explicit-constructor)
  const Element& operator=(Val v) const;
  const Element& operator=(Literal v) const;
  const Element& operator=(const Element& e) const { return *this = static_cast<Val>(e); }
  Element(const Element&) = default;

 private:
  friend class Buffer;
  Element(Buffer buffer, Val index) : buffer_(buffer), index_(index) {}
  Buffer buffer_;
  Val index_;
};

/// One array a cube, seen by all its units; one array a unit.
Buffer shared_array(Scalar scalar, std::int64_t elements, std::string_view name = {});
Buffer local_array(Scalar scalar, std::int64_t elements, std::string_view name = {});

/// A mutable variable of one unit, scalar or vector; code generators keep it in registers.
class Var {
 public:
  /// Undefined until set.
  explicit Var(Type t, std::string_view name = {});
  explicit Var(Val initial, std::string_view name = {});
  Var(Var&&) = default;
  Var(const Var&) = delete;
  Val get() const;
  void set(Val v) const;
  operator Val() const { return get(); }  // NOLINT(google-explicit-constructor)
  const Var& operator=(Val v) const { return set(v), *this; }
  const Var& operator=(Literal v) const { return set(constant(type_, v)), *this; }
  const Var& operator=(const Var& v) const { return set(v.get()), *this; }
  Type type() const { return type_; }

 private:
  Buffer memory_;
  Type type_;
};

class Builder {
 public:
  explicit Builder(std::string_view name, std::array<std::uint32_t, 3> cube_dim = {1, 1, 1});
  /// Continues a kernel, for passes: its arguments, memories and values stay, its body is recorded anew.
  Builder(Kernel continued, Block& body);
  ~Builder();
  Builder(const Builder&) = delete;
  Builder& operator=(const Builder&) = delete;
  /// The Builder of this thread; throws CompileError when no kernel is being built.
  static Builder& current();

  /// Arguments of the kernel, in order; buffers before the first shared or local array.
  Buffer read(std::string_view name, Scalar scalar) { return global(name, scalar, false); }
  Buffer read_write(std::string_view name, Scalar scalar) { return global(name, scalar, true); }
  Buffer write(std::string_view name, Scalar scalar) { return global(name, scalar, true); }
  Val scalar(std::string_view name, Scalar scalar);
  /// See Kernel::resident_cubes.
  void set_resident_cubes(std::uint32_t cubes) { kernel_.resident_cubes = cubes; }
  const std::array<std::uint32_t, 3>& cube_dim() const { return kernel_.cube_dim; }

  /// Ends the recording, checks the kernel (see verify.hpp) and returns it.
  Kernel finish();

  // What the functions of the language are made of.
  Val emit(Opcode op, Type result, std::initializer_list<ValueId> operands, std::int64_t immediate = 0,
           MemoryId memory = no_memory, std::uint8_t flags = no_flags);
  void emit_void(Opcode op, std::initializer_list<ValueId> operands, std::int64_t immediate = 0,
                 MemoryId memory = no_memory, std::uint8_t flags = no_flags);
  Val shuffle(Val a, Val b, std::vector<std::int32_t> lanes);
  void comment(std::string_view text);
  void begin_region(Scalar argument);  ///< region with an argument of this type
  void begin_region();
  Block end_region();
  Val region_argument() const;  ///< argument of the innermost open region
  void control(Opcode op, std::initializer_list<ValueId> operands, std::vector<Block> regions,
               std::uint8_t flags);
  Val constant(Type t, std::int64_t bits);
  // for passes
  void record(Instruction instruction);                   ///< as it is; its result keeps its number
  Val record_anew(Instruction instruction, Type result);  ///< with a new result
  Val value(ValueId id) const { return {id, kernel_.types[id]}; }
  void begin_region_with(ValueId argument);  ///< an argument that exists, or no_value
  void set_cube_dim(std::array<std::uint32_t, 3> dim) { kernel_.cube_dim = dim; }
  void set_length(MemoryId m, std::int64_t elements) { kernel_.memories[m].length = elements; }
  Val adopt_constant(const Instruction& instruction);
  const Kernel& kernel() const { return kernel_; }
  /// The bits when `v` is a constant.
  std::optional<std::int64_t> bits_of(Val v) const;
  Buffer array(Space space, std::string_view name, Scalar scalar, std::int64_t elements);
  std::int64_t length_of(MemoryId m) const { return kernel_.memories[m].length; }
  bool is_global(MemoryId m) const { return kernel_.memories[m].space == Space::global; }
  int add_matrix_shape(const MatrixShape& shape);
  [[noreturn]] void fail(std::string_view what) const;

 private:
  struct ConstantKey {
    Type type;
    std::int64_t bits;
    bool operator==(const ConstantKey&) const = default;
  };
  struct ConstantKeyHash {
    std::size_t operator()(const ConstantKey& k) const {
      return static_cast<std::size_t>((static_cast<std::uint64_t>(k.bits) ^
                                       (std::uint64_t{k.type.lanes} << 48) ^
                                       (static_cast<std::uint64_t>(k.type.scalar) << 40)) *
                                          0x9e3779b97f4a7c15u >>
                                      16);
    }
  };
  struct Constant {
    Type type;
    std::int64_t bits;
    ValueId id;
    bool used;
  };
  Buffer global(std::string_view name, Scalar scalar, bool written);
  ValueId new_value(Type t);
  void mark_used(ValueId v);
  Instruction& append(Opcode op, std::initializer_list<ValueId> operands);

  Kernel kernel_;
  std::vector<Block> open_;                // innermost region last; open_[0] is the body
  std::vector<Constant> constants_;        // go to the front of the body in the end
  std::vector<std::int32_t> constant_of_;  // value -> index into constants_, or -1
  std::unordered_map<ConstantKey, std::int32_t, ConstantKeyHash> constant_index_;
  Builder* previous_;
  bool open_for_recording_ = true;
};

// --- arithmetic

#define STRATA_BINARY(name)   \
  Val name(Val a, Val b);     \
  Val name(Val a, Literal b); \
  Val name(Literal a, Val b);
STRATA_BINARY(operator+)
STRATA_BINARY(operator-)
STRATA_BINARY(operator*)
STRATA_BINARY(operator/)  // integers: truncating, the divisor must not be 0; see floor_div in math.hpp
STRATA_BINARY(operator%)  // integers: sign of the dividend, the divisor must not be 0; see floor_rem
STRATA_BINARY(operator&)  // also of booleans, as |, ^
STRATA_BINARY(operator|)
STRATA_BINARY(operator^)
STRATA_BINARY(operator<<)
STRATA_BINARY(operator>>)  // arithmetic for signed types
STRATA_BINARY(operator==)
STRATA_BINARY(operator!=)
STRATA_BINARY(operator<)
STRATA_BINARY(operator<=)
STRATA_BINARY(operator>)
STRATA_BINARY(operator>=)
STRATA_BINARY(min)  // floats: NaN if either is NaN
STRATA_BINARY(max)
STRATA_BINARY(mul_high)
STRATA_BINARY(scale_exponent)
#undef STRATA_BINARY

Val operator-(Val a);
/// Not of booleans, complement of integers.
Val operator!(Val a);
Val operator~(Val a);
const Var& operator+=(const Var& v, Val x);
const Var& operator-=(const Var& v, Val x);
const Var& operator*=(const Var& v, Val x);
const Var& operator+=(const Var& v, Literal x);
const Var& operator-=(const Var& v, Literal x);
const Var& operator*=(const Var& v, Literal x);

Val abs(Val a);
Val sqrt(Val a);
Val floor(Val a);
Val ceil(Val a);
Val rint(Val a);  ///< half to even
Val trunc(Val a);
Val is_nan(Val a);
Val exp(Val a);
Val log(Val a);
Val tanh(Val a);
Val sin(Val a);
Val cos(Val a);
Val log1p(Val a);
Val expm1(Val a);
Val erf(Val a);
Val exp2_fast(Val a);  ///< see Opcode
Val recip_fast(Val a);
/// a * b + c, rounded once for floats.
Val fma(Val a, Val b, Val c);
Val select(Val condition, Val if_true, Val if_false);
Val select(Val condition, Literal if_true, Val if_false);
Val select(Val condition, Val if_true, Literal if_false);

/// Numeric conversion, lane count kept.
Val convert(Val a, Scalar to);
Val bitcast(Val a, Scalar to);

// --- vectors

Val splat(Val a, int lanes);
Val extract(Val v, int lane);
Val insert(Val v, Val x, int lane);
/// Lane i of the result is lane `lanes[i]` of a ++ b.
Val shuffle(Val a, Val b, std::vector<std::int32_t> lanes);
/// 0, 1, 2 ...
Val lane_index(Type t);
Val reduce_add(Val v);
Val reduce_mul(Val v);
Val reduce_min(Val v);
Val reduce_max(Val v);

// --- position

Val builtin(Builtin b);
inline Val unit_x() { return builtin(Builtin::unit_x); }
inline Val unit_y() { return builtin(Builtin::unit_y); }
inline Val unit_z() { return builtin(Builtin::unit_z); }
inline Val cube_x() { return builtin(Builtin::cube_x); }
inline Val cube_y() { return builtin(Builtin::cube_y); }
inline Val cube_z() { return builtin(Builtin::cube_z); }
inline Val cube_count_x() { return builtin(Builtin::cube_count_x); }
inline Val cube_count_y() { return builtin(Builtin::cube_count_y); }
inline Val cube_count_z() { return builtin(Builtin::cube_count_z); }
inline Val plane_lane() { return builtin(Builtin::plane_lane); }
/// cube_x * units along x + unit_x, as i64.
Val absolute_pos();

// --- cube and plane

void barrier();
Val plane_shuffle(Val v, Val source_lane);
Val plane_shuffle_xor(Val v, Val mask);
Val plane_reduce_add(Val v);
Val plane_reduce_min(Val v);
Val plane_reduce_max(Val v);
void copy_commit();
void copy_wait(int groups_under_way);
/// c + a * b over the plane's fragments.
Val matrix_multiply(const MatrixShape& shape, Val a, Val b, Val c);

// --- control flow

/// Ends this unit.
void return_();
void comment(std::string_view text);

namespace detail {
std::optional<bool> known(Val condition);
void add_if(Val condition, std::vector<Block> regions);
struct Loop {
  Val begin, end, step;
  bool empty = false;   // constant bounds, no iteration
  bool single = false;  // constant bounds, one iteration
};
Loop make_loop(Index begin, Index end, Index step);
Val begin_loop(const Loop& loop);
void end_loop(const Loop& loop, std::uint8_t flags);
}  // namespace detail

template <std::invocable Then, std::invocable Else>
void if_(Val condition, Then&& then, Else&& otherwise) {
  if (const auto known = detail::known(condition)) {
    if (*known)
      then();
    else
      otherwise();
    return;
  }
  auto& b = Builder::current();
  std::vector<Block> regions;
  b.begin_region();
  then();
  regions.push_back(b.end_region());
  b.begin_region();
  otherwise();
  regions.push_back(b.end_region());
  detail::add_if(condition, std::move(regions));
}

template <std::invocable Then>
void if_(Val condition, Then&& then) {
  if (const auto known = detail::known(condition)) {
    if (*known) then();
    return;
  }
  auto& b = Builder::current();
  std::vector<Block> regions;
  b.begin_region();
  then();
  regions.push_back(b.end_region());
  detail::add_if(condition, std::move(regions));
}

/// body(i) for i = begin, begin + step ... while i < end; step > 0. The counter has the type of the bounds.
template <std::invocable<Val> Body>
void for_(Index begin, Index end, Index step, Body&& body, std::uint8_t flags = no_flags) {
  const auto loop = detail::make_loop(begin, end, step);
  if (loop.empty) return;
  if (loop.single) return body(loop.begin);
  body(detail::begin_loop(loop));
  detail::end_loop(loop, flags);
}

/// `condition` records the test and returns it; it runs before every iteration.
template <class Condition, std::invocable Body>
requires std::is_invocable_r_v<Val, Condition>
void while_(Condition&& condition, Body&& body) {
  auto& b = Builder::current();
  std::vector<Block> regions;
  b.begin_region();
  const Val c = condition();
  b.emit_void(Opcode::yield, {c.id});
  regions.push_back(b.end_region());
  b.begin_region();
  body();
  regions.push_back(b.end_region());
  b.control(Opcode::while_, {}, std::move(regions), no_flags);
}

}  // namespace strata::kernel
