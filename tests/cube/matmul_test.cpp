// Matmul on this machine's CPU: values through the whole layer, what is tuned when, and what the store keeps.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "cube/matmul/engine.hpp"
#include "cube/matmul/matmul.hpp"
#include "cube/matmul/trial.hpp"
#include "harness.hpp"
#include "matmul_support.hpp"
#include "strata/error.hpp"
#include "trace/log.hpp"

namespace strata::cube::matmul::test {
namespace {

using cube::test::random_data;

/// A client and a store of their own, so that counters and entries are this test's.
class MatmulTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() / ("strata-matmul-" + std::to_string(::getpid()));
    std::filesystem::remove_all(folder_);
    store_ = std::make_unique<cache::Store>((folder_ / "strata.db").string());
    backend_ = fresh(*store_, {});
  }
  void TearDown() override {
    backend_.reset();
    store_.reset();
    std::filesystem::remove_all(folder_);
  }

  /// As a new process would see the device, but for the kernels in the process's own store.
  std::unique_ptr<CubeBackend> fresh(cache::Store& store, const tune::Settings& settings,
                                     const runtime::cpu::Options& options = {}) {
    clients_.push_back(std::make_unique<runtime::cpu::CpuClient>(options));
    auto backend = std::make_unique<CubeBackend>(*clients_.back());
    backend->matmul_engine() = std::make_shared<Engine>(*backend, store, settings);
    return backend;
  }

  static TensorData product(CubeBackend& backend, const TensorData& a, const TensorData& b) {
    const backend::ValueRef inputs[] = {backend.from_data(a), backend.from_data(b)};
    return backend.into_data(backend.execute(op::Matmul{}, inputs)[0]).get();
  }

  /// Against sums in double; whole numbers must come out exact.
  static void expect_product(CubeBackend& backend, std::int64_t m, std::int64_t k, std::int64_t n,
                             DType t = DType::f32) {
    const auto whole = [&](const Shape& s, unsigned seed) {
      auto d = random_data(t, s, 0, 4, seed).to_doubles();
      for (auto& x : d) x = std::floor(x) - (t == DType::u8 ? 0 : 1);
      return d;
    };
    const auto a = whole({m, k}, 1), b = whole({k, n}, 2);
    const auto c = product(backend, data(t, {m, k}, a), data(t, {k, n}, b)).to_doubles();
    const std::int64_t step = std::max<std::int64_t>(1, m * n / 5000);
    for (std::int64_t i = 0; i < m * n; i += step) {
      double sum = 0;
      for (std::int64_t j = 0; j < k; ++j) {
        sum += a[static_cast<std::size_t>(i / n * k + j)] * b[static_cast<std::size_t>(j * n + i % n)];
      }
      if (t == DType::u8) sum = std::fmod(sum, 256);
      ASSERT_EQ(c[static_cast<std::size_t>(i)], sum) << m << "x" << k << "x" << n << " at " << i;
    }
  }
  static TensorData data(DType t, const Shape& shape, const std::vector<double>& values) {
    return visit_dtype(t, [&]<class T>() {
      const auto bytes = TensorData::allocate(values.size() * sizeof(T));
      auto* out = reinterpret_cast<T*>(bytes.get());
      for (std::size_t i = 0; i < values.size(); ++i) out[i] = base::convert<T>(values[i]);
      return TensorData(t, shape, bytes);
    });
  }
  Engine& engine() { return Engine::of(*backend_); }
  runtime::Counters counters() { return backend_->client().counters(); }

  std::filesystem::path folder_;
  std::unique_ptr<cache::Store> store_;
  std::vector<std::unique_ptr<runtime::cpu::CpuClient>> clients_;
  std::unique_ptr<CubeBackend> backend_;
};

TEST_F(MatmulTest, TinyProductTakesOneLaunchAndNoProbe) {
  const auto before = counters();
  EXPECT_EQ(product(*backend_, TensorData::from<float>({1, 2, 3, 4}, {2, 2}),
                    TensorData::from<float>({5, 6, 7, 8}, {2, 2}))
                .to_doubles(),
            (std::vector<double>{19, 22, 43, 50}));
  const auto after = counters();
  EXPECT_EQ(after.launches - before.launches, 1u);
  EXPECT_EQ(after.probe_launches, 0u);
  EXPECT_LE(after.compiles + after.cache_hits, 1u);
}

