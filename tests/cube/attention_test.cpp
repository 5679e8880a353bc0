// Attention in its form for a GPU, interpreted, against flex. Tiles are 32 queries by 32 keys there (16 in
// f64), so these sizes have whole tiles and parts of them.
#include "cube/attention/attention.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "cube/against_flex.hpp"

namespace strata::cube::test {
namespace {

constexpr double inf = std::numeric_limits<double>::infinity();

struct Sizes {
  std::int64_t batch, heads, groups, m, n, d, e;
};
const Sizes sizes[] = {{1, 2, 1, 37, 45, 20, 12},
                       {2, 2, 2, 5, 70, 40, 33},
                       {1, 4, 2, 33, 3, 3, 70},
                       {1, 1, 1, 1, 33, 64, 8},
                       {1, 1, 1, 63, 32, 8, 8} /* causal: the first keys begin at query 31 */};

/// Entries for [batch, heads, m, n]: bool, or numbers some of which are -infinity. The first query sees
/// nothing.
TensorData mask_data(DType t, const Shape& shape) {
  auto values = random_data(DType::f64, shape, -2, 2, 31).to_doubles();
  const auto n = static_cast<std::size_t>(shape[shape.rank() - 1]);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const bool hidden = values[i] < -0.5 || (i < n && shape[shape.rank() - 2] > 1);
    values[i] = t == DType::boolean ? !hidden : hidden ? -inf : values[i];
  }
  return TensorData::from<double>(values, shape).convert(t);
}

struct Problem {
  Sizes size;
  DType dtype = DType::f32;
  Layout layout = Layout::dense;
  bool causal = false;
  std::optional<TensorData> mask{};
  double scale = 0.3;

  std::vector<LaidOut> operands() const {
    const auto& s = size;
    std::vector<LaidOut> result{{random_data(dtype, {s.batch, s.heads, s.m, s.d}, -1, 1, 1), layout},
                                {random_data(dtype, {s.batch, s.groups, s.n, s.d}, -1, 1, 2), layout},
                                {random_data(dtype, {s.batch, s.groups, s.n, s.e}, -1, 1, 3), layout}};
    if (mask) result.push_back({*mask, layout});
    return result;
  }
  /// What `terms` roundings, multiplied by how far scores move weights, may do to numbers up to `largest`.
  double bound(double terms, double largest, DType t) const {
    const double unit = t == DType::f64 ? 0x1p-53 : 0x1p-24;
    const double spread = 1 + scale * static_cast<double>(size.d) + std::log(static_cast<double>(size.n)) + 2;
    return unit * terms * spread * (1 + largest);
  }
  auto close(double terms) const {
    return [=, this](std::size_t i, const TensorData& gpu, const TensorData& flex) {
      const double epsilon = gpu.dtype() == DType::f16 ? 0x1p-10 : gpu.dtype() == DType::bf16 ? 0x1p-7 : 0;
      const auto a = gpu.to_doubles(), b = flex.to_doubles();
      double largest = 0;
      for (const double x : b) largest = std::max(largest, std::isfinite(x) ? std::abs(x) : 0);
      for (std::size_t at = 0; at < b.size(); ++at) {
        if (a[at] == b[at]) continue;
        ASSERT_LE(std::abs(a[at] - b[at]), bound(terms, largest, dtype) + epsilon * std::abs(b[at]))
            << "result " << i << " at " << at << ": " << a[at] << " against " << b[at];
      }
    };
  }

