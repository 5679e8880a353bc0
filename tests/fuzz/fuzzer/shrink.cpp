#include "fuzz/fuzzer/shrink.hpp"

#include <chrono>
#include <set>

#include "fuzz/fuzzer/edit.hpp"

namespace strata::fuzz {
namespace {

class Shrinker {
 public:
  Shrinker(Program program, const std::function<bool(const Program&)>& fails,
           const std::function<Outputs(const Program&)>& evaluate, const ShrinkSettings& settings)
      : program_(std::move(program)), fails_(fails), evaluate_(evaluate), settings_(settings) {}

  Program run() {
    if (program_.checkpointing != Checkpointing::disabled) {
      auto simpler = program_;
      simpler.checkpointing = Checkpointing::disabled;
      accept(simpler);
    }
    for (bool changed = true; changed && !exhausted();) {
      changed = bodies();
      changed |= operations();
      changed |= actions();
      changed |= accept(without_unused_inputs(program_));
      changed |= extents();
      if (!changed) changed = numbers();
    }
    return program_;
  }

 private:
  using Clock = std::chrono::steady_clock;
  bool exhausted() const {
    return checks_ >= settings_.most_checks ||
           std::chrono::duration<double>(Clock::now() - start_).count() > settings_.seconds;
  }
  /// Takes the edited program if it still fails.
  bool accept(const Edited& edited) {
    if (!edited || exhausted()) return false;
    ++checks_;
    if (!fails_(*edited)) return false;
    program_ = *edited;
    return true;
  }

  bool bodies() {
    bool changed = false;
    for (std::size_t i = program_.bodies.size(); i-- > 0;) changed |= accept(without_body(program_, i));
    return changed;
  }

  bool actions() {
    bool changed = false;
    for (std::size_t b = 0; b < program_.bodies.size(); ++b) {
      for (std::size_t i = program_.bodies[b].actions.size(); i-- > 0;)
        changed |= accept(without_action(program_, b, i));
    }
    return changed;
  }

  /// From the last to the first: drops what is not needed, puts an operand or the elements in its place.
  bool operations() {
    bool changed = false;
    for (std::size_t b = 0; b < program_.bodies.size(); ++b) {
      for (auto id = static_cast<ValueId>(Types(program_, program_.bodies[b]).size()) - 1; id >= 0; --id)
        changed |= operation(b, id);
    }
    return changed;
  }
  bool operation(std::size_t b, ValueId id) {
    if (uses(program_.bodies[b], id) == 0) return accept(without_operation(program_, b, id));
    // With every read and drop of it, when nothing else needs it.
    auto bare = program_;
    std::erase_if(bare.bodies[b].actions,
                  [&](const Action& a) { return a.kind != Action::Kind::execute && a.value == id; });
    if (accept(without_operation(bare, b, id))) return true;
    const Types types(program_, program_.bodies[b]);
    const auto operands = program_.bodies[b].actions[action_of(program_.bodies[b], id)].operands;
    for (auto operand : operands) {
      if (types.of(operand) && types.of(operand) == types.of(id) &&
          accept(with_replaced(program_, b, id, operand)))
        return true;
    }
    if (!types.of(id)) return false;
    const auto data = elements(b, id);
    return data && accept(with_constant(program_, b, id, *data));
  }
  /// What the reference has for a value.
  std::optional<TensorData> elements(std::size_t b, ValueId id) const {
    Program upstream = program_;
    upstream.bodies = {program_.bodies[b]};
    auto& actions = upstream.bodies[0].actions;
    actions.resize(action_of(actions_of(b), id) + 1);
    std::erase_if(actions, [](const Action& a) { return a.kind != Action::Kind::execute; });
    actions.push_back(Action::read(id));
    const auto outputs = evaluate_(upstream);
    if (outputs.empty() || !outputs.back().error.empty()) return std::nullopt;
    return outputs.back().data;
  }
  const Body& actions_of(std::size_t b) const { return program_.bodies[b]; }

  bool extents() {
    std::set<std::int64_t> all;
    const auto collect = [&](const Shape& shape) {
      for (auto e : shape) all.insert(e);
    };
    for (const auto& data : program_.inputs) collect(data.shape());
    for (const auto& body : program_.bodies) {
      const Types types(program_, body);
      for (std::size_t i = 0; i < types.size(); ++i) {
        if (types.of(static_cast<ValueId>(i))) collect(types.of(static_cast<ValueId>(i))->shape);
      }
    }
    bool changed = false;
    for (auto it = all.rbegin(); it != all.rend(); ++it) {
      for (auto to : {std::int64_t{1}, std::int64_t{2}, std::int64_t{3}, *it / 2, *it - 1}) {
        if (to < 1 || to >= *it) continue;
        if (accept(with_extents(program_, {*it, to}, End::first)) ||
            accept(with_extents(program_, {*it, to}, End::last))) {
          changed = true;
          break;
        }
      }
    }
    return changed;
  }

  bool numbers() {
    bool changed = false;
    for (std::size_t i = 0; i < program_.inputs.size(); ++i) {
      // Only towards the plainer, so that this ends.
      const auto now = rank(i);
      for (auto to : {Plain::zeros, Plain::ones, Plain::counting}) {
        if (static_cast<int>(to) >= now) break;
        if (!accept(with_input(program_, i, plain(program_.inputs[i], to)))) continue;
        changed = true;
        break;
      }
      if (changed || program_.inputs[i].size() > 64 || now <= static_cast<int>(Plain::counting)) continue;
      for (std::size_t k = 0; k < static_cast<std::size_t>(program_.inputs[i].size()); ++k)
        changed |= accept(with_input(program_, i, with_one(program_.inputs[i], k)));
    }
    return changed;
  }
  /// How plain an input's numbers are; 3: not at all.
  int rank(std::size_t i) const {
    for (auto p : {Plain::zeros, Plain::ones, Plain::counting}) {
      if (!with_input(program_, i, plain(program_.inputs[i], p))) return static_cast<int>(p);
    }
    return 3;
  }

  Program program_;
  const std::function<bool(const Program&)>& fails_;
  const std::function<Outputs(const Program&)>& evaluate_;
  const ShrinkSettings settings_;
  const Clock::time_point start_ = Clock::now();
  int checks_ = 0;
};

}  // namespace

Program shrink(Program program, const std::function<bool(const Program&)>& fails,
               const std::function<Outputs(const Program&)>& evaluate, const ShrinkSettings& settings) {
  return Shrinker(std::move(program), fails, evaluate, settings).run();
}

}  // namespace strata::fuzz
