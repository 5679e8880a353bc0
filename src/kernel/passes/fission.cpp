#include "kernel/passes/fission.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>
#include <utility>

#include "kernel/builder.hpp"
#include "kernel/passes/fission_plan.hpp"
#include "kernel/passes/rewrite.hpp"
#include "kernel/uniformity.hpp"

namespace strata::kernel {
namespace {

using detail::contains;
using detail::FissionPlan;
using detail::Part;

bool is_plane(Opcode op) { return op >= Opcode::plane_shuffle && op <= Opcode::plane_reduce_max; }

class Fission {
 public:
  explicit Fission(Kernel kernel)
      : dim_(kernel.cube_dim),
        units_(kernel.units()),
        plan_(detail::plan_fission(kernel)),
        uniformity_(analyse_uniformity(kernel)),
        returns_(contains(kernel.body, Opcode::return_)),
        builder_(std::move(kernel), body_) {
    const auto values = builder_.kernel().types.size();
    renamed_.resize(values);
    std::iota(renamed_.begin(), renamed_.end(), ValueId{0});
    outside_.assign(values, false);
    again_.assign(values, nullptr);
    again_cost_.assign(values, 0);
    fetched_.assign(values, FissionPlan::nowhere);
    spills_.resize(values);
  }

  Kernel run() {
    expand_local_arrays();
    if (returns_) prepare_returns();
    linear_ = contains(body_, Opcode::barrier);
    builder_.set_cube_dim({1, 1, 1});
    block(body_);
    return builder_.finish();
  }

 private:
  // --- once, before the body

  /// Elements from one unit's slice to the next: keeps `aligned` accesses aligned.
  std::int64_t slice_of(MemoryId m) const {
    const auto& memory = builder_.kernel().memories[m];
    const auto line = static_cast<std::int64_t>(64 / size_of(memory.scalar));
    if (memory.length <= line)
      return static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(memory.length)));
    return (memory.length + line - 1) / line * line;
  }

  void expand_local_arrays() {
    slice_.assign(builder_.kernel().memories.size(), 0);
    for (MemoryId m = 0; m < slice_.size(); ++m) {
      const auto& memory = builder_.kernel().memories[m];
      const int region = plan_.memory_region[m];
      if (memory.space != Space::local || region == FissionPlan::nowhere) continue;
      if (region != FissionPlan::several && !plan_.region_in_loop[static_cast<std::size_t>(region)]) continue;
      slice_[m] = slice_of(m);
      builder_.set_length(m, slice_[m] * units_);
    }
  }

  void prepare_returns() {
    one_region_ = plan_.region_in_loop.size() == 1 && !plan_.region_in_loop[0];
    returned_ = local_array(Scalar::boolean, one_region_ ? 1 : units_, "returned");
    if (one_region_) return;
    for_(0, units_, 1, [&](Val u) { returned_[u] = constant(make_type(Scalar::boolean), 0); });
  }

  // --- outside the unit loops

  void block(const Block& b) {
    const auto parts = detail::split(b);
    parts_from(b, parts, 0);
  }

  void parts_from(const Block& b, const std::vector<Part>& parts, std::size_t from) {
    for (std::size_t n = from; n < parts.size(); ++n) {
      bool leaves = false;
      for (std::size_t k = parts[n].first; k < parts[n].last; ++k)
        leaves = leaves || contains(b.instructions[k], Opcode::return_);
      if (parts[n].is_region)
        region(b, parts[n]);
      else
        split_control(b.instructions[parts[n].first]);
      if (!leaves || !barrier_behind(b, parts[n].last)) continue;
      // a return in front of a barrier is uniform: any unit's flag tells
      return if_(!returned_.load(0), [&] { parts_from(b, parts, n + 1); });
    }
  }

  static bool barrier_behind(const Block& b, std::size_t from) {
    return std::any_of(b.instructions.begin() + static_cast<std::ptrdiff_t>(from), b.instructions.end(),
                       [](const Instruction& i) { return contains(i, Opcode::barrier); });
  }

