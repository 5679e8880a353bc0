#include "kernel/verify.hpp"

#include <string>
#include <vector>

#include "kernel/traits.hpp"
#include "kernel/uniformity.hpp"
#include "strata/error.hpp"

namespace strata::kernel {
namespace {

/// Definitions, types and structure. After it the uniformity analysis may index freely.
class Structure {
 public:
  explicit Structure(const Kernel& k) : kernel_(k), state_(k.types.size(), State::undefined) {}

  void run() {
    if (kernel_.units() == 0) fail("a cube has no units");
    bool globals = true;
    for (const auto& m : kernel_.memories) {
      if (m.space == Space::global && !globals) fail("global buffer '" + m.name + "' stands behind an array");
      globals = m.space == Space::global;
      if (!globals && m.length <= 0) fail("array '" + m.name + "' has no elements");
      if (m.alignment == 0 || (m.alignment & (m.alignment - 1)) != 0)
        fail("memory '" + m.name + "': alignment is no power of two");
    }
    for (const auto& t : kernel_.types)
      if (t.lanes == 0) fail("a value has no lanes");
    block(kernel_.body, false);
  }

 private:
  enum class State : std::uint8_t { undefined, visible, out_of_scope };

  [[noreturn]] void fail(const std::string& what) const {
    throw CompileError("kernel '" + kernel_.name + "': " + what);
  }
  [[noreturn]] void fail(const Instruction& i, const std::string& what) const {
    const std::string result = i.result == no_value ? "" : "%" + std::to_string(i.result) + " = ";
    fail(result + std::string(name_of(i.opcode)) + ": " + what);
  }
  void require(const Instruction& i, bool ok, const char* what) const {
    if (!ok) fail(i, what);
  }

  Type type(ValueId v) const { return kernel_.types[v]; }
  Type operand(const Instruction& i, std::size_t n) const { return type(i.operands[n]); }

  void define(ValueId v, std::vector<ValueId>& scope) {
    if (v >= state_.size()) fail("value %" + std::to_string(v) + " has no type");
    if (state_[v] != State::undefined) fail("value %" + std::to_string(v) + " is defined twice");
    state_[v] = State::visible;
    scope.push_back(v);
  }
  void close(const std::vector<ValueId>& scope) {
    for (const ValueId v : scope) state_[v] = State::out_of_scope;
  }
  void use(const Instruction& i, ValueId v) const {
    if (v >= state_.size()) fail(i, "operand %" + std::to_string(v) + " does not exist");
    if (state_[v] == State::undefined)
      fail(i, "operand %" + std::to_string(v) + " is used before its definition");
    if (state_[v] == State::out_of_scope)
      fail(i, "operand %" + std::to_string(v) + " is used outside the body that defines it");
  }

  void block(const Block& b, bool condition) {
    std::vector<ValueId> scope;
    if (b.argument != no_value) define(b.argument, scope);
    const auto& list = b.instructions;
    if (condition && (list.empty() || list.back().opcode != Opcode::yield))
      fail("while: the condition does not end in yield");
    for (std::size_t n = 0; n < list.size(); ++n) {
      if (list[n].opcode == Opcode::yield && !(condition && n + 1 == list.size()))
        fail("yield outside the end of a while condition");
      instruction(list[n]);
      if (list[n].result != no_value) define(list[n].result, scope);
    }
    close(scope);
  }

  void instruction(const Instruction& i) {
    if (static_cast<int>(i.opcode) >= opcode_count)
      fail("unknown opcode " + std::to_string(static_cast<int>(i.opcode)));
    for (const ValueId v : i.operands) use(i, v);
    if (i.result != no_value && i.result >= kernel_.types.size())
      fail("value %" + std::to_string(i.result) + " has no type");
    require(i, (i.result != no_value) == has_result(i.opcode),
            has_result(i.opcode) ? "has no result" : "must have no result");
    require(i,
            i.regions.empty() || i.opcode == Opcode::if_ || i.opcode == Opcode::for_ ||
                i.opcode == Opcode::while_,
            "must have no body");
    if (is_elementwise(i.opcode)) return elementwise(i);
    if (i.opcode >= Opcode::load && i.opcode <= Opcode::atomic_max) return access(i);
    if (i.opcode >= Opcode::if_) return control(i);
    other(i);
  }

