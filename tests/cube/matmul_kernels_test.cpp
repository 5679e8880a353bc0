// Every kernel of matmul, run by the interpreter of the kernel IR, against plain loops in double.
#include <algorithm>

#include "../kernel/interpreter.hpp"
#include "cube/matmul/rule.hpp"
#include "kernel/print.hpp"
#include "matmul_support.hpp"

namespace strata::cube::matmul::test {

std::vector<Tensor> interpreted(Product& p, const Schedule& s) {
  const auto problem = p.problem();
  const auto k = build(problem, s);
  const auto shape = launch_shape(problem, s);
  auto outputs = make_outputs(p);
  kernel::test::Launch launch;
  const auto bind = [&](void* data, std::int64_t length) {
    launch.buffers.push_back(data);
    launch.lengths.push_back(length);
  };
  const auto bind_input = [&](int v) {
    auto& t = p.inputs[static_cast<std::size_t>(v)];
    bind(t.storage.data(), t.elements());
  };
  bind_input(problem.a_value);
  bind_input(problem.b_value);
  for (const auto& e : problem.extras) bind_input(e.value);
  for (auto& t : outputs) bind(t.storage.data(), t.elements());
  std::vector<std::byte> work(
      static_cast<std::size_t>(shape.workspace) * kernel::size_of(accumulator(problem.dtype)),
      std::byte{0xff});
  if (shape.workspace > 0) bind(work.data(), shape.workspace);
  launch.scalars = shape.scalars;
  launch.cube_count = {shape.cubes_x, shape.cubes_y, 1};
  launch.plane_size = 32;
  kernel::test::interpret(k, launch);
  if (shape.sum_cubes > 0) {
    launch.cube_count = {shape.sum_cubes, 1, 1};
    kernel::test::interpret(build_part_sum(problem, s.splits), launch);
  }
  return outputs;
}

namespace {

/// The narrowest machine has the same code with fewer lanes; two threads make cubes share the work.
const Machine avx2{.vector_bytes = 32, .threads = 2};
const Machine sse{.vector_bytes = 16, .threads = 3};
const Machine avx512{.vector_bytes = 64, .threads = 2};

/// A schedule with blocks small enough that small products have several of each.
Schedule blocked(Family family, int lanes, int rows, int vectors) {
  Schedule s;
  s.family = family;
  s.lanes = lanes;
  s.rows = rows;
  s.vectors = vectors;
  s.unroll = 2;
  s.kc = 8;
  s.mc = 2 * rows;
  s.nc = 2 * s.columns();
  s.pack_b = family != Family::tiled;
  s.splits = 2;
  return s;
}

std::string describe(const Product& p, const Schedule& s) {
  return to_string(p.problem()) + " by " + s.name();
}

void expect_product(Product& p, const Schedule& s) {
  SCOPED_TRACE(describe(p, s));
  const auto why = unsuitable(p.problem(), s);
  ASSERT_EQ(why, "");
  const auto out = interpreted(p, s);
  auto rounded = dense(p.inputs[0].dtype, {1});
  for (std::int64_t i = 0; i < p.space.product(); ++i) {
    double expected = p.product(i);
    if (p.inputs[0].dtype == DType::u8)
      expected = static_cast<double>(static_cast<std::uint8_t>(static_cast<std::int64_t>(expected)));
    rounded.set(0, expected);
    if (is_float(rounded.dtype)) expected = rounded.element(0);
    ASSERT_EQ(out[0].element(i), expected) << "at " << i;
  }
}

Product plain(Tensor a, Tensor b, Precision precision = Precision::exact) {
  Product p(std::move(a), std::move(b));
  p.block.outputs = {p.multiply(precision)};
  return p;
}

using Layout = Tensor (*)(DType, Shape, int);
Tensor in_order(DType t, Shape s, int seed) { return dense(t, s, seed); }
const Layout layouts[] = {in_order, transposed, scattered};

const Machine gpu{.vector_bytes = 16, .threads = 4, .vectors = false};

/// For devices of many units: every form of gemv, and the smallest tiles; whole and with k in `splits` parts.
std::vector<Schedule> schedules_of_units(const Problem& p, int splits) {
  auto list = candidates(p, gpu);
  const auto smallest = list.back();
  std::erase_if(list, [](const Schedule& s) { return s.family != Family::gemv; });
  list.push_back(smallest);
  for (std::size_t i = 0, n = list.size(); i < n; ++i) {
    list[i].splits = 1;
    list.push_back(list[i]);
    list.back().splits = splits;
  }
  std::erase_if(list, [](const Schedule& s) { return !s.has_tiles(); });
  return list;
}

std::vector<Schedule> schedules_for(const Problem& p) {
  const int lanes = avx2.lanes(p);
  std::vector<Schedule> list{naive_schedule(avx2), lean_schedule(p, avx2), lean_schedule(p, sse)};
  for (const bool split_rows : {false, true}) {
    for (const bool pack_a : {false, true}) {
      for (const auto family : {Family::packed, Family::lean}) {
        auto s = blocked(family, lanes, 3, 2);
        s.split_rows = split_rows;
        s.pack_a = pack_a;
        s.prefetch = pack_a ? 4 : 0;
        list.push_back(s);
      }
    }
  }
  list.push_back(blocked(Family::tiled, lanes, 3, 2));
  auto dot = blocked(Family::dot, lanes, 2, 3);
  dot.kc = 0;
  dot.pack_b = false;
  list.push_back(dot);
  for (const auto& s : candidates(p, avx512)) list.push_back(s);
  std::erase_if(list, [&](const Schedule& s) { return !unsuitable(p, s).empty(); });
  return list;
}

/// For processors and for devices of many units.
std::vector<Schedule> all_schedules(const Problem& p) {
  auto list = schedules_for(p);
  for (const auto& s : schedules_of_units(p, 2)) list.push_back(s);
  return list;
}

TEST(MatmulKernels, EveryLayoutAndOddSize) {
  const std::vector<std::array<std::int64_t, 3>> sizes{{1, 1, 1},   {2, 2, 2},   {1, 17, 9}, {9, 33, 1},
                                                       {7, 19, 37}, {16, 8, 32}, {13, 1, 5}, {2, 30, 70}};
  for (const auto& [m, k, n] : sizes) {
    for (const auto left : layouts) {
      for (const auto right : layouts) {
        auto p = plain(left(DType::f32, {m, k}, 1), right(DType::f32, {k, n}, 2));
        for (const auto& s : schedules_for(p.problem())) expect_product(p, s);
        if (::testing::Test::HasFatalFailure()) return;
      }
    }
  }
}

TEST(MatmulKernels, EveryDtype) {
  for (const auto t : {DType::f64, DType::f32, DType::f16, DType::bf16, DType::i64, DType::i32, DType::u8}) {
    for (const auto left : layouts) {
      for (const auto right : layouts) {
        auto p = plain(left(t, {7, 21}, 1), right(t, {21, 35}, 2));
        for (const auto& s : schedules_for(p.problem())) expect_product(p, s);
        if (::testing::Test::HasFatalFailure()) return;
      }
    }
  }
}

TEST(MatmulKernels, BatchesBroadcast) {
  const std::vector<std::pair<Shape, Shape>> shapes{
      {{3, 5, 6}, {3, 6, 7}},    {{3, 5, 6}, {6, 7}},          {{5, 6}, {4, 6, 7}},
      {{2, 1, 5, 6}, {3, 6, 7}}, {{2, 3, 5, 6}, {2, 1, 6, 7}}, {{2, 3, 1, 6}, {6, 7}},
      {{4, 1, 6}, {4, 6, 1}},    {{1, 5, 6}, {2, 3, 6, 9}},    {{3, 5, 6}, {6, 1}}};
  for (const auto& [a, b] : shapes) {
    for (const auto left : layouts) {
      for (const auto right : layouts) {
        auto p = plain(left(DType::f32, a, 1), right(DType::f32, b, 2));
        for (const auto& s : schedules_for(p.problem())) expect_product(p, s);
        if (::testing::Test::HasFatalFailure()) return;
      }
    }
  }
}

TEST(MatmulKernels, NoDepthGivesZeros) {
  auto p = plain(dense(DType::f32, {3, 0}), dense(DType::f32, {0, 20}));
  expect_product(p, naive_schedule(avx2));
  expect_product(p, favourite(p.problem(), avx512));
  EXPECT_NE(unsuitable(p.problem(), lean_schedule(p.problem(), avx512)), "");
}

/// relu(a b + bias) with a residual, by every schedule, also across blocks of k.
TEST(MatmulKernels, EpilogueRunsOnTheFinishedSums) {
  for (const auto& [m, k, n] :
       std::vector<std::array<std::int64_t, 3>>{{7, 21, 35}, {1, 9, 40}, {12, 16, 16}, {9, 20, 1}}) {
    for (const bool column_bias : {false, true}) {
      Product p(dense(DType::f32, {m, k}, 1), dense(DType::f32, {k, n}, 2));
      const int bias = p.add_input(column_bias ? dense(DType::f32, {m, 1}, 3) : dense(DType::f32, {n}, 3));
      const int residual = p.add_input(transposed(DType::f32, {m, n}, 4));
      const int scalar = p.add_input(dense(DType::f32, {}, 5));
      const int c = p.multiply();
      const int biased = p.node(op::Binary{op::BinaryKind::add}, {c, bias}, DType::f32);
      const int zero = p.node(op::Fill{{}, DType::f32, 0.0}, {}, DType::f32, {});
      const int relu = p.node(op::Binary{op::BinaryKind::max}, {biased, zero}, DType::f32);
      const int sum = p.node(op::Binary{op::BinaryKind::add}, {relu, residual}, DType::f32);
      const int scaled = p.node(op::Binary{op::BinaryKind::mul}, {sum, scalar}, DType::f32);
      const int flag = p.node(op::Compare{op::CompareKind::greater}, {scaled, zero}, DType::boolean);
      p.block.outputs = {scaled, flag, c};
      for (const auto& s : all_schedules(p.problem())) {
        SCOPED_TRACE(describe(p, s));
        const auto out = interpreted(p, s);
        for (std::int64_t i = 0; i < p.space.product(); ++i) {
          const double product = p.product(i);
          const double expected =
              (std::max(product + p.inputs[2].at(i, p.space), 0.0) + p.inputs[3].at(i, p.space)) *
              p.inputs[4].at(i, p.space);
          ASSERT_EQ(out[0].element(i), expected) << "at " << i;
          ASSERT_EQ(out[1].element(i), expected > 0 ? 1 : 0) << "at " << i;
          ASSERT_EQ(out[2].element(i), product) << "at " << i;
        }
      }
    }
  }
}

TEST(MatmulKernels, EpilogueSeesItsOwnPositions) {
  Product p(dense(DType::f32, {6, 9}, 1), dense(DType::f32, {9, 21}, 2));
  const int c = p.multiply();
  const int columns =
      p.node(op::Iota{21, DType::f32, op::Number(3.0), op::Number(2.0)}, {}, DType::f32, {21});
  p.block.outputs = {p.node(op::Binary{op::BinaryKind::add}, {c, columns}, DType::f32)};
  for (const auto& s : all_schedules(p.problem())) {
    SCOPED_TRACE(describe(p, s));
    const auto out = interpreted(p, s);
    for (std::int64_t i = 0; i < p.space.product(); ++i) {
      ASSERT_EQ(out[0].element(i), p.product(i) + 3 + 2 * static_cast<double>(i % 21)) << "at " << i;
    }
  }
}

/// Halves: the product rounds to the half before the epilogue sees it, and sums never do.
TEST(MatmulKernels, HalvesSumInFullPrecisionAndRoundOnce) {
  for (const auto t : {DType::f16, DType::bf16}) {
    Tensor a = dense(t, {2, 600}), b = dense(t, {600, 24});
    for (std::int64_t i = 0; i < a.elements(); ++i) a.set(i, 1);
    for (std::int64_t i = 0; i < b.elements(); ++i) b.set(i, i / 24 == 0 ? 0.25 : 1);
    Product p(a, b);
    const int c = p.multiply();
    p.block.outputs = {p.node(op::Cast{DType::f32}, {c}, DType::f32)};
    const double exact = 599.25;
    const double rounded = t == DType::f16
                               ? static_cast<double>(static_cast<float>(Float16(static_cast<float>(exact))))
                               : static_cast<double>(static_cast<float>(BFloat16(static_cast<float>(exact))));
    for (const auto& s : all_schedules(p.problem())) {
      SCOPED_TRACE(describe(p, s));
      const auto out = interpreted(p, s);
      for (std::int64_t i = 0; i < p.space.product(); ++i)
        ASSERT_EQ(out[0].element(i), rounded) << "at " << i;
    }
  }
}

TEST(MatmulKernels, BatchOfRowsFoldsIntoRows) {
  auto p = plain(dense(DType::f32, {4, 5, 6}), dense(DType::f32, {6, 7})).problem();
  EXPECT_EQ(p.m, 20);
  EXPECT_TRUE(p.batch.empty());
  p = plain(dense(DType::f32, {4, 5, 6}), dense(DType::f32, {4, 6, 7})).problem();
  EXPECT_EQ(p.m, 5);
  EXPECT_EQ(p.batch, Shape({4}));
  p = plain(dense(DType::f32, {30, 6}), dense(DType::f32, {6, 1})).problem();
  EXPECT_EQ(p.m, 1);
  EXPECT_EQ(p.n, 30);
}

TEST(MatmulKernels, LeanAndNaiveCodeDoesNotDependOnSizes) {
  const auto code = [](const Shape& a, const Shape& b, Family f) {
    const auto product = plain(dense(DType::f32, a), dense(DType::f32, b));
    const auto p = product.problem();
    return kernel::print(build(p, f == Family::lean ? blocked(Family::lean, 8, 3, 2) : naive_schedule(avx2)));
  };
  for (const auto f : {Family::lean, Family::naive}) {
    EXPECT_EQ(code({7, 9}, {9, 30}, f), code({70, 33}, {33, 64}, f));
  }
}

/// Every schedule for devices of many units that serves the product.
void expect_product_by_units(Product p) {
  const auto list = candidates(p.problem(), gpu);
  EXPECT_NE(list.front().family, Family::naive);
  for (const auto& s : list) expect_product(p, s);
}

TEST(MatmulKernels, SharedTilesOfEveryDtypeAndLayout) {
  for (const auto t : {DType::f32, DType::f64, DType::bf16, DType::f16, DType::i32, DType::u8}) {
    const Shape a{70, 44}, b{44, 76};
    expect_product_by_units(plain(dense(t, a), dense(t, b)));
    expect_product_by_units(plain(transposed(t, a), transposed(t, b)));
    if (t != DType::f32) continue;
    expect_product_by_units(plain(dense(t, a), transposed(t, b)));
    expect_product_by_units(plain(transposed(t, a), dense(t, b)));
    expect_product_by_units(plain(scattered(t, a), scattered(t, b)));
  }
}

TEST(MatmulKernels, SharedTilesOfExtentsThatFitNothing) {
  for (const auto& [m, n, k] : std::vector<std::array<std::int64_t, 3>>{
           {37, 61, 45}, {1, 300, 17}, {129, 65, 1}, {64, 64, 16}, {33, 130, 32}, {160, 4, 20}}) {
    expect_product_by_units(plain(dense(DType::f32, {m, k}), dense(DType::f32, {k, n})));
    expect_product_by_units(plain(transposed(DType::f32, {m, k}), transposed(DType::f32, {k, n})));
  }
}

TEST(MatmulKernels, MatrixUnitsMultiplyHalves) {
  const auto check = [&](Product p) {
    const auto list = candidates(p.problem(), gpu);
    EXPECT_EQ(list.front().family, p.problem().m > 4 ? Family::mma : Family::gemv);
    for (const auto& s : list) expect_product(p, s);
    for (const auto& s : schedules_of_units(p.problem(), 2)) expect_product(p, s);
  };
  for (const auto t : {DType::bf16, DType::f16}) {
    for (const auto& [m, n, k] : std::vector<std::array<std::int64_t, 3>>{
             {72, 80, 48}, {136, 8, 120}, {1, 200, 160}, {128, 128, 64}}) {
      if (t == DType::f16 && m != 72) continue;  // the layouts below differ in addresses only
      const Shape a{m, k}, b{k, n};
      check(plain(dense(t, a), dense(t, b)));
      check(plain(dense(t, a), transposed(t, b)));
      if (m % 8 != 0) continue;
      check(plain(transposed(t, a), dense(t, b)));
      check(plain(transposed(t, a), transposed(t, b)));
    }
    check(plain(dense(t, {3, 40, 24}), dense(t, {3, 24, 72})));
    // Nothing or one operand in vectors of 16 bytes.
    for (const auto& [m, n, k] :
         std::vector<std::array<std::int64_t, 3>>{{37, 61, 45}, {70, 72, 33}, {70, 71, 1}, {40, 67, 32}}) {
      for (const auto left : layouts) {
        for (const auto right : layouts) {
          if (t == DType::f16 && left != right) continue;
          check(plain(left(t, {m, k}, 1), right(t, {k, n}, 2)));
        }
      }
    }
  }
}

constexpr Precision inexact[] = {Precision::tf32, Precision::split};

/// Whole numbers of few bits are exact in every precision.
TEST(MatmulKernels, MatrixUnitsMultiplySinglesOfEveryLayout) {
  for (const auto precision : inexact) {
    const auto check = [&](const Tensor& a, const Tensor& b) {
      auto p = plain(a, b, precision);
      const auto list = candidates(p.problem(), gpu);
      const auto family = precision == Precision::tf32 ? Family::tf32 : Family::bf16x3;
      EXPECT_EQ(list.front().family, p.problem().m > 4 ? family : Family::gemv);
      for (const auto& s : list) expect_product(p, s);
      for (const auto& s : schedules_of_units(p.problem(), 2)) expect_product(p, s);
    };
    for (const auto& [m, n, k] : std::vector<std::array<std::int64_t, 3>>{
             {72, 80, 48}, {132, 8, 124}, {1, 200, 160}, {128, 128, 64}, {37, 61, 45}, {70, 71, 1}}) {
      for (const auto left : layouts) {
        for (const auto right : layouts) {
          if (left != right && m != 72 && m != 37) continue;
          if (m == 128 && left != in_order) continue;
          check(left(DType::f32, {m, k}, 1), right(DType::f32, {k, n}, 2));
          if (::testing::Test::HasFatalFailure()) return;
        }
      }
    }
    check(dense(DType::f32, {3, 40, 24}), dense(DType::f32, {3, 24, 72}));
  }
}

TEST(MatmulKernels, OtherDtypesIgnorePrecision) {
  for (const auto t : {DType::f64, DType::bf16, DType::i32}) {
    const auto exact = plain(dense(t, {64, 64}), dense(t, {64, 64}));
    for (const auto precision : inexact) {
      const auto p = plain(dense(t, {64, 64}), dense(t, {64, 64}), precision);
      EXPECT_EQ(candidates(p.problem(), gpu), candidates(exact.problem(), gpu));
      EXPECT_EQ(to_string(p.problem()), to_string(exact.problem()));
    }
  }
}

/// Operands of 24 bits: errors are below what the precision promises, and those of tf32 are there.
TEST(MatmulKernels, ErrorsOfMatrixUnitsFitTheirPrecision) {
  const std::int64_t m = 40, n = 40, k = 200;
  const auto random = [](const Shape& shape, std::uint64_t seed) {
    auto t = dense(DType::f32, shape);
    for (std::int64_t i = 0; i < t.elements(); ++i) {
      seed = seed * 6364136223846793005u + 1442695040888963407u;
      t.set(i, (static_cast<double>(seed >> 40) - 0x1p23) * std::pow(2.0, -23 + static_cast<double>(i % 13)));
    }
    return t;
  };
  const auto worst_error = [&](Precision precision) {
    auto p = plain(random({m, k}, 1), random({k, n}, 2), precision);
    double worst = 0;
    auto list = candidates(p.problem(), gpu);
    std::erase_if(list, [](const Schedule& s) { return !s.uses_matrix_units(); });
    EXPECT_EQ(list.empty(), precision == Precision::exact);
    if (list.empty()) list.push_back(favourite(p.problem(), gpu));
    for (const auto& s : list) {
      const auto out = interpreted(p, s);
      for (std::int64_t i = 0; i < m * n; ++i) {
        double scale = 0;
        for (std::int64_t j = 0; j < k; ++j)
          scale += std::abs(p.inputs[0].element(i / n * k + j) * p.inputs[1].element(j * n + i % n));
        worst = std::max(worst, std::abs(out[0].element(i) - p.product(i)) / scale);
      }
    }
    return worst;
  };
  const double exact = worst_error(Precision::exact), tf32 = worst_error(Precision::tf32),
               split = worst_error(Precision::split);
  EXPECT_LT(exact, k * 0x1p-24);
  EXPECT_LT(tf32, 0x1p-10 + (k + 2) * 0x1p-23);
  EXPECT_GT(tf32, 0x1p-16);
  EXPECT_LT(split, 4 * exact);  // f32-like
  EXPECT_LT(split, 0x1p-18);
}

TEST(MatmulKernels, SinglesRoundToTenBitsWithTiesAwayFromZero) {
  auto a = dense(DType::f32, {32, 8}), b = dense(DType::f32, {8, 64});
  for (std::int64_t i = 0; i < b.elements(); ++i) b.set(i, i % 65 == 0 ? 1 : 0);  // the identity
  const std::pair<float, float> cases[] = {{1 + 0x1p-11f, 1 + 0x1p-10f},
                                           {1 + 0x1p-11f - 0x1p-23f, 1},
                                           {-1 - 0x1p-11f, -1 - 0x1p-10f},
                                           {1 + 3 * 0x1p-11f, 1 + 2 * 0x1p-10f},
                                           {0x1p-20f * (1 + 0x1p-9f), 0x1p-20f * (1 + 0x1p-9f)},
                                           {0x1.93e594p+99f, 0x1.94p+99f},
                                           {0, 0},
                                           {-7, -7}};
  for (std::int64_t i = 0; i < a.elements(); ++i) a.set(i, cases[i % 8].first);
  auto p = plain(a, b, Precision::tf32);
  for (const auto& s : candidates(p.problem(), gpu)) {
    if (s.family != Family::tf32) continue;
    const auto out = interpreted(p, s);
    for (std::int64_t i = 0; i < p.space.product(); ++i)
      ASSERT_EQ(out[0].element(i), i % 64 < 8 ? cases[i % 64].second : 0) << s.name() << " at " << i;
  }
}

/// As in exact products for tf32, NaN for split; other rows and columns stay as they are.
TEST(MatmulKernels, InfinitiesAndNaNsReachTheirElementsAlone) {
  const float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  for (const auto precision : inexact) {
    auto a = dense(DType::f32, {36, 48}), b = dense(DType::f32, {48, 40});
    for (auto* t : {&a, &b}) {
      for (std::int64_t i = 0; i < t->elements(); ++i) t->set(i, 1.5);
    }
    a.set(2 * 48 + 5, inf);
    a.set(3 * 48 + 7, nan);
    b.set(5 * 40 + 9, 0);
    b.set(11 * 40 + 20, -inf);
    auto p = plain(a, b, precision);
    for (const auto& s : candidates(p.problem(), gpu)) {
      if (!s.uses_matrix_units()) continue;
      const auto out = interpreted(p, s);
      for (std::int64_t i = 0; i < p.space.product(); ++i) {
        const double expected = p.product(i), x = out[0].element(i);
        if (std::isnan(expected) || (precision == Precision::split && !std::isfinite(expected)))
          ASSERT_TRUE(std::isnan(x)) << s.name() << " at " << i << ": " << x;
        else
          ASSERT_EQ(x, expected) << s.name() << " at " << i;
      }
    }
  }
}

/// relu(a b + bias) in one kernel.
TEST(MatmulKernels, LessExactProductsHaveEpilogues) {
  for (const auto precision : inexact) {
    Product p(dense(DType::f32, {70, 44}, 1), dense(DType::f32, {44, 72}, 2));
    const int bias = p.add_input(dense(DType::f32, {72}, 3));
    const int c = p.multiply(precision);
    const int biased = p.node(op::Binary{op::BinaryKind::add}, {c, bias}, DType::f32);
    p.block.outputs = {p.node(op::Unary{op::UnaryKind::abs}, {biased}, DType::f32)};
    for (auto s : candidates(p.problem(), gpu)) {
      for (const int splits : {1, 2}) {
        if (!s.uses_matrix_units()) continue;
        s.splits = splits;
        SCOPED_TRACE(describe(p, s));
        const auto out = interpreted(p, s);
        for (std::int64_t i = 0; i < p.space.product(); ++i)
          ASSERT_EQ(out[0].element(i), std::abs(p.product(i) + p.inputs[2].at(i, p.space))) << "at " << i;
      }
    }
  }
}

TEST(MatmulKernels, FewRowsOfEveryDtypeAndLayout) {
  for (const auto t : {DType::f32, DType::f64, DType::bf16, DType::f16, DType::i32, DType::i64, DType::u8}) {
    for (const auto& [m, n, k] : std::vector<std::array<std::int64_t, 3>>{
             {1, 64, 160}, {3, 45, 77}, {7, 5, 150}, {16, 48, 32}, {2, 1500, 9}}) {
      for (const auto left : layouts) {
        for (const auto right : layouts) {
          if (t != DType::f32 && left != right && m != 3) continue;
          auto p = plain(left(t, {m, k}, 1), right(t, {k, n}, 2));
          for (const auto& s : schedules_of_units(p.problem(), 3)) expect_product(p, s);
          if (::testing::Test::HasFatalFailure()) return;
        }
      }
    }
  }
}

TEST(MatmulKernels, AColumnIsARow) {
  for (const std::int64_t k : {1, 31, 512, 1000}) {
    for (const std::int64_t m : {1, 7, 64}) {
      auto p = plain(dense(DType::f32, {m, k}, 1), dense(DType::f32, {k, 1}, 2));
      EXPECT_EQ(p.problem().m, 1);
      const auto list = schedules_of_units(p.problem(), 2);
      EXPECT_EQ(list.front().along_k, k > 1);
      for (const auto& s : list) expect_product(p, s);
    }
  }
}

TEST(MatmulKernels, SplitSumsOfManyParts) {
  for (const int splits : {2, 5, 9, 17, 40, 200}) {
    auto p = plain(dense(DType::f32, {2, 1610}, 1), dense(DType::f32, {1610, 12}, 2));
    for (const auto& s : schedules_of_units(p.problem(), splits)) expect_product(p, s);
  }
}

TEST(MatmulKernels, FewCubesSplitK) {
  const auto check = [](DType t, std::int64_t m, std::int64_t k, std::int64_t n, bool split) {
    const auto product = plain(dense(t, {m, k}), dense(t, {k, n}));
    const auto s = favourite(product.problem(), gpu);
    EXPECT_EQ(s.splits > 1, split) << s.name();
    const auto shape = launch_shape(product.problem(), s);
    EXPECT_GE(shape.cubes_x * shape.cubes_y, 4u) << s.name();
  };
  check(DType::f32, 64, 4096, 64, true);
  check(DType::bf16, 64, 4096, 64, true);
  check(DType::f32, 1, 4096, 64, true);
  check(DType::f32, 512, 4096, 512, false);
}

TEST(MatmulKernels, SharedTilesOfBatches) {
  for (const auto& [a, b] : std::vector<std::pair<Shape, Shape>>{{{5, 2, 40}, {5, 40, 33}},
                                                                 {{2, 3, 1, 20}, {2, 1, 20, 70}},
                                                                 {{3, 9, 40}, {3, 40, 8}},
                                                                 {{70, 1, 32}, {70, 32, 1}}}) {
    for (const auto right : layouts) {
      auto p = plain(dense(DType::f32, a, 1), right(DType::f32, b, 2));
      for (const auto& s : schedules_of_units(p.problem(), 2)) expect_product(p, s);
    }
  }
  expect_product_by_units(plain(dense(DType::f32, {3, 40, 20}), dense(DType::f32, {3, 20, 33})));
  expect_product_by_units(plain(dense(DType::f32, {2, 3, 9, 20}), dense(DType::f32, {2, 1, 20, 70})));
}

}  // namespace
}  // namespace strata::cube::matmul::test