TEST_F(MatmulTest, EveryDtypeAtEverySizeClass) {
  for (const auto t : {DType::f64, DType::f32, DType::f16, DType::bf16, DType::i64, DType::i32, DType::u8}) {
    for (const auto& [m, k, n] :
         std::vector<std::array<std::int64_t, 3>>{{3, 5, 7}, {31, 40, 33}, {1, 100, 65}, {200, 30, 1}}) {
      for (int call = 0; call < 4; ++call)
        expect_product(*backend_, m, k, n, t);  // general, then its own kernel
    }
  }
}

TEST_F(MatmulTest, LargeProductIsTunedOnceWithinItsBudget) {
  expect_product(*backend_, 256, 256, 256);
  const auto first = counters();
  EXPECT_GT(first.probe_launches, 0u);
  EXPECT_LE(first.probe_launches, 100u);
  expect_product(*backend_, 256, 256, 256);
  EXPECT_EQ(counters().probe_launches, first.probe_launches);
  EXPECT_EQ(counters().compiles, first.compiles);
  EXPECT_EQ(counters().launches, 2u);
}

TEST_F(MatmulTest, ANewProcessUsesTheStoredWinner) {
  expect_product(*backend_, 256, 192, 320);
  const auto winner = explain(*backend_, 256, 320, 192, DType::f32).record.winner;
  const auto again = fresh(*store_, {});
  expect_product(*again, 256, 192, 320);
  const auto c = again->client().counters();
  EXPECT_EQ(c.probe_launches, 0u);
  EXPECT_EQ(c.compiles, 0u);
  EXPECT_EQ(c.launches, 1u);
  const auto e = explain(*again, 256, 320, 192, DType::f32);
  EXPECT_EQ(e.record.winner, winner);
  EXPECT_EQ(e.record.source, tune::Source::stored);
  EXPECT_EQ(e.schedule.name(), winner);
}

TEST_F(MatmulTest, AnotherNumberOfThreadsIsTunedForItself) {  // case 59
  for (int threads : {1, 2}) {
    const auto machine = fresh(*store_, {}, {.threads = threads});
    expect_product(*machine, 256, 192, 320);
    EXPECT_GT(machine->client().counters().probe_launches, 0u) << threads;
    const auto again = fresh(*store_, {}, {.threads = threads});
    expect_product(*again, 256, 192, 320);
    EXPECT_EQ(again->client().counters().probe_launches, 0u) << threads;
  }
}

TEST_F(MatmulTest, ExplainTellsCandidatesTimesAndBound) {
  const auto e = explain(*backend_, 256, 256, 256, DType::f32);
  EXPECT_EQ(e.problem, "matmul f32 256x256x256 nn");
  ASSERT_GE(e.record.candidates.size(), 4u);
  EXPECT_GT(e.record.bound_seconds, 0);
  EXPECT_FALSE(e.record.winner.empty());
  for (const auto& c : e.record.candidates) EXPECT_TRUE(c.seconds > 0 || !c.skipped_reason.empty()) << c.name;
  EXPECT_EQ(e.kernel->name, "matmul_" + e.schedule.name());
  const auto small = explain(*backend_, 8, 8, 8, DType::f32);
  EXPECT_EQ(small.record.source, tune::Source::heuristic);
  EXPECT_EQ(small.record.winner, small.schedule.name());
}

TEST_F(MatmulTest, NewShapesCompileNothingAndMemoryStaysBounded) {
  // The same strides are 1 in all of these, so one naive and one lean kernel serve them all.
  expect_product(*backend_, 5, 5, 5);
  expect_product(*backend_, 40, 40, 40);
  const auto before = counters();
  for (std::int64_t i = 0; i < 3000; ++i) {
    const Shape a{2 + i % 60, 2 + i / 60}, b{2 + i / 60, 33};
    product(*backend_, random_data(DType::f32, a), random_data(DType::f32, b));
  }
  const auto after = counters();
  EXPECT_EQ(after.compiles + after.cache_hits, before.compiles + before.cache_hits);
  EXPECT_LE(engine().size(), 1024u);
}

// Case 50: a neighbour of a tuned shape must not inherit a kernel that cannot serve it.
TEST_F(MatmulTest, NeighboursOfATunedShapeAreRight) {
  expect_product(*backend_, 512, 128, 128);
  expect_product(*backend_, 512, 128, 127);
  expect_product(*backend_, 512, 126, 128);
  expect_product(*backend_, 512, 128, 8);
  expect_product(*backend_, 512, 128, 7);
}