  static bool has_result(Opcode op) {
    switch (op) {
      case Opcode::store:
      case Opcode::scatter:
      case Opcode::prefetch:
      case Opcode::barrier:
      case Opcode::copy_async:
      case Opcode::copy_commit:
      case Opcode::copy_wait:
        return false;
      default:
        return op < Opcode::if_;
    }
  }

  void count(const Instruction& i, std::size_t low, std::size_t high) const {
    if (i.operands.size() >= low && i.operands.size() <= high) return;
    fail(i, "has " + std::to_string(i.operands.size()) + " operands instead of " + std::to_string(low) +
                (low == high ? "" : " to " + std::to_string(high)));
  }

  void elementwise(const Instruction& i) const {
    const Opcode op = i.opcode;
    const std::size_t arity = op <= Opcode::bitcast ? 1 : op <= Opcode::ge ? 2 : 3;
    count(i, arity, arity);
    const Type r = type(i.result), a = operand(i, 0);
    for (const ValueId v : i.operands)
      if (type(v).lanes != r.lanes)
        fail(i, "lanes of " + to_string(type(v)) + " and of the result " + to_string(r) + " differ");
    if (op == Opcode::convert) return;
    if (op == Opcode::bitcast) {
      return require(i,
                     size_of(a.scalar) == size_of(r.scalar) && a.scalar != Scalar::boolean &&
                         r.scalar != Scalar::boolean,
                     "element sizes differ");
    }
    if (op == Opcode::select) {
      require(i, a.scalar == Scalar::boolean, "the condition is not boolean");
      return require(i, operand(i, 1) == r && operand(i, 2) == r, "the values and the result differ in type");
    }
    if (op == Opcode::is_nan)
      return require(i, is_float(a.scalar) && r.scalar == Scalar::boolean, "takes floats to booleans");
    if (op == Opcode::scale_exponent) {
      require(i,
              (a.scalar == Scalar::f32 && operand(i, 1).scalar == Scalar::i32) ||
                  (a.scalar == Scalar::f64 && operand(i, 1).scalar == Scalar::i64),
              "takes (f32, i32) or (f64, i64)");
      return require(i, r == a, "operand and result differ in type");
    }
    for (const ValueId v : i.operands)
      if (type(v) != a) fail(i, "operand types " + to_string(a) + " and " + to_string(type(v)) + " differ");
    if (op >= Opcode::eq && op <= Opcode::ge)
      return require(i, r.scalar == Scalar::boolean, "the result is not boolean");
    if (a != r) fail(i, "operand " + to_string(a) + " and result " + to_string(r) + " differ in type");
    if (!allows(op, r.scalar)) fail(i, "is not defined for " + to_string(r));
  }

  static bool allows(Opcode op, Scalar s) {
    switch (op) {
      case Opcode::exp2_fast:
      case Opcode::recip_fast:
        return s == Scalar::f32;
      case Opcode::bit_and:
      case Opcode::bit_or:
      case Opcode::bit_xor:
        return !is_float(s);
      case Opcode::bit_not:
      case Opcode::rem:
      case Opcode::shift_left:
      case Opcode::shift_right:
        return is_int(s);
      case Opcode::mul_high:
        return s == Scalar::u32 || s == Scalar::i32;
      case Opcode::neg:
      case Opcode::abs:
      case Opcode::add:
      case Opcode::sub:
      case Opcode::mul:
      case Opcode::div:
      case Opcode::min:
      case Opcode::max:
        return s != Scalar::boolean;
      default:
        return is_float(s);  // sqrt ... erf, fma
    }
  }

