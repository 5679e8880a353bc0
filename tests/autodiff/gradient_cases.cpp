#include "bridge/bridge.hpp"
#include "gradient_check.hpp"

namespace strata::testing {
namespace {

using bridge::add;
using bridge::mul;
using op::BinaryKind;
using op::CompareKind;
using op::ReduceKind;
using op::UnaryKind;
using Values = std::vector<ValueRef>;

/// Collects the cases; every input is drawn from a seed of its own.
class Collector {
 public:
  std::vector<GradientCase> cases;

  void add(std::string name, Function f, const std::vector<Shape>& shapes, double low = 0.25,
           double high = 1.75) {
    GradientCase c{std::move(name), std::move(f), {}};
    for (const auto& shape : shapes) c.inputs.push_back(random_f64(shape, ++seed_, low, high));
    cases.push_back(std::move(c));
  }

 private:
  std::uint64_t seed_ = 100;
};

void add_unary(Collector& to) {
  using enum UnaryKind;
  for (auto kind : {recip, sqrt, rsqrt, log, log1p, log2, log10, lgamma,
                    digamma}) {  // defined right of 0, or singular there
    to.add(std::string(op::name_of(kind)), [kind](const Values& x) { return bridge::unary(kind, x[0]); },
           {{2, 3}});
  }
  for (auto kind : {neg,  abs,     sign, floor, ceil, round, trunc, exp,   expm1, sin,  cos,
                    tanh, sigmoid, erf,  exp2,  atan, sinh,  cosh,  asinh, gelu,  silu, softplus}) {
    to.add(
        std::string(op::name_of(kind)), [kind](const Values& x) { return bridge::unary(kind, x[0]); },
        {{2, 3}}, -1.75, 1.75);
  }
  for (auto kind : {tan, asin, acos, atanh, erfinv}) {  // inside (-1, 1)
    to.add(
        std::string(op::name_of(kind)), [kind](const Values& x) { return bridge::unary(kind, x[0]); },
        {{2, 3}}, -0.8, 0.8);
  }
  to.add(
      "acosh", [](const Values& x) { return bridge::unary(acosh, x[0]); }, {{2, 3}}, 1.25, 3);
  for (auto kind : {lgamma, digamma}) {  // between two poles
    to.add(
        std::string(op::name_of(kind)) + "_of_negatives",
        [kind](const Values& x) { return bridge::unary(kind, x[0]); }, {{2, 3}}, -1.75, -1.25);
  }
  to.add("chain_of_unaries",
         [](const Values& x) {
           return bridge::unary(tanh, bridge::unary(sin, bridge::unary(exp, bridge::unary(sqrt, x[0]))));
         },
         {{2, 3}});
}

void add_binary(Collector& to) {
  using enum BinaryKind;
  for (auto kind : {BinaryKind::add, sub, BinaryKind::mul, div, rem, fmod, pow, max, min, atan2, hypot}) {
    const auto f = [kind](const Values& x) { return bridge::binary(kind, x[0], x[1]); };
    const std::string name(op::name_of(kind));
    to.add(name, f, {{2, 3}, {2, 3}});
    to.add(name + "_broadcasting_rhs", f, {{2, 3}, {3}});
    to.add(name + "_broadcasting_both", f, {{3, 1}, {2, 1, 4}});
    to.add(name + "_with_scalar", [kind](const Values& x) { return bridge::binary(kind, x[0], 1.25); },
           {{2, 3}});
    to.add(name + "_of_scalar", [kind](const Values& x) { return bridge::binary(kind, 1.25, x[0]); },
           {{2, 3}});
    to.add(name + "_with_rank_0", f, {{}, {2, 2}});
  }
  for (auto kind : {rem, fmod, atan2, hypot}) {
    to.add(std::string(op::name_of(kind)) + "_of_negatives",
           [kind](const Values& x) { return bridge::binary(kind, bridge::neg(x[0]), x[1]); }, {{5}, {5}});
  }
  to.add(
      "negative_base_to_whole_powers",
      [](const Values& x) {
        return bridge::add(bridge::binary(pow, x[0], 3),
                           bridge::add(bridge::binary(pow, x[0], 2), bridge::binary(pow, x[0], -1)));
      },
      {{4}}, -1.75, -0.25);
  to.add("same_operand_twice", [](const Values& x) { return bridge::mul(x[0], x[0]); }, {{3}});
}

void add_where_and_cast(Collector& to) {
  const auto by_comparison = [](const Values& x) {
    return bridge::where(bridge::compare(CompareKind::less, x[0], x[1]), mul(x[0], x[0]), x[1]);
  };
  to.add("where", by_comparison, {{3, 4}, {3, 4}});
  to.add("where_broadcasting", by_comparison, {{3, 1}, {4}});
  to.add("where_broadcasting_its_condition",
         [](const Values& x) {
           const auto condition = x[0]->backend.from_data(TensorData::from<bool>({true, false}, {2, 1}));
           return bridge::where(condition, x[0], x[1]);
         },
         {{3}, {}});
  // To f64 and back through f64: the cast of f64 to a narrower float is a staircase, tested by value
  // elsewhere.
  to.add("cast", [](const Values& x) { return backend::execute(op::Cast{DType::f64}, x)[0]; }, {{2, 2}});
}

void add_matmul(Collector& to) {
  const auto f = [](const Values& x) { return bridge::matmul(x[0], x[1]); };
  to.add("matmul", f, {{2, 3}, {3, 4}});
  to.add("matmul_vector", f, {{1, 3}, {3, 1}});
  to.add("matmul_batched", f, {{2, 2, 3}, {2, 3, 2}});
  to.add("matmul_batch_and_matrix", f, {{2, 2, 2, 3}, {3, 2}});
  to.add("matmul_matrix_and_batch", f, {{2, 3}, {2, 3, 2}});
  to.add("matmul_broadcasting_both", f, {{2, 1, 2, 2}, {3, 2, 2}});
  to.add("matmul_of_transposed",
         [](const Values& x) { return bridge::matmul(bridge::transpose(x[0]), x[1]); }, {{3, 2}, {3, 4}});
  to.add("matmul_with_itself", [](const Values& x) { return bridge::matmul(x[0], bridge::transpose(x[0])); },
         {{2, 3}});
}

void add_reduce(Collector& to) {
  using enum ReduceKind;
  for (auto kind : {sum, mean, prod, max, min}) {
    const std::string name = "reduce_" + std::string(op::name_of(kind));
    const auto over = [kind](Axes axes, bool keep) {
      return [kind, axes, keep](const Values& x) { return bridge::reduce(kind, x[0], axes, keep); };
    };
    to.add(name + "_last", over({1}, false), {{3, 5}});
    to.add(name + "_first_kept", over({0}, true), {{3, 2}});
    to.add(name + "_outer_axes", over({0, 2}, false), {{2, 3, 3}});
    to.add(name + "_none", over({}, false), {{2, 2}});
    to.add(name + "_one_element", over({1}, false), {{3, 1}});
    to.add(name + "_all", [kind](const Values& x) { return bridge::reduce_all(kind, x[0]); }, {{2, 3}});
    to.add(name + "_of_permuted",
           [kind](const Values& x) {
             return bridge::reduce(kind, bridge::permute(x[0], {2, 0, 1}), {0, 1}, false);
           },
           {{2, 2, 3}});
  }
}

void add_layout(Collector& to) {
  // Squared first, so that the first derivative depends on x and the second one tests the rule's own steps.
  const auto of_square = [](auto layout) {
    return [layout](const Values& x) { return layout(mul(x[0], x[0])); };
  };
  to.add("reshape", of_square([](const ValueRef& x) { return bridge::reshape(x, {3, 2}); }), {{2, 3}});
  to.add("reshape_of_permuted",
         of_square([](const ValueRef& x) { return bridge::reshape(bridge::transpose(x), {6}); }), {{2, 3}});
  to.add("permute", of_square([](const ValueRef& x) { return bridge::permute(x, {2, 0, 1}); }), {{2, 3, 2}});
  to.add("expand", of_square([](const ValueRef& x) { return bridge::expand(x, {2, 3, 2}); }), {{3, 1}});
  to.add("expand_rank_0", of_square([](const ValueRef& x) { return bridge::expand(x, {2, 2}); }), {{}});
  to.add("flip", of_square([](const ValueRef& x) { return bridge::flip(x, {0, 2}); }), {{2, 2, 3}});
  const auto slice = [&](Dims start, Dims stop, Dims step) {
    return of_square([=](const ValueRef& x) { return bridge::slice(x, start, stop, step); });
  };
  to.add("slice", slice({1, 0}, {3, 2}, {1, 1}), {{4, 3}});
  to.add("slice_step", slice({0, 1}, {5, 7}, {2, 3}), {{5, 8}});
  to.add("slice_step_reaching_past_the_end", slice({1}, {6}, {4}), {{6}});
  to.add("slice_step_of_one_entry", slice({2}, {3}, {5}), {{6}});
  to.add("slice_empty", slice({2, 0}, {2, 3}, {1, 2}), {{4, 3}});
  to.add("slice_step_at_rank_8",
         slice({0, 0, 0, 0, 0, 0, 0, 0}, {1, 1, 1, 3, 1, 1, 1, 2}, {1, 1, 1, 2, 1, 1, 1, 1}),
         {{1, 1, 1, 3, 1, 1, 1, 2}});
  to.add("cat",
         [](const Values& x) {
           return bridge::cat({mul(x[0], x[0]), x[1], mul(x[1], x[0])}, 1);
         },
         {{2, 2}, {2, 2}});
  to.add("cat_with_constant",
         [](const Values& x) {
           return bridge::cat({x[0], bridge::fill(x[0]->backend, {2}, x[0]->dtype, 3), mul(x[1], x[1])}, 0);
         },
         {{1}, {3}});
  to.add("cat_of_five",
         [](const Values& x) {
           return bridge::cat({x[0], mul(x[0], x[0]), x[0], x[0], bridge::neg(x[0])}, 0);
         },
         {{2, 2}});
}

void add_compositions(Collector& to) {
  to.add("log_softmax",
         [](const Values& x) {
           const auto shifted = bridge::sub(x[0], bridge::reduce(ReduceKind::max, x[0], {1}, true));
           const auto total =
               bridge::reduce(ReduceKind::sum, bridge::unary(UnaryKind::exp, shifted), {1}, true);
           return bridge::sub(shifted, bridge::unary(UnaryKind::log, total));
         },
         {{2, 4}});
  to.add(
      "two_layers",
      [](const Values& x) {
        const auto hidden = bridge::unary(UnaryKind::tanh, add(bridge::matmul(x[0], x[1]), x[2]));
        return bridge::reduce_all(ReduceKind::mean,
                                  bridge::unary(UnaryKind::sigmoid, bridge::matmul(hidden, x[3])));
      },
      {{3, 2}, {2, 3}, {3}, {3, 2}}, -1, 1);
  to.add(
      "strided_views",
      [](const Values& x) {
        const auto view = bridge::flip(bridge::transpose(bridge::slice(x[0], {0, 1}, {4, 6}, {2, 2})), {1});
        return mul(bridge::unary(UnaryKind::exp, view), bridge::expand(x[1], {3, 2}));
      },
      {{4, 6}, {3, 1}});
}

}  // namespace

const std::vector<GradientCase>& gradient_cases() {
  static const auto cases = [] {
    Collector to;
    add_unary(to);
    add_binary(to);
    add_where_and_cast(to);
    add_matmul(to);
    add_reduce(to);
    add_layout(to);
    add_compositions(to);
    return std::move(to.cases);
  }();
  return cases;
}

}  // namespace strata::testing