// Case 52.
TEST_F(MatmulTest, TallProductWithTransposedRhsHasAKernel) {
  const auto a = random_data(DType::f32, {26214, 256}, -1, 1, 1),
             b = random_data(DType::f32, {64, 256}, -1, 1, 2);
  const auto va = backend_->from_data(a), vb = backend_->from_data(b);
  const backend::ValueRef t[] = {vb};
  const backend::ValueRef inputs[] = {va, backend_->execute(op::Permute{{1, 0}}, t)[0]};
  const auto c = backend_->into_data(backend_->execute(op::Matmul{}, inputs)[0]).get().to_doubles();
  const auto x = a.to_doubles(), y = b.to_doubles();
  for (std::size_t i = 0; i < c.size(); i += 9973) {
    double sum = 0;
    for (std::size_t j = 0; j < 256; ++j) sum += x[i / 64 * 256 + j] * y[i % 64 * 256 + j];
    ASSERT_NEAR(c[i], sum, 1e-4);
  }
}

// Case 13 and the like: no work, right shape.
TEST_F(MatmulTest, ZeroSizes) {
  EXPECT_EQ(product(*backend_, random_data(DType::f32, {0, 3}), random_data(DType::f32, {3, 4})).shape(),
            Shape({0, 4}));
  EXPECT_EQ(product(*backend_, random_data(DType::f32, {3, 0, 0}), random_data(DType::f32, {0, 0})).shape(),
            Shape({3, 0, 0}));
  EXPECT_EQ(product(*backend_, random_data(DType::f32, {2, 0}), random_data(DType::f32, {0, 3})).to_doubles(),
            std::vector<double>(6, 0.0));
}

TEST_F(MatmulTest, SameKernelWithLogsOffAndOn) {
  const auto winner = [&](const char* spec, const std::string& file) {
    trace::log::configure(spec);
    cache::Store store((folder_ / file).string());
    const auto backend = fresh(store, {});
    const auto e = explain(*backend, 384, 384, 384, DType::f32);
    trace::log::configure("warn");
    // The times of candidates differ by noise; what a log line costs would differ by far more.
    double best = 1e9, chosen = 0;
    for (const auto& c : e.record.candidates) {
      if (c.seconds > 0) best = std::min(best, c.seconds);
      if (c.name == e.record.winner) chosen = c.seconds;
    }
    EXPECT_LE(chosen, best * 1.03 + 1e-9);
    return best;
  };
  const double quiet = winner("off", "quiet.db"), loud = winner("tune=full", "loud.db");
  EXPECT_LT(loud, quiet * 3);
}

/// A wrong candidate is found out on the real inputs, whatever it is wrong in.
TEST(MatmulCompare, FindsWrongElementsAndForgivesRounding) {
  std::vector<float> reference(1000), result(1000), scale(1000, 50.f);
  for (std::size_t i = 0; i < reference.size(); ++i) reference[i] = static_cast<float>(i) * 0.1f - 50;
  const auto bytes = [](const std::vector<float>& v) { return reinterpret_cast<const std::byte*>(v.data()); };
  const auto check = [&](bool smooth, Precision precision = Precision::exact) {
    compare({DType::f32, 512, precision, false, smooth}, DType::f32, 1000, bytes(reference), bytes(result),
            bytes(scale));
  };
  result = reference;
  for (auto& x : result) x *= 1 + 1e-6f;
  EXPECT_NO_THROW(check(true));
  result[999] += 0.05f;
  EXPECT_THROW(check(true), RuntimeError);
  EXPECT_NO_THROW(check(false));
  result = reference;
  for (auto& x : result) x += 50.f * 0x1p-11f;  // of the sum of magnitudes: as large as tf32 may be off
  EXPECT_THROW(check(true), RuntimeError);
  EXPECT_THROW(check(true, Precision::split), RuntimeError);
  EXPECT_NO_THROW(check(true, Precision::tf32));
  for (auto& x : result) x += 50.f * 0x1p-9f;
  EXPECT_THROW(check(true, Precision::tf32), RuntimeError);
  result = reference;
  result[3] = NAN;
  EXPECT_THROW(check(true), RuntimeError);
  for (std::size_t i = 0; i < 100; ++i) result[i] = -1;
  EXPECT_THROW(check(false), RuntimeError);
}