  void boolean_mask(const Instruction& i, std::size_t n, std::uint16_t lanes) const {
    if (i.operands.size() <= n) return;
    const Type m = operand(i, n);
    if (m.scalar != Scalar::boolean || m.lanes != lanes)
      fail(i, "mask is " + to_string(m) + " instead of " + to_string({Scalar::boolean, lanes}));
  }

  void access(const Instruction& i) const {
    if (i.memory >= kernel_.memories.size())
      fail(i, "memory " + std::to_string(i.memory) + " does not exist");
    const Memory& m = kernel_.memories[i.memory];
    const bool writes =
        i.opcode != Opcode::load && i.opcode != Opcode::gather && i.opcode != Opcode::prefetch;
    if (writes && m.space == Space::global && !m.written)
      fail(i, "writes the read-only buffer '" + m.name + "'");
    require(i, !i.operands.empty(), "has no index");
    const Type at = operand(i, 0);
    require(i, at.scalar == Scalar::i32 || at.scalar == Scalar::i64, "the index is not i32 or i64");
    const bool vector_index = i.opcode == Opcode::gather || i.opcode == Opcode::scatter;
    require(i, vector_index || at.lanes == 1, "the index is a vector");
    if (i.opcode == Opcode::prefetch) return count(i, 1, 1);
    const bool reads = i.opcode == Opcode::load || i.opcode == Opcode::gather;
    count(i, reads ? 1 : 2, i.opcode == Opcode::load || (writes && !is_atomic(i.opcode)) ? 3 : 2);
    const Type value = reads ? type(i.result) : operand(i, 1);
    if (value.scalar != m.scalar)
      fail(i,
           "value of " + to_string(value) + ", memory '" + m.name + "' of " + std::string(name_of(m.scalar)));
    require(i, !vector_index || value.lanes == at.lanes, "as many indices as values are needed");
    if (is_atomic(i.opcode)) {
      require(i, value.lanes == 1 && type(i.result) == value, "takes and gives one element");
      if (size_of(value.scalar) < 4) fail(i, "is not defined for " + to_string(value));
      return require(i, m.space != Space::local, "works on global and shared memory only");
    }
    boolean_mask(i, reads ? 1 : 2, value.lanes);
    if (reads && i.operands.size() == 3)
      require(i, operand(i, 2) == value, "`other` and the result differ in type");
  }

  void other(const Instruction& i) const {
    switch (i.opcode) {
      case Opcode::constant:
        count(i, 0, 0);
        return require(
            i, is_float(type(i.result).scalar) || wrap_to(type(i.result).scalar, i.immediate) == i.immediate,
            "the value does not fit the type");
      case Opcode::builtin:
        count(i, 0, 0);
        require(i, i.immediate >= 0 && i.immediate <= static_cast<std::int64_t>(Builtin::plane_lane),
                "unknown builtin");
        return require(i, type(i.result) == Type{Scalar::i32, 1}, "the result is not i32");
      case Opcode::parameter:
        count(i, 0, 0);
        require(i, i.immediate >= 0 && static_cast<std::size_t>(i.immediate) < kernel_.scalars.size(),
                "parameter does not exist");
        return require(
            i, type(i.result) == Type{kernel_.scalars[static_cast<std::size_t>(i.immediate)].scalar, 1},
            "parameter and result differ in type");
      case Opcode::length:
        count(i, 0, 0);
        require(i, i.memory < kernel_.buffer_count(), "is for global buffers");
        return require(i, type(i.result) == Type{Scalar::i64, 1}, "the result is not i64");
      case Opcode::lane_index:
        count(i, 0, 0);
        return require(i, type(i.result).scalar != Scalar::boolean, "is not defined for bool");
      case Opcode::barrier:
        return count(i, 0, 0);
      case Opcode::matrix_multiply:
        return matrix(i);
      case Opcode::load_matrix: {
        count(i, 1, 1);
        require(i, is_shared(i.memory), "is for shared memories");
        const Scalar s = kernel_.memories[i.memory].scalar;
        require(i, is_half(s) || (s == Scalar::f32 && i.immediate == 0),
                "is for halves, and for f32 that is not transposed");
        require(i, is_index(operand(i, 0)), "the index is not i32 or i64");
        return require(i, type(i.result) == Type{s, static_cast<std::uint16_t>(is_half(s) ? 8 : 4)},
                       "gives 16 bytes of the memory's type");
      }
      case Opcode::copy_async: {
        count(i, 2, 3);
        const auto source = static_cast<std::size_t>(i.immediate);
        require(i, is_shared(i.memory), "is for shared memories");
        require(i, i.immediate >= 0 && source < kernel_.buffer_count(), "the source is no global buffer");
        require(i, kernel_.memories[source].scalar == kernel_.memories[i.memory].scalar,
                "the memories differ in type");
        require(i, is_index(operand(i, 0)) && is_index(operand(i, 1)), "an index is not i32 or i64");
        if (i.operands.size() == 3)
          require(i, operand(i, 2) == Type{Scalar::boolean, 1}, "the condition is not one boolean");
        return;
      }
      case Opcode::copy_commit:
        return count(i, 0, 0);
      case Opcode::copy_wait:
        count(i, 0, 0);
        return require(i, i.immediate >= 0, "the number of groups is negative");
      default:
        break;
    }
    if (i.opcode >= Opcode::plane_shuffle)
      plane(i);
    else
      vector(i);
  }