  void split_control(const Instruction& i) {
    if (i.opcode == Opcode::barrier || i.opcode == Opcode::yield) return;  // a while_ writes its own yield
    for (const ValueId v : i.operands) uniform(v);
    Instruction copy = rename(i);
    copy.regions.clear();
    for (std::size_t n = 0; n < i.regions.size(); ++n) {
      const Block& r = i.regions[n];
      builder_.begin_region_with(r.argument);
      if (r.argument != no_value) outside_[r.argument] = true;
      const bool loop_body = i.opcode == Opcode::for_ || (i.opcode == Opcode::while_ && n == 1);
      if (i.opcode == Opcode::while_ && n == 0)
        split_condition(r);
      else if (loop_body && contains(r, Opcode::return_))
        if_(!returned_.load(0), [&] { block(r); });
      else
        block(r);
      copy.regions.push_back(builder_.end_region());
    }
    builder_.record(std::move(copy));
  }

  void split_condition(const Block& r) {
    block(r);
    const ValueId condition = uniform(r.instructions.back().operands[0]);
    Val go_on = builder_.value(condition);
    if (returns_) go_on = go_on & !returned_.load(0);
    builder_.emit_void(Opcode::yield, {go_on.id});
  }

  /// The value where no unit is at hand.
  ValueId uniform(ValueId v) const {
    if (!outside_[v])
      builder_.fail("barrier below a condition or bound that differs between the units of a cube");
    return renamed_[v];
  }

  // --- one region

  void region(const Block& b, const Part& part) {
    const int id = next_region_++;
    std::vector<const Instruction*> rest;
    for (std::size_t n = part.first; n < part.last; ++n)
      if (!hoist(b.instructions[n])) rest.push_back(&b.instructions[n]);
    if (std::all_of(rest.begin(), rest.end(), [&](const Instruction* i) { return note_recomputable(*i); }))
      return;
    top_level_uniform_.clear();
    unit_loops([&] {
      fetch(rest, id);
      const auto code = [&] { list(rest, 0, true); };
      if (returns_ && one_region_) returned_.store(0, constant(make_type(Scalar::boolean), 0));
      if (returns_ && (id > 0 || plan_.region_in_loop[0]))
        if_(!has_returned(), code);
      else
        code();
    });
    for (const ValueId v : top_level_uniform_) {
      renamed_[v] = slot(v).load(0, builder_.kernel().types[v].lanes, {.flags = aligned}).id;
      outside_[v] = true;
    }
  }

  /// Uniform pure instructions go in front of the unit loops. Divisions that may trap stay where they are.
  bool hoist(const Instruction& i) {
    if (i.opcode == Opcode::constant) {
      renamed_[i.result] = builder_.adopt_constant(i).id;
      outside_[i.result] = true;
      return true;
    }
    if (!is_pure(i.opcode) || uniformity_.varying[i.result]) return false;
    if (i.opcode == Opcode::builtin && is_position(i)) return false;
    if (!std::all_of(i.operands.begin(), i.operands.end(), [&](ValueId v) { return outside_[v]; }))
      return false;
    if (i.opcode == Opcode::div || i.opcode == Opcode::rem) {
      const auto divisor = builder_.bits_of(builder_.value(renamed_[i.operands[1]]));
      if (!is_float(builder_.kernel().types[i.result].scalar) &&
          (!divisor || *divisor == 0 || *divisor == -1))
        return false;
    }
    builder_.record(rename(i));
    outside_[i.result] = true;
    return true;
  }

  static bool is_position(const Instruction& i) {
    const auto b = static_cast<Builtin>(i.immediate);
    return b <= Builtin::unit_z || b == Builtin::plane_lane;
  }

  template <class Body>
  void unit_loops(Body&& body) {
    const auto axis = [&](std::size_t n, auto&& inner) {
      for_(0, constant(make_type(Scalar::i32), dim_[n]), 1, [&](Val counter) {
        position_[n] = counter;
        inner();
      });
    };
    axis(2, [&] {
      axis(1, [&] {
        axis(0, [&] {
          if (linear_)
            unit_ = convert((position_[2] * dim_[1] + position_[1]) * dim_[0] + position_[0], Scalar::i64);
          body();
        });
      });
    });
  }

  // --- values of other regions