TEST(MatmulCompare, IntegersMustBeEqual) {
  std::vector<std::int32_t> reference(10, 7), result(10, 7), scale(10, 1000000);
  const auto bytes = [](const std::vector<std::int32_t>& v) {
    return reinterpret_cast<const std::byte*>(v.data());
  };
  const auto check = [&] {
    compare({DType::i32, 64, Precision::exact, false, true}, DType::i32, 10, bytes(reference), bytes(result),
            bytes(scale));
  };
  EXPECT_NO_THROW(check());
  result[9] = 8;
  EXPECT_THROW(check(), RuntimeError);
}

TEST(MatmulSample, RowsAreSpreadAndHoldTheLast) {
  Problem p;
  for (const std::int64_t m : {1, 2, 3, 13, 14, 100, 1024, 4096}) {
    p.m = m;
    p.n = 64;
    p.k = 64;
    const auto s = sample_of(p);
    EXPECT_GE(s.first, 0) << m;
    EXPECT_EQ(s.first + (s.count - 1) * s.step, m - 1) << m;
    EXPECT_GE(s.count, std::min<std::int64_t>(m, 3)) << m;
  }
}

/// The planted fault: a plan whose kernel computes something else.
TEST_F(MatmulTest, APlantedWrongKernelFailsItsCheck) {
  Product p(dense(DType::f32, {64, 64}, 1), dense(DType::f32, {64, 64}, 2));
  p.block.outputs = {p.multiply()};
  const auto problem = p.problem();
  Operands operands;
  for (const auto& t : p.inputs) {
    const std::shared_ptr<std::byte[]> copy(new std::byte[t.storage.size()]);
    std::copy(t.storage.begin(), t.storage.end(), copy.get());
    operands.buffers.push_back(backend_->client().allocate(t.storage.size()));
    backend_->client().write(operands.buffers.back(), {copy, copy.get()}, t.storage.size());
  }
  operands.buffers.push_back(backend_->client().allocate(64 * 64 * sizeof(float)));
  const auto right = favourite(problem, engine().machine());
  auto wrong_problem = problem;
  wrong_problem.k = 60;  // leaves out the last four terms
  const Schedule schedules[] = {right, right};
  const auto plan = [&](std::size_t i) { return engine().plan(i == 0 ? problem : wrong_problem, right); };
  tune::Roofline roofline(backend_->client(), *store_);
  MatmulTrial trial(*backend_, problem, operands, engine().machine(), schedules, plan, roofline);
  EXPECT_NO_THROW(trial.check(0));
  EXPECT_THROW(trial.check(1), RuntimeError);
  EXPECT_NO_THROW(trial.check(0));
}

/// A device of many units, interpreted.
class MatmulOfUnits : public MatmulTest {
 protected:
  interpreted::Client client_{interpreted::gpu_properties()};
  CubeBackend units_{client_};
};

TEST_F(MatmulOfUnits, FewTilesTakeASecondLaunchThatAddsTheParts) {
  const op::TensorType types[] = {{DType::f32, {40, 600}}, {DType::f32, {600, 33}}};
  const auto planned = units_.plan(op::Matmul{}, types);
  ASSERT_EQ(planned.size(), 2u);
  EXPECT_GT(planned[0].cubes[1], 1u);
  EXPECT_EQ(planned[1].kernel_name.find("matmul_part_sum"), 0u);
  const auto before = client_.counters().launches;
  expect_product(units_, 40, 600, 33);
  EXPECT_EQ(client_.counters().launches - before, 2u);
}

TEST_F(MatmulOfUnits, AnOffsetThatVectorsDoNotFitGetsAnotherKernel) {
  const auto x = units_.from_data(random_data(DType::f32, {3, 104})),
             y = units_.from_data(random_data(DType::f32, {96, 16}));
  const auto multiply = [&](std::int64_t offset) {
    auto& all = static_cast<CubeValue&>(*x);
    const backend::ValueRef inputs[] = {units_.view(all, {{3, 96}, {104, 1}, offset}), y};
    units_.execute(op::Matmul{}, inputs);
    return client_.kernels().size();
  };
  const auto aligned = multiply(0), shifted = multiply(1);
  EXPECT_GT(shifted, aligned);
  EXPECT_EQ(multiply(4), shifted);
}

