#include "fuzz/fuzzer/generator.hpp"

#include "fuzz/fuzzer/chooser.hpp"
#include "fuzz/fuzzer/rules.hpp"

namespace strata::fuzz {
namespace {

/// Work of the error model, in multiply-adds or elements, that one operation may cost.
constexpr std::int64_t most_work = 4'000'000;

std::int64_t work_of(const op::Operation& op, const std::vector<op::TensorType>& in,
                     const op::TensorType& out) {
  const auto n = out.shape.product();
  return std::holds_alternative<op::Matmul>(op) ? n * in[0].shape.back() : n;
}

class BodyWriter {
 public:
  BodyWriter(Chooser& chooser, const GeneratorSettings& settings) : chooser_(chooser), settings_(settings) {}

  Body write() {
    chooser_.start_body();
    const auto count = chooser_.between(1, settings_.most_operations);
    for (std::int64_t i = 0; i < count; ++i) {
      add_operation();
      const auto held = chooser_.held();
      if (!held.empty() && chooser_.chance(settings_.early_reads))
        body_.actions.push_back(Action::read(chooser_.one_of(held)));
      if (held.size() > 1 && chooser_.chance(settings_.early_drops)) drop(chooser_.one_of(held));
    }
    finish();
    return std::move(body_);
  }

 private:
  /// Nothing where the family found no inputs of reasonable size.
  std::optional<Call> choose(const std::vector<int>& weights) {
    try {
      auto call = families()[chooser_.weighted(weights)].choose(chooser_);
      if (!call.operands.empty() && chooser_.chance(settings_.refused_calls))
        call.operands[chooser_.below(call.operands.size())] = chooser_.any();
      return call;
    } catch (const TooLarge&) {
      return std::nullopt;
    }
  }

  void add_operation() {
    std::vector<int> weights;
    for (const auto& family : families()) weights.push_back(family.weight);
    for (int attempt = 0; attempt < 20; ++attempt) {
      auto call = choose(weights);
      if (!call) continue;
      std::vector<op::TensorType> types;
      for (auto id : call->operands) types.push_back(chooser_.type(id));
      const auto result = type_of_result(call->op, types);
      if (result &&
          (result->shape.product() > chooser_.largest() || work_of(call->op, types, *result) > most_work))
        continue;
      if (result) {
        chooser_.made(*result);
      } else {
        chooser_.made_nothing();
      }
      body_.actions.push_back(Action::execute(std::move(call->op), std::move(call->operands)));
      return;
    }
  }

  void drop(ValueId id) {
    body_.actions.push_back(Action::drop(id));
    chooser_.dropped(id);
  }

  /// Reads and releases what is left in random order; some values are released without a read.
  void finish() {
    auto left = chooser_.held();
    chooser_.shuffle(left);
    const bool release = chooser_.chance(0.5);
    for (auto id : left) {
      if (is_input(id) ? chooser_.chance(0.1) : chooser_.chance(0.8))
        body_.actions.push_back(Action::read(id));
      if (release && chooser_.chance(0.7)) drop(id);
    }
  }

  Chooser& chooser_;
  const GeneratorSettings& settings_;
  Body body_;
};

}  // namespace

Program generate(std::uint64_t seed, const GeneratorSettings& settings) {
  Program program;
  program.seed = seed;
  Chooser chooser(seed, program);
  const auto bodies = chooser.chance(settings.threaded_programs) ? chooser.between(2, 3) : 1;
  for (std::int64_t i = 0; i < bodies; ++i) program.bodies.push_back(BodyWriter(chooser, settings).write());
  if (chooser.chance(0.3)) program.checkpointing = Checkpointing::balanced;
  return program;
}

}  // namespace strata::fuzz