  /// Makes the values that the region needs from others available.
  void fetch(const std::vector<const Instruction*>& instructions, int id) {
    for (const auto* i : instructions) fetch(*i, id);
  }
  void fetch(const Instruction& i, int id) {
    for (const ValueId v : i.operands) {
      if (outside_[v] || plan_.home[v] == id) continue;
      if (again_[v] != nullptr)
        compute_again(v, id);
      else if (fetched_[v] != id)
        renamed_[v] = load_spilled(v).id;
      fetched_[v] = id;
    }
    for (const auto& r : i.regions)
      for (const auto& inner : r.instructions) fetch(inner, id);
  }

  void compute_again(ValueId v, int id) {
    if (fetched_[v] == id) return;
    fetched_[v] = id;
    const Instruction& i = *again_[v];
    for (const ValueId operand : i.operands)
      if (!outside_[operand]) compute_again(operand, id);
    if (i.opcode == Opcode::builtin)
      renamed_[v] = position(i).id;
    else
      renamed_[v] = builder_.record_anew(rename(i), builder_.kernel().types[v]).id;
  }

  Buffer slot(ValueId v) {
    if (spills_[v].id() == no_memory) {
      const Type t = builder_.kernel().types[v];
      const auto lanes = std::bit_ceil(std::uint32_t{t.lanes});
      spills_[v] = local_array(t.scalar, std::int64_t{lanes} * (uniformity_.varying[v] ? units_ : 1),
                               "spill" + std::to_string(v));
    }
    return spills_[v];
  }
  Val spill_index(ValueId v) {
    return unit_ * std::int64_t{std::bit_ceil(std::uint32_t{builder_.kernel().types[v].lanes})};
  }
  Val load_spilled(ValueId v) {
    return slot(v).load(spill_index(v), builder_.kernel().types[v].lanes, {.flags = aligned});
  }

  /// After the definition of a value: keeps it for other regions.
  void keep(const Instruction& i) {
    const ValueId v = i.result;
    if (v == no_value) return;
    const bool again = note_recomputable(i);
    if (!plan_.escapes[v] || again) return;
    const Val value = builder_.value(renamed_[v]);
    if (uniformity_.varying[v]) return slot(v).store(spill_index(v), value, {.flags = aligned});
    slot(v).store(0, value, {.flags = aligned});
    top_level_uniform_.push_back(v);
  }

  /// Pure, differs between units, made of the position and of values known outside the unit loops, and short.
  bool note_recomputable(const Instruction& i) {
    constexpr int limit = 16;
    if (!is_pure(i.opcode) || !uniformity_.varying[i.result]) return false;
    int cost = 1;
    for (const ValueId v : i.operands) {
      if (outside_[v]) continue;
      if (again_[v] == nullptr) return false;
      cost += again_cost_[v];
    }
    if (cost > limit) return false;
    again_[i.result] = &i;
    again_cost_[i.result] = cost;
    return true;
  }

  // --- instructions inside the unit loops

  Instruction rename(const Instruction& i) const {
    Instruction copy = i;
    for (auto& v : copy.operands) v = renamed_[v];
    return copy;
  }

  Val position(const Instruction& i) {
    const auto b = static_cast<Builtin>(i.immediate);
    return b == Builtin::plane_lane ? constant(make_type(Scalar::i32), 0)
                                    : position_[static_cast<std::size_t>(b)];
  }

  Val has_returned() const {
    return returned_.load(one_region_ ? constant(make_type(Scalar::i64), 0) : unit_);
  }
  void leave() const {
    returned_.store(one_region_ ? constant(make_type(Scalar::i64), 0) : unit_,
                    constant(make_type(Scalar::boolean), 1));
  }

  void list(const std::vector<const Instruction*>& instructions, std::size_t from, bool top_level) {
    for (std::size_t n = from; n < instructions.size(); ++n) {
      const Instruction& i = *instructions[n];
      instruction(i);
      if (top_level) keep(i);
      if (!contains(i, Opcode::return_) || n + 1 == instructions.size()) continue;
      return if_(!has_returned(), [&] { list(instructions, n + 1, top_level); });
    }
  }

  void list(const Block& b) {
    std::vector<const Instruction*> all;
    for (const auto& i : b.instructions) all.push_back(&i);
    list(all, 0, false);
  }