/// 1 + 2^-12 needs more bits than tf32 has.
TEST_F(MatmulOfUnits, PrecisionDecidesTheKernelOfTheSameShape) {
  const std::vector<double> fine(64 * 64, 1 + 0x1p-12);
  const auto a = units_.from_data(data(DType::f32, {64, 64}, fine));
  const auto element = [&](Precision precision) {
    const backend::ValueRef inputs[] = {a, a};
    return units_.into_data(units_.execute(op::Matmul{precision}, inputs)[0]).get().to_doubles()[65];
  };
  const double exact = 64 * (1 + 0x1p-12) * (1 + 0x1p-12);
  for (int call = 0; call < 4; ++call) {
    EXPECT_EQ(element(Precision::tf32), 64);
    EXPECT_NEAR(element(Precision::exact), exact, 64 * 64 * 0x1p-24);
    EXPECT_NEAR(element(Precision::split), exact, 64 * 64 * 0x1p-24);
  }
}

TEST_F(MatmulOfUnits, PrecisionIsPartOfWhatIsTuned) {
  const auto exact = explain(units_, 64, 64, 64, DType::f32),
             tf32 = explain(units_, 64, 64, 64, DType::f32, false, false, Precision::tf32);
  EXPECT_EQ(exact.problem, "matmul f32 64x64x64 nn");
  EXPECT_EQ(tf32.problem, "matmul f32 tf32 64x64x64 nn");
  EXPECT_EQ(tf32.schedule.family, Family::tf32);
  EXPECT_NE(exact.kernel->name, tf32.kernel->name);
}

/// A processor computes exactly.
TEST_F(MatmulTest, PrecisionChangesNothingWithoutMatrixUnits) {
  const auto a = backend_->from_data(random_data(DType::f32, {200, 300}, -1, 1, 1)),
             b = backend_->from_data(random_data(DType::f32, {300, 200}, -1, 1, 2));
  const backend::ValueRef inputs[] = {a, b};
  const auto result = [&](Precision precision) {
    return backend_->into_data(backend_->execute(op::Matmul{precision}, inputs)[0]).get();
  };
  result(Precision::exact);
  const auto tuned = counters();
  EXPECT_GT(tuned.probe_launches, 0u);
  const auto exact = result(Precision::exact).to_doubles();
  for (const auto precision : {Precision::tf32, Precision::split})
    EXPECT_EQ(result(precision).to_doubles(), exact);
  EXPECT_EQ(counters().probe_launches, tuned.probe_launches);
  EXPECT_EQ(counters().compiles, tuned.compiles);
}

TEST_F(MatmulOfUnits, PartsThatNobodyAddsFailTheCheck) {
  Product p(dense(DType::f32, {33, 512}, 1), dense(DType::f32, {512, 20}, 2));
  p.block.outputs = {p.multiply()};
  const auto problem = p.problem();
  Operands operands;
  for (const auto& t : p.inputs) {
    const TensorData data(t.dtype, t.view.shape, [&] {
      const auto bytes = TensorData::allocate(t.storage.size());
      std::copy(t.storage.begin(), t.storage.end(), bytes.get());
      return bytes;
    }());
    operands.buffers.push_back(static_cast<CubeValue&>(*units_.from_data(data)).buffer);
  }
  operands.buffers.push_back(client_.allocate(33 * 20 * sizeof(float)));
  auto& units = Engine::of(units_);
  const auto split = favourite(problem, units.machine());
  ASSERT_GT(split.splits, 1);
  const Schedule schedules[] = {split, split};
  const auto plan = [&](std::size_t i) {
    auto made = units.plan(problem, split);
    if (i == 1) made.sum.reset();
    return made;
  };
  tune::Roofline roofline(client_, *store_);
  MatmulTrial trial(units_, problem, operands, units.machine(), schedules, plan, roofline);
  EXPECT_NO_THROW(trial.check(0));
  EXPECT_THROW(trial.check(1), RuntimeError);
  EXPECT_GT(trial.measure(0, 1), trial.measure(1, 1));
}

// Case 64.
TEST_F(MatmulTest, TwoThreadsFirstCallTheSameProduct) {
  auto other = fresh(*store_, {});
  std::thread thread([&] { expect_product(*other, 300, 200, 260); });
  expect_product(*backend_, 300, 200, 260);
  thread.join();
}

}  // namespace
}  // namespace strata::cube::matmul::test
