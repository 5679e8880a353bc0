#include <fmt/format.h>

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

ValueRef indices(const ValueRef& like, std::vector<std::int64_t> values, const Shape& shape) {
  return like->backend.from_data(TensorData::from<std::int64_t>(values, shape));
}

ValueRef constants(const ValueRef& like, std::vector<double> values) {
  return like->backend.from_data(
      TensorData::from<double>(values, {static_cast<std::int64_t>(values.size())}).convert(like->dtype));
}

void add_order(Collector& to) {
  using enum op::CumulativeKind;
  for (auto kind : {sum, prod, op::CumulativeKind::max, op::CumulativeKind::min}) {
    const std::string name = "cum" + std::string(op::name_of(kind));
    const auto over = [kind](int axis) {
      return [kind, axis](const Values& x) { return bridge::cumulative(kind, mul(x[0], x[0]), axis); };
    };
    to.add(name, over(1), {{2, 5}}, -1.75, 1.75);
    to.add(name + "_first", over(0), {{3, 2, 2}}, -1.75, 1.75);
    to.add(name + "_one_entry", over(1), {{2, 1}});
  }
  to.add("cumprod_of_zeros",
         [](const Values& x) {
           const auto zeros = constants(x[0], {1, 0, 1, 1, 0, 1});
           return bridge::cumulative(prod, mul(x[0], zeros), 0);
         },
         {{6}});
  to.add("sorted", [](const Values& x) { return bridge::gather(x[0], 1, bridge::argsort(x[0], 1, true)); },
         {{2, 5}});
}

void add_normalise(Collector& to) {
  for (bool log : {false, true}) {
    const auto over = [log](int axis) {
      return [log, axis](const Values& x) { return bridge::softmax(x[0], axis, log); };
    };
    const std::string name = log ? "log_softmax_family" : "softmax";
    to.add(name, over(1), {{2, 4}});
    to.add(name + "_first", over(0), {{3, 2, 2}});
  }
  for (auto kind : {op::NormKind::layer, op::NormKind::rms}) {
    const auto norm = [kind](const Values& x) {
      return bridge::norm(kind, x[0], {x.begin() + 1, x.end()}, 0.01);
    };
    const std::string name(op::name_of(kind));
    to.add(name, norm, {{3, 6}}, -1.75, 1.75);
    to.add(name + "_with_weight", norm, {{2, 2, 6}, {6}}, -1.75, 1.75);
    to.add(name + "_with_weight_and_bias", norm, {{3, 6}, {6}, {6}}, -1.75, 1.75);
  }
}

void add_index(Collector& to) {
  to.add("gather",
         [](const Values& x) {
           return bridge::gather(mul(x[0], x[0]), 1, indices(x[0], {2, 0, 0, 1, 1, 2, 1, 0}, {2, 4}));
         },
         {{2, 3}});
  to.add("select",
         [](const Values& x) {
           return bridge::select(mul(x[0], x[0]), 0, indices(x[0], {3, 1, 1}, {3}));
         },
         {{4, 2}});
  for (auto mode : {op::ScatterMode::assign, op::ScatterMode::add, op::ScatterMode::mul, op::ScatterMode::max,
                    op::ScatterMode::min}) {
    const std::string name = "scatter_" + std::string(op::name_of(mode));
    to.add(
        name,
        [mode](const Values& x) {
          return bridge::scatter(mul(x[0], x[0]), 1, indices(x[0], {2, 0, 2, 0, 0, 1}, {2, 3}), x[1], mode);
        },
        {{2, 4}, {2, 3}});
    to.add(name + "_rows",
           [mode](const Values& x) {
             return bridge::select_assign(x[0], 0, indices(x[0], {2, 0, 2}, {3}), mul(x[1], x[1]), mode);
           },
           {{3, 2}, {3, 2}});
  }
  to.add("scatter_mul_of_zeros",
         [](const Values& x) {
           const auto zeros = constants(x[0], {1, 0, 1, 0, 0});
           return bridge::scatter(x[0], 0, indices(x[0], {0, 0, 1, 1, 1}, {5}), mul(x[1], zeros),
                                  op::ScatterMode::mul);
         },
         {{3}, {5}});
  to.add("slice_assign",
         [](const Values& x) {
           return bridge::slice_assign(mul(x[0], x[0]), {0, 1}, {3, 4}, {2, 1}, mul(x[1], x[1]));
         },
         {{3, 4}, {2, 3}});
  to.add("pad", [](const Values& x) { return bridge::pad(mul(x[0], x[0]), {1, 0}, {0, 2}, 3); }, {{2, 3}});
  to.add("unfold", [](const Values& x) { return bridge::unfold(mul(x[0], x[0]), 1, 3, 2); }, {{2, 8, 2}});
}