  void instruction(const Instruction& i) {
    if (i.opcode == Opcode::constant) {
      renamed_[i.result] = builder_.adopt_constant(i).id;
    } else if (i.opcode == Opcode::builtin && is_position(i)) {
      renamed_[i.result] = position(i).id;
    } else if (is_plane(i.opcode)) {
      renamed_[i.result] = renamed_[i.operands[0]];
    } else if (i.opcode == Opcode::return_) {
      leave();
    } else if (!i.regions.empty()) {
      control(i);
    } else {
      Instruction copy = rename(i);
      if (i.memory != no_memory && slice_[i.memory] != 0)
        copy.operands[0] = in_slice(i.memory, copy.operands[0]);
      builder_.record(std::move(copy));
    }
  }

  /// The index inside the unit's slice of an expanded array.
  ValueId in_slice(MemoryId m, ValueId index) {
    const Val at = builder_.value(index);
    return (convert(at, Scalar::i64) + unit_ * slice_[m]).id;
  }

  void control(const Instruction& i) {
    Instruction copy = rename(i);
    copy.regions.clear();
    for (std::size_t n = 0; n < i.regions.size(); ++n) {
      const Block& r = i.regions[n];
      builder_.begin_region_with(r.argument);
      const bool may_leave = contains(i, Opcode::return_);
      if (may_leave && i.opcode == Opcode::while_ && n == 0)
        condition_with_return(r);
      else if (may_leave && i.opcode == Opcode::for_)
        if_(!has_returned(), [&] { list(r); });
      else
        list(r);
      copy.regions.push_back(builder_.end_region());
    }
    builder_.record(std::move(copy));
  }

  /// while (!returned && condition): the condition is not evaluated again once the unit returned.
  void condition_with_return(const Block& r) {
    const Var go_on(constant(make_type(Scalar::boolean), 0));
    if_(!has_returned(), [&] {
      std::vector<const Instruction*> all;
      for (std::size_t n = 0; n + 1 < r.instructions.size(); ++n) all.push_back(&r.instructions[n]);
      list(all, 0, false);
      go_on = builder_.value(renamed_[r.instructions.back().operands[0]]);
    });
    builder_.emit_void(Opcode::yield, {go_on.get().id});
  }

  std::array<std::uint32_t, 3> dim_;
  std::int64_t units_;
  FissionPlan plan_;
  Uniformity uniformity_;
  bool returns_, one_region_ = false;
  bool linear_ = false;  // the unit's linear position is needed
  Block body_;           // of the old kernel
  Builder builder_;
  int next_region_ = 0;
  std::vector<ValueId> renamed_;            // old value -> new value, in the region at hand or outside
  std::vector<bool> outside_;               // old values known outside the unit loops
  std::vector<const Instruction*> again_;   // old values that are computed again where needed
  std::vector<int> again_cost_;             // in instructions
  std::vector<int> fetched_;                // old value -> the region it was last made available in
  std::vector<Buffer> spills_;              // by old value
  std::vector<ValueId> top_level_uniform_;  // of the region at hand, to load behind its loops
  std::vector<std::int64_t> slice_;         // by memory: elements of one unit, 0 where not expanded
  Buffer returned_;
  std::array<Val, 3> position_{};
  Val unit_{};
};

/// What a kernel of one unit still has to have resolved: barriers, planes and the unit's position.
bool is_about_units(const Instruction& i) {
  const auto b = static_cast<Builtin>(i.immediate);
  return i.opcode == Opcode::barrier || is_plane(i.opcode) ||
         (i.opcode == Opcode::builtin && (b <= Builtin::unit_z || b == Builtin::plane_lane));
}

bool any_about_units(const Block& b) {
  return std::any_of(b.instructions.begin(), b.instructions.end(), [](const Instruction& i) {
    return is_about_units(i) || std::any_of(i.regions.begin(), i.regions.end(), any_about_units);
  });
}

std::optional<Val> alone(const Instruction& i) {
  if (!is_about_units(i)) return std::nullopt;
  if (i.opcode == Opcode::barrier) return Val{};
  if (is_plane(i.opcode)) return Builder::current().value(i.operands[0]);
  return constant(make_type(Scalar::i32), 0);
}

}  // namespace

Kernel fission(Kernel kernel) {
  if (kernel.units() == 1 && !any_about_units(kernel.body)) return kernel;
  if (kernel.units() == 1) return rewrite(std::move(kernel), alone);
  return Fission(std::move(kernel)).run();
}

}  // namespace strata::kernel
