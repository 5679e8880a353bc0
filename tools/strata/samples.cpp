#include "samples.hpp"

#include <fmt/format.h>

namespace strata::tool {
namespace {

using op::Operation;

std::function<Types(DType)> operands(std::vector<Shape> shapes) {
  return [shapes = std::move(shapes)](DType t) {
    Types types;
    for (const auto& shape : shapes) types.push_back({t, shape});
    return types;
  };
}

/// A caller's kernel.
template <class T>
Operation copying_kernel() {
  const auto copy = lang::kernel("copy", [](lang::In<T> x, lang::Out<T> y) {
    const auto i = lang::absolute_pos();
    lang::if_(i < y.len(), [&] { y[i] = x[i]; });
  });
  using Call = op::CustomKernel::Call;
  return op::CustomKernel{std::make_shared<const Call>(Call{copy, {}, {{2, 3}}, {}})};
}

}  // namespace

std::vector<Sample> samples() {
  std::vector<Sample> list;
  const auto add = [&](const Operation& operation, std::function<Types(DType)> inputs) {
    list.push_back({[operation](DType) { return operation; }, std::move(inputs)});
  };
  const auto indexed = [](bool with_source) {
    return [with_source](DType t) {
      Types types{{t, {3, 4}}, {DType::i64, {3, 2}}};
      if (with_source) types.push_back({t, {3, 2}});
      return types;
    };
  };
  const Dims one{1, 1}, two{2, 2}, none{0, 0};
  list.push_back({[](DType t) { return op::Fill{{2, 3}, t, 1}; }, operands({})});
  list.push_back({[](DType t) { return op::Iota{6, t, 0, 1}; }, operands({})});
  for (auto d : {op::Distribution::uniform, op::Distribution::normal, op::Distribution::bernoulli}) {
    list.push_back({[d](DType t) { return op::Random{{2, 3}, t, d, 0, 1, 1}; }, operands({})});
  }
  for (int k = 0; k < op::unary_count; ++k) add(op::Unary{static_cast<op::UnaryKind>(k)}, operands({{2, 3}}));
  for (int k = 0; k < op::binary_count; ++k)
    add(op::Binary{static_cast<op::BinaryKind>(k)}, operands({{2, 3}, {3}}));
  for (int k = 0; k < op::compare_count; ++k)
    add(op::Compare{static_cast<op::CompareKind>(k)}, operands({{2, 3}, {3}}));
  add(op::Where{}, [](DType t) { return Types{{DType::boolean, {2, 3}}, {t, {2, 3}}, {t, {3}}}; });
  for (auto to : all_dtypes) add(op::Cast{to}, operands({{2, 3}}));
  add(op::Matmul{}, operands({{2, 3}, {3, 4}}));
  for (int k = 0; k < op::reduce_count; ++k)
    add(op::Reduce{static_cast<op::ReduceKind>(k), {1}, false}, operands({{2, 3}}));
  for (auto k : {op::ExtremumKind::max, op::ExtremumKind::min})
    add(op::ArgReduce{k, 1, false}, operands({{2, 3}}));
  add(op::ArgSort{1, false, -1}, operands({{2, 3}}));
  for (int k = 0; k < 4; ++k) add(op::Cumulative{static_cast<op::CumulativeKind>(k), 1}, operands({{2, 3}}));
  add(op::Softmax{1, false}, operands({{2, 3}}));
  add(op::Softmax{1, true}, operands({{2, 3}}));
  add(op::Norm{op::NormKind::layer, 1e-5}, operands({{2, 3}, {3}, {3}}));
  add(op::Norm{op::NormKind::rms, 1e-5}, operands({{2, 3}, {3}}));
  add(op::Gather{1}, indexed(false));
  add(op::Scatter{1, op::ScatterMode::assign}, indexed(true));
  add(op::Scatter{1, op::ScatterMode::add}, indexed(true));
  add(op::SliceAssign{none, {2, 2}, one}, operands({{3, 4}, {2, 2}}));
  add(op::Conv{one, one, one, 1, false, {}}, operands({{1, 2, 4, 4}, {3, 2, 3, 3}}));
  add(op::Conv{one, one, one, 1, true, {}}, operands({{1, 2, 4, 4}, {2, 3, 3, 3}}));
  add(op::Pool{op::PoolKind::max, two, two, none, one, false, true}, operands({{1, 2, 4, 4}}));
  add(op::Pool{op::PoolKind::mean, two, two, none, one, false, true}, operands({{1, 2, 4, 4}}));
  add(op::ArgPool{two, two, none, one, false}, operands({{1, 2, 4, 4}}));
  for (int k = 0; k < op::linalg_count; ++k) {
    const auto kind = static_cast<op::LinalgKind>(k);
    add(op::Linalg{kind}, kind == op::LinalgKind::solve ? operands({{3, 3}, {3, 2}}) : operands({{3, 3}}));
  }
  add(op::Fft{op::FftKind::fft, 0, 3}, operands({{3, 2}}));
  add(op::Fft{op::FftKind::ifft, 0, 3}, operands({{3, 2}}));
  add(op::Fft{op::FftKind::rfft, 0, 3}, operands({{3}}));
  add(op::Fft{op::FftKind::irfft, 0, 3}, operands({{2, 2}}));
  const Shape heads{1, 1, 2, 3}, rows{1, 1, 2};
  add(op::Attention{}, operands({heads, heads, heads}));
  add(op::AttentionGradient{}, [=](DType t) {
    const op::TensorType whole{t, heads}, sums{op::wide(t), rows};
    return Types{whole, whole, whole, sums, whole, sums};
  });
  add(op::CrossEntropy{}, [](DType t) { return Types{{t, {2, 3}}, {DType::i64, {2}}}; });
  add(op::CrossEntropyGradient{}, [](DType t) {
    return Types{{t, {2, 3}}, {DType::i64, {2}}, {op::wide(t), {2}}, {t, {2}}};
  });
  const auto sequences = [](DType t) {
    return Types{{t, {4, 2, 3}}, {DType::i64, {2, 1}}, {DType::i64, {2}}, {DType::i64, {2}}};
  };
  add(op::Ctc{}, sequences);
  add(op::CtcGradient{}, sequences);
  list.push_back({[](DType t) { return visit_dtype(t, []<class T>() { return copying_kernel<T>(); }); },
                  operands({{2, 3}})});
  add(op::Reshape{{3, 2}}, operands({{2, 3}}));
  add(op::Permute{{1, 0}}, operands({{2, 3}}));
  add(op::Expand{{4, 2, 3}}, operands({{2, 3}}));
  add(op::Slice{none, {1, 2}, one}, operands({{2, 3}}));
  add(op::Flip{{1}}, operands({{2, 3}}));
  add(op::Unfold{1, 2, 1}, operands({{2, 3}}));
  add(op::Cat{0}, operands({{2, 3}, {2, 3}}));
  return list;
}

std::string row_name(const Operation& operation) {
  if (const auto* cast = std::get_if<op::Cast>(&operation))
    return fmt::format("cast to {}", strata::name_of(cast->dtype));
  if (const auto* random = std::get_if<op::Random>(&operation))
    return fmt::format("random {}", op::name_of(random->distribution));
  if (const auto* scatter = std::get_if<op::Scatter>(&operation))
    return fmt::format("scatter {}", op::name_of(scatter->mode));
  if (std::holds_alternative<op::CustomKernel>(operation)) return "own kernel";
  return std::string(op::name_of(operation));
}

}  // namespace strata::tool