void add_window(Collector& to) {
  const auto conv = [](op::Conv op) {
    return [op](const Values& x) { return bridge::conv(op, x[0], x[1]); };
  };
  to.add("conv_1d", conv({{1}, {0}, {1}, 1, false, {}}), {{2, 2, 5}, {3, 2, 3}});
  to.add("conv_2d_everything", conv({{2, 1}, {1, 2}, {1, 2}, 2, false, {}}), {{2, 4, 5, 4}, {2, 2, 2, 2}});
  to.add("conv_leftover", conv({{3}, {1}, {2}, 1, false, {}}), {{1, 1, 9}, {2, 1, 2}});
  to.add("conv_3d", conv({{1, 1, 2}, {1, 0, 0}, {1, 1, 1}, 1, false, {}}),
         {{1, 2, 2, 3, 4}, {1, 2, 2, 2, 2}});
  to.add("conv_transpose_1d", conv({{2}, {1}, {1}, 1, true, {1}}), {{2, 2, 3}, {2, 3, 3}});
  to.add("conv_transpose_2d_groups", conv({{1, 2}, {0, 1}, {2, 1}, 2, true, {}}),
         {{1, 4, 3, 3}, {4, 1, 2, 3}});
  to.add("conv_transpose_extra_of_dilation", conv({{1}, {0}, {3}, 1, true, {2}}), {{1, 1, 3}, {1, 1, 2}});
  const auto pool = [](op::Pool op) {
    return [op](const Values& x) { return bridge::pool(op, mul(x[0], x[0])); };
  };
  for (auto kind : {op::PoolKind::max, op::PoolKind::mean}) {
    const std::string name(op::name_of(kind));
    to.add(name + "_1d", pool({kind, {2}, {2}, {0}, {1}, false, true}), {{2, 2, 5}});
    to.add(name + "_2d_padded", pool({kind, {3, 2}, {2, 1}, {1, 1}, {1, 1}, false, true}), {{1, 2, 4, 3}});
    to.add(name + "_ceil", pool({kind, {3}, {2}, {1}, {1}, true, true}), {{1, 2, 6}});
    to.add(name + "_ceil_dilated", pool({kind, {2, 2}, {2, 3}, {1, 0}, {2, 1}, true, false}), {{1, 1, 5, 6}});
  }
}

/// A positive definite matrix with well separated eigenvalues, from any square one.
ValueRef definite(const ValueRef& x) {
  const auto n = x->shape.back();
  Shape square{n, n};
  const auto spread = bridge::reshape(bridge::iota(x->backend, n, x->dtype, 2, 3), {n, 1});
  const auto row = bridge::reshape(bridge::iota(x->backend, n, DType::i64, 0, 1), {n, 1});
  const auto same = bridge::compare(CompareKind::equal, row, bridge::iota(x->backend, n, DType::i64, 0, 1));
  const auto diagonal = bridge::where(same, spread, bridge::scalar_like(x, 0));
  return add(bridge::matmul(x, bridge::transpose(x)), diagonal);
}