  bool is_shared(MemoryId m) const {
    return m < kernel_.memories.size() && kernel_.memories[m].space == Space::shared;
  }
  static bool is_index(Type t) { return t == Type{Scalar::i32, 1} || t == Type{Scalar::i64, 1}; }

  void vector(const Instruction& i) const {
    const Type r = type(i.result);
    switch (i.opcode) {
      case Opcode::splat:
        count(i, 1, 1);
        return require(i, operand(i, 0) == Type{r.scalar, 1}, "takes a scalar of the result's type");
      case Opcode::extract:
        count(i, 1, 1);
        require(i, r == Type{operand(i, 0).scalar, 1}, "gives a scalar of the operand's type");
        return require(i, i.immediate >= 0 && i.immediate < operand(i, 0).lanes, "lane out of range");
      case Opcode::insert:
        count(i, 2, 2);
        require(i, operand(i, 0) == r && operand(i, 1) == Type{r.scalar, 1},
                "takes a vector and a scalar of its type");
        return require(i, i.immediate >= 0 && i.immediate < r.lanes, "lane out of range");
      case Opcode::shuffle: {
        count(i, 2, 2);
        const Type a = operand(i, 0), b = operand(i, 1);
        require(i, a == b && a.scalar == r.scalar, "takes two equal vectors of the result's scalar");
        require(i, i.indices.size() == r.lanes, "needs one index a result lane");
        for (const auto lane : i.indices) require(i, lane >= 0 && lane < 2 * a.lanes, "lane out of range");
        return;
      }
      default:
        count(i, 1, 1);
        require(i, r == Type{operand(i, 0).scalar, 1}, "gives a scalar of the operand's type");
        return require(i, r.scalar != Scalar::boolean, "is not defined for bool");
    }
  }

  void plane(const Instruction& i) const {
    const bool shuffles = i.opcode == Opcode::plane_shuffle || i.opcode == Opcode::plane_shuffle_xor;
    count(i, shuffles ? 2 : 1, shuffles ? 2 : 1);
    require(i, operand(i, 0) == type(i.result), "operand and result differ in type");
    require(i, type(i.result).scalar != Scalar::boolean, "is not defined for bool");
    if (shuffles) require(i, operand(i, 1) == Type{Scalar::i32, 1}, "the lane is not i32");
  }

  void matrix(const Instruction& i) const {
    count(i, 3, 3);
    require(i, i.immediate >= 0 && static_cast<std::size_t>(i.immediate) < kernel_.matrix_shapes.size(),
            "matrix shape does not exist");
    const auto& s = kernel_.matrix_shapes[static_cast<std::size_t>(i.immediate)];
    require(i, operand(i, 0).scalar == s.a && operand(i, 1).scalar == s.b && operand(i, 2).scalar == s.c,
            "operands differ from the matrix shape's types");
    require(i, operand(i, 2) == type(i.result), "accumulator and result differ in type");
  }