  void expect_forward() const {
    expect_as_on_flex(op::Attention{causal, scale}, operands(),
                      close(static_cast<double>(size.d + size.n) + 16));
  }
  void expect_gradient() const {
    auto inputs = operands();
    auto forward = results_on(flex::instance(), op::Attention{causal, scale}, inputs);
    const Shape rows{size.batch, size.heads, size.m};
    inputs.push_back({forward[1], layout});
    inputs.push_back({random_data(dtype, {size.batch, size.heads, size.m, size.e}, -1, 1, 4), layout});
    inputs.push_back({random_data(forward[1].dtype(), rows, -1, 1, 5), layout});
    const auto heads = size.heads / size.groups;
    expect_as_on_flex(op::AttentionGradient{causal, scale}, inputs,
                      close(static_cast<double>(size.d + size.e + size.n + heads * size.m) + 16));
  }
  void expect_both() const {
    SCOPED_TRACE(std::string(name_of(dtype)) + " " + std::to_string(size.n) + " keys" +
                 (causal ? " causal" : "") + (mask ? " mask " + mask->shape().to_string() : ""));
    expect_forward();
    expect_gradient();
  }
};

TEST(GpuAttention, TilesAndPartsOfTiles) {
  for (const auto& s : sizes) {
    for (const bool causal : {false, true}) Problem{.size = s, .causal = causal}.expect_both();
  }
}

TEST(GpuAttention, EveryMask) {
  const auto& s = sizes[0];
  for (const DType t : {DType::boolean, DType::f32}) {
    for (const Shape& shape : {Shape{s.batch, s.heads, s.m, s.n}, Shape{s.m, s.n}, Shape{s.heads, 1, s.n}}) {
      for (const bool causal : {false, true})
        Problem{.size = s, .causal = causal, .mask = mask_data(t, shape)}.expect_both();
    }
  }
}

TEST(GpuAttention, EveryFloat) {
  for (const DType t : {DType::f64, DType::f16, DType::bf16}) {
    const auto& s = sizes[0];
    Problem{.size = s, .dtype = t, .causal = true, .mask = mask_data(t, {s.m, s.n})}.expect_both();
    Problem{.size = sizes[1], .dtype = t, .mask = mask_data(DType::boolean, {1, sizes[1].n})}.expect_both();
  }
}

TEST(GpuAttention, EveryLayout) {
  const auto& s = sizes[2];
  for (const auto layout : all_layouts)
    Problem{.size = s, .layout = layout, .mask = mask_data(DType::boolean, {s.m, s.n})}.expect_both();
}

TEST(GpuAttention, RowsMayEndWithinAVector) {
  const Problem wide{.size = {1, 2, 2, 5, 7, 8, 8}};
  const auto narrow = [&](backend::Backend& home) {
    std::vector<backend::ValueRef> inputs;
    for (const auto& o : wide.operands()) {  // rows of 6, 8 apart
      const auto x = laid_out(home, o.data, Layout::dense);
      auto stop = x->shape;
      stop[3] = 6;
      inputs.push_back(backend::execute(home, op::Slice{{0, 0, 0, 0}, stop, {1, 1, 1, 1}}, {&x, 1})[0]);
    }
    return home.into_data(backend::execute(home, op::Attention{false, 0.3}, inputs)[0]).get();
  };
  wide.close(40)(0, narrow(gpu_cube()), narrow(flex::instance()));
}

TEST(GpuAttention, FewQueriesSplitTheKeys) {
  const Sizes few{1, 2, 1, 5, 300, 12, 9}, many{1, 2, 1, 40, 300, 12, 9};
  for (const auto& s : {few, many}) {
    auto seen = mask_data(DType::boolean, {s.m, s.n}).to_doubles();
    std::fill(seen.begin() + 300, seen.begin() + 460, 0.0);  // the second query: nothing in the first part
    const auto mask = TensorData::from<double>(seen, {s.m, s.n}).convert(DType::boolean);
    for (const DType t : {DType::f32, DType::f64, DType::bf16}) {
      Problem{.size = s, .dtype = t, .causal = true}.expect_forward();
      Problem{.size = s, .dtype = t, .mask = mask}.expect_forward();
    }
  }
  const op::TensorType q{DType::f32, {1, 2, 5, 16}}, k{DType::f32, {1, 1, 300, 16}};
  const auto launches = gpu_cube().plan(op::Attention{}, std::vector{q, k, k});
  ASSERT_EQ(launches.size(), 2u);
  EXPECT_EQ(launches[0].kernel_name, "attention_partial_f32");
  EXPECT_EQ(launches[0].cubes[0], 4u);
  EXPECT_EQ(launches[1].kernel_name, "attention_combine_f32");
}

TEST(GpuAttention, LargeScoresDoNotOverflow) { Problem{.size = sizes[3], .scale = 500}.expect_forward(); }

TEST(GpuAttention, WidestRows) {
  const Sizes widest{1, 1, 1, 3, 5, 256, 256}, wider{1, 1, 1, 3, 5, 256, 257};
  Problem{.size = widest}.expect_both();
  const auto calls = gpu_cube().client().counters().host_calls;
  const auto operands = Problem{.size = wider}.operands();
  const auto results = results_on(gpu_cube(), op::Attention{false, 0.3}, operands);
  EXPECT_EQ(gpu_cube().client().counters().host_calls, calls + 1);
  EXPECT_TRUE(same(results[0], results_on(flex::instance(), op::Attention{false, 0.3}, operands)[0]));
}

TEST(GpuAttention, NothingToLookAtGivesZeros) {
  const Problem none{.size = {1, 2, 1, 3, 0, 4, 5}};
  const auto results = results_on(gpu_cube(), op::Attention{false, 1}, none.operands());
  EXPECT_EQ(results[0].to_doubles(), std::vector<double>(2 * 3 * 5, 0.0));
  EXPECT_EQ(results[1].to_doubles(), std::vector<double>(2 * 3, -inf));
}

TEST(GpuAttention, PlansOneKernelForwardAndTwoBackward) {
  const op::TensorType x{DType::f16, {4, 8, 512, 64}}, rows{DType::f32, {4, 8, 512}};
  const auto forward = gpu_cube().plan(op::Attention{true, 0.125}, std::vector{x, x, x});
  ASSERT_EQ(forward.size(), 1u);
  EXPECT_EQ(forward[0].kernel_name, "attention_causal_f16");
  EXPECT_EQ(forward[0].cubes[0], 4u * 8 * 512 / 32);
  const auto backward =
      gpu_cube().plan(op::AttentionGradient{false, 0.125}, std::vector{x, x, x, rows, x, rows});
  ASSERT_EQ(backward.size(), 2u);
  EXPECT_EQ(backward[0].kernel_name, "attention_query_gradient_f16");
  EXPECT_EQ(backward[1].kernel_name, "attention_key_gradient_f16");
}

}  // namespace
}  // namespace strata::cube::test