void add_linalg(Collector& to) {
  using enum op::LinalgKind;
  const auto of = [](op::LinalgKind kind, std::size_t index = 0) {
    return [kind, index](const Values& x) { return bridge::linalg(kind, {definite(x[0])})[index]; };
  };
  to.add("cholesky", of(cholesky), {{3, 3}});
  to.add("inverse", of(inverse), {{2, 3, 3}});
  to.add("determinant", of(determinant), {{2, 2, 2}}, -1, 1);
  to.add("solve",
         [](const Values& x) {
           return bridge::linalg(solve, {definite(x[0]), x[1]})[0];
         },
         {{3, 3}, {3, 2}});
  to.add("eigenvalues", of(eigh, 0), {{3, 3}}, -1, 1);
  to.add("singular_values", of(svd, 1), {{3, 3}}, -1, 1);
  // Vectors have a free sign: what does not depend on it.
  to.add(
      "eigenvectors",
      [](const Values& x) {
        const auto v = bridge::linalg(eigh, {definite(x[0])})[1];
        return mul(v, v);
      },
      {{3, 3}}, -1, 1);
  for (const Shape& shape : {Shape{4, 3}, Shape{3, 4}}) {
    const std::string name = shape[0] > shape[1] ? "_tall" : "_wide";
    for (std::size_t index : {std::size_t{0}, std::size_t{2}}) {
      to.add((index == 0 ? "svd_u" : "svd_v") + name,
             [index, shape](const Values& x) {
               // Near a matrix whose singular values are 1, 4 and 7: well conditioned.
               const auto row =
                   bridge::reshape(bridge::iota(x[0]->backend, shape[0], DType::i64, 0, 1), {shape[0], 1});
               const auto column = bridge::iota(x[0]->backend, shape[1], DType::i64, 0, 1);
               const auto same = bridge::compare(CompareKind::equal, row, column);
               const auto values = bridge::reshape(bridge::iota(x[0]->backend, 3, x[0]->dtype, 1, 3),
                                                   shape[0] > shape[1] ? Shape{1, 3} : Shape{3, 1});
               const auto base = bridge::where(same, values, bridge::scalar_like(x[0], 0));
               const auto v = bridge::linalg(svd, {add(base, mul(x[0], 0.3))})[index];
               return mul(v, v);
             },
             {shape}, -1, 1);
    }
  }
  to.add(
      "qr_q", [](const Values& x) { return bridge::linalg(qr, {x[0]})[0]; }, {{4, 3}}, -1, 1);
  to.add(
      "qr_r", [](const Values& x) { return bridge::linalg(qr, {x[0]})[1]; }, {{3, 3}}, -1, 1);
}

void add_lu(Collector& to) {
  // Beside a dominant diagonal no small change of an element changes the order of rows.
  const auto dominant = [](const ValueRef& x) {
    const int rank = x->shape.rank();
    const auto m = x->shape[rank - 2], n = x->shape[rank - 1];
    const auto row = bridge::reshape(bridge::iota(x->backend, m, DType::i64, 0, 1), {m, 1});
    const auto next = bridge::iota(x->backend, n, DType::i64, 1, 1);
    const auto chosen = bridge::compare(CompareKind::equal, row, next);
    return add(x, bridge::where(chosen, bridge::scalar_like(x, 5), bridge::scalar_like(x, 0)));
  };
  for (const Shape& shape : {Shape{3, 3}, Shape{2, 4, 3}, Shape{3, 5}}) {
    to.add(
        shape[shape.rank() - 2] == shape.back() ? "lu"
        : shape.rank() == 3                     ? "lu_tall"
                                                : "lu_wide",
        [dominant](const Values& x) { return bridge::linalg(op::LinalgKind::lu, {dominant(x[0])})[0]; },
        {shape}, -1, 1);
  }
  to.add("slogdet",
         [](const Values& x) { return bridge::linalg(op::LinalgKind::slogdet, {definite(x[0])})[1]; },
         {{2, 3, 3}});
}

void add_fft(Collector& to) {
  const auto of = [](op::FftKind kind, int axis, std::int64_t size) {
    return [=](const Values& x) { return bridge::fft(kind, mul(x[0], x[0]), axis, size); };
  };
  for (std::int64_t n : {1, 2, 5, 6, 37}) {
    const auto name = "_of_" + std::to_string(n);
    to.add("fft" + name, of(op::FftKind::fft, 0, n), {{n, 2}}, -1, 1);
    to.add("ifft" + name, of(op::FftKind::ifft, 0, n), {{n, 2}}, -1, 1);
    to.add("rfft" + name, of(op::FftKind::rfft, 0, n), {{n}}, -1, 1);
    to.add("irfft" + name, of(op::FftKind::irfft, 0, n), {{n / 2 + 1, 2}}, -1, 1);
  }
  to.add("fft_along_axis_1", of(op::FftKind::fft, 1, 3), {{2, 3, 2, 2}}, -1, 1);
  to.add("rfft_along_axis_0", of(op::FftKind::rfft, 0, 4), {{4, 3}}, -1, 1);
  to.add("irfft_along_axis_0", of(op::FftKind::irfft, 0, 4), {{3, 2, 2}}, -1, 1);
}