  void control(const Instruction& i) {
    switch (i.opcode) {
      case Opcode::if_:
        count(i, 1, 1);
        require(i, operand(i, 0) == Type{Scalar::boolean, 1}, "the condition is not one boolean");
        require(i, i.regions.size() == 1 || i.regions.size() == 2, "needs one or two bodies");
        for (const auto& r : i.regions) {
          require(i, r.argument == no_value, "bodies take no argument");
          block(r, false);
        }
        return;
      case Opcode::for_: {
        count(i, 3, 3);
        require(i, i.regions.size() == 1, "needs one body");
        const ValueId counter = i.regions[0].argument;
        require(i, counter < kernel_.types.size(), "the body needs a counter");
        const Type t = type(counter);
        require(i, t == Type{Scalar::i64, 1} || t == Type{Scalar::i32, 1}, "the counter is not i32 or i64");
        for (const ValueId v : i.operands) require(i, type(v) == t, "bounds and counter differ in type");
        return block(i.regions[0], false);
      }
      case Opcode::while_:
        count(i, 0, 0);
        require(i, i.regions.size() == 2, "needs a condition and a body");
        require(i, i.regions[0].argument == no_value && i.regions[1].argument == no_value,
                "bodies take no argument");
        block(i.regions[0], true);
        return block(i.regions[1], false);
      case Opcode::yield:
        count(i, 1, 1);
        return require(i, operand(i, 0) == Type{Scalar::boolean, 1}, "the condition is not one boolean");
      default:
        return count(i, 0, 0);
    }
  }

  const Kernel& kernel_;
  std::vector<State> state_;
};

bool has_barrier(const Block& b) {
  for (const auto& i : b.instructions) {
    if (i.opcode == Opcode::barrier) return true;
    for (const auto& r : i.regions)
      if (has_barrier(r)) return true;
  }
  return false;
}

/// Barriers stand only where all units come by.
class Barriers {
 public:
  Barriers(const Kernel& k, const Uniformity& u) : kernel_(k), uniformity_(u) {}

  void block(const Block& b, bool divergent) {
    for (const auto& i : b.instructions) {
      switch (i.opcode) {
        case Opcode::barrier:
          if (divergent)
            fail("stands below a condition or loop bound that differs between the units of a cube");
          if (returned_) fail("can be reached after some units of the cube returned");
          break;
        case Opcode::return_:
          returned_ = returned_ || divergent;
          break;
        case Opcode::if_:
          for (const auto& r : i.regions) block(r, divergent || varies(i.operands[0]));
          break;
        case Opcode::for_: {
          bool apart = divergent;
          for (const ValueId v : i.operands) apart = apart || varies(v);
          loop(i.regions[0], apart);
          break;
        }
        case Opcode::while_: {
          const bool apart = divergent || varies(i.regions[0].instructions.back().operands[0]);
          loop(i.regions[0], apart);
          loop(i.regions[1], apart);
          break;
        }
        default:
          break;
      }
    }
  }

 private:
  bool varies(ValueId v) const { return uniformity_.varying[v]; }
  /// A return at the end of an iteration precedes the barriers of the next one.
  void loop(const Block& b, bool divergent) {
    block(b, divergent);
    if (returned_) block(b, divergent);
  }
  [[noreturn]] void fail(const char* what) const {
    throw CompileError("kernel '" + kernel_.name + "': barrier: " + what);
  }

  const Kernel& kernel_;
  const Uniformity& uniformity_;
  bool returned_ = false;
};

}  // namespace

void verify(const Kernel& kernel) {
  Structure(kernel).run();
  if (kernel.units() > 1 && has_barrier(kernel.body))
    Barriers(kernel, analyse_uniformity(kernel)).block(kernel.body, false);
}

}  // namespace strata::kernel