ValueRef flags(const ValueRef& like, const std::vector<double>& values, const Shape& shape) {
  return like->backend.from_data(TensorData::from<double>(values, shape).convert(DType::boolean));
}

void add_attention(Collector& to) {
  const Shape q{2, 4, 3, 2}, k{2, 2, 5, 2}, v{2, 2, 5, 3};  // two heads a group
  const auto of = [](op::Attention op, std::size_t index = 0) {
    return [op, index](const Values& x) {
      return bridge::attention(op, x[0], x[1], x[2], x.size() > 3 ? x[3] : ValueRef())[index];
    };
  };
  to.add("attention", of({false, 0.7}), {q, k, v});
  to.add("attention_causal", of({true, 0.7}), {q, k, v});
  to.add("attention_causal_with_queries_that_look_nowhere", of({true, -1.5}),
         {{1, 1, 4, 2}, {1, 1, 2, 2}, {1, 1, 2, 1}});
  to.add("attention_with_bias", of({false, 1}), {q, k, v, {2, 4, 3, 5}});
  to.add("attention_with_broadcast_bias", of({true, 1}), {q, k, v, {4, 1, 5}});
  to.add("attention_log_sum", of({true, 0.7}, 1), {q, k, v, {3, 5}});
  to.add("attention_both_results",
         [](const Values& x) {
           const auto both = bridge::attention({false, 0.7}, x[0], x[1], x[2], {});
           const Shape column{2, 4, 3, 1};
           return mul(both[0], bridge::reshape(bridge::cast(both[1], both[0]->dtype), column));
         },
         {q, k, v});
  const auto hidden = [](const ValueRef& like) {
    return flags(like, {1, 0, 1, 1, 0, 0, 0, 0, 0, 0, 1, 1, 1, 0, 1}, {3, 5});
  };
  to.add("attention_with_mask",
         [hidden](const Values& x) {
           return bridge::attention({false, 0.7}, x[0], x[1], x[2], hidden(x[0]))[0];
         },
         {q, k, v});
  const auto gradient = [hidden](bool masked) {
    return [hidden, masked](const Values& x) {
      auto inputs = x;
      for (auto i : {x.size() - 3, x.size() - 1}) inputs[i] = bridge::cast(x[i], op::wide(x[i]->dtype));
      if (masked) inputs.insert(inputs.begin() + 3, hidden(x[0]));
      Values flat;
      for (const auto& result : backend::execute(op::AttentionGradient{!masked, 0.7}, inputs))
        flat.push_back(bridge::reshape(result, {-1}));
      return bridge::cat(flat, 0);
    };
  };
  const Shape rows{2, 4, 3}, g{2, 4, 3, 3};
  to.add("attention_gradient", gradient(false), {q, k, v, rows, g, rows}, 0.25, 1.25);
  to.add("attention_gradient_with_mask", gradient(true), {q, k, v, rows, g, rows}, 0.25, 1.25);
  to.add("attention_gradient_with_bias", gradient(false), {q, k, v, {3, 5}, rows, g, rows}, 0.25, 1.25);
}

void add_loss(Collector& to) {
  const auto target = [](const ValueRef& like) { return indices(like, {2, 0, -1, 3, 3, 1}, {2, 3}); };
  const auto weights = [](const ValueRef& like) { return constants(like, {0.5, 2, 0, 1.5}); };
  for (double smoothing : {0.0, 0.3}) {
    for (bool weighted : {false, true}) {
      const auto w = [=](const ValueRef& like) { return weighted ? weights(like) : ValueRef(); };
      const auto name =
          fmt::format("cross_entropy{}{}", smoothing > 0 ? "_smoothed" : "", weighted ? "_weighted" : "");
      to.add(
          name,
          [=](const Values& x) {
            return bridge::cross_entropy({smoothing, -1}, x[0], target(x[0]), w(x[0]))[0];
          },
          {{2, 3, 4}}, -1.5, 1.5);
      to.add(
          name + "_gradient",
          [=](const Values& x) {
            Values inputs{x[0], target(x[0]), bridge::cast(x[1], op::wide(x[1]->dtype)), x[2]};
            if (weighted) inputs.push_back(weights(x[0]));
            return backend::execute(op::CrossEntropyGradient{smoothing, -1}, inputs)[0];
          },
          {{2, 3, 4}, {2, 3}, {2, 3}}, 0.25, 1.5);
    }
    const auto name = fmt::format("cross_entropy{}_by_weights", smoothing > 0 ? "_smoothed" : "");
    to.add(
        name,
        [=](const Values& x) {
          return bridge::cross_entropy({smoothing, -1}, x[0], target(x[0]), x[1])[0];
        },
        {{2, 3, 4}, {4}}, -1.5, 1.5);
    to.add(
        name + "_of_one_row",
        [=](const Values& x) {
          return bridge::cross_entropy({smoothing, -1}, x[0], indices(x[0], {1}, {}), x[1])[0];
        },
        {{3}, {3}}, -1.5, 1.5);
    to.add(
        name + "_gradient",
        [=](const Values& x) {
          const Values inputs{x[0], target(x[0]), bridge::cast(x[1], op::wide(x[1]->dtype)), x[2], x[3]};
          return backend::execute(op::CrossEntropyGradient{smoothing, -1}, inputs)[0];
        },
        {{2, 3, 4}, {2, 3}, {2, 3}, {4}}, 0.25, 1.5);
  }
  to.add(
      "cross_entropy_log_sum_by_weights",
      [=](const Values& x) {
        return bridge::cross_entropy({}, x[0], indices(x[0], {1, 1}, {2}), x[1])[1];
      },
      {{2, 4}, {4}}, -1.5, 1.5);
  to.add(
      "cross_entropy_log_sum",
      [=](const Values& x) {
        return bridge::cross_entropy({}, x[0], indices(x[0], {1, 1}, {2}), {})[1];
      },
      {{2, 4}}, -1.5, 1.5);
  const auto ctc = [](std::vector<std::int64_t> steps, std::vector<std::int64_t> labels) {
    return [=](const Values& x) {
      const auto targets = indices(x[0], {1, 1, 2, 3, 2, 0, -7, -7, -7}, {3, 3});
      return bridge::ctc({0, true}, x[0], targets, indices(x[0], steps, {3}), indices(x[0], labels, {3}));
    };
  };
  to.add(
      "ctc_gradient",
      [](const Values& x) {
        const auto targets = indices(x[0], {1, 1, 2, 3}, {2, 2});
        const Values inputs{x[0], targets, indices(x[0], {4, 3}, {2}), indices(x[0], {2, 1}, {2})};
        return backend::execute(op::CtcGradient{}, inputs)[0];
      },
      {{4, 2, 4}}, -3, -0.5);
  to.add("ctc", ctc({5, 5, 5}, {3, 2, 0}), {{5, 3, 4}}, -3, -0.5);
  to.add("ctc_of_shorter_inputs", ctc({4, 3, 0}, {3, 2, 0}), {{5, 3, 4}}, -3, -0.5);
  to.add("ctc_without_a_path", ctc({3, 1, 5}, {3, 1, 0}), {{5, 3, 4}}, -3, -0.5);
  to.add(
      "ctc_of_log_softmax",
      [=](const Values& x) {
        return ctc({5, 4, 5}, {3, 2, 0})({bridge::softmax(x[0], 2, true)});
      },
      {{5, 3, 4}}, -1.5, 1.5);
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
    add_order(to);
    add_normalise(to);
    add_index(to);
    add_window(to);
    add_linalg(to);
    add_lu(to);
    add_fft(to);
    add_attention(to);
    add_loss(to);
    add_compositions(to);
    return std::move(to.cases);
  }();
  return cases;
}

}  // namespace strata::testing
