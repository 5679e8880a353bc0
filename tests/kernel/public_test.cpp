/// The public kernel language, used as a user would.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <type_traits>
#include <vector>

#include "kernel/interpreter.hpp"
#include "kernel/public.hpp"
#include "strata/error.hpp"
#include "strata/kernel.hpp"

namespace {

using namespace strata::lang;
using strata::kernel::test::interpret;

/// Interprets a launch none of whose accesses goes beyond a memory.
void run(const Kernel& kernel, std::vector<void*> memories, std::vector<std::int64_t> lengths,
         std::array<std::uint32_t, 3> cubes, std::vector<std::int64_t> scalars = {}) {
  constexpr auto nothing = std::numeric_limits<std::int64_t>::max();
  std::int64_t misfits = nothing;
  memories.push_back(&misfits);
  lengths.push_back(1);
  interpret(kernel.impl().ir, {memories, lengths, scalars, cubes});
  EXPECT_EQ(misfits, nothing);
}

TEST(PublicKernel, AxpyReadsLikeItsFormula) {
  auto axpy = kernel("axpy", [](In<f32> x, InOut<f32> y, Scalar<f32> a) {
    auto i = absolute_pos();
    if_(i < y.len(), [&] { y[i] = fma(a, x[i], y[i]); });
  });
  EXPECT_EQ(axpy.name(), "axpy");
  EXPECT_NE(
      axpy.to_string().find("kernel axpy(@arg0: f32 read, @arg1: f32 write, @misfits: i64 write, arg2: f32) "
                            "units 256x1x1"),
      std::string::npos)
      << axpy.to_string();
  std::vector<float> x(1000), y(1000, 1);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i);
  run(axpy, {x.data(), y.data()}, {1000, 1000}, {4, 1, 1}, {std::bit_cast<std::uint32_t>(2.0f)});
  for (std::size_t i = 0; i < x.size(); ++i) EXPECT_EQ(y[i], 2 * static_cast<float>(i) + 1);
}

TEST(PublicKernel, VectorsVariablesArraysAndLoops) {
  auto sums = kernel("sums", Cube{4}, [](In<f64> x, Out<f64> y, Out<i32> order) {
    SharedArray<f64> part(4);
    Var<f64, 2> sum = 0;
    auto u = convert<i64>(unit_x());
    for_(u * 8, u * 8 + 8, 2, [&](auto i) { sum += x.load<2>(i) * 2; });
    part[u] = reduce_add(Value<f64, 2>(sum));
    barrier();
    Var<i32> k = 0;
    Var<f64> total = 0.0;
    while_([&] { return k < 4; },
           [&] {
             total += part[k];
             k += 1;
           });
    if_(
        u == 0 && !(x[0] != x[0]), [&] { y[0] = total; }, [&] { y[u] = -1; });
    order.atomic_max(0, unit_x());
  });
  std::vector<double> x(32), y(4);
  std::vector<std::int32_t> order(1);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<double>(i);
  run(sums, {x.data(), y.data(), order.data()}, {32, 4, 1}, {1, 1, 1});
  EXPECT_EQ(y, (std::vector<double>{992, -1, -1, -1}));
  EXPECT_EQ(order[0], 3);
}

TEST(PublicKernel, IntegerDivisionIsFlooredAndZeroSafe) {
  auto divide = kernel("divide", Cube{1}, [](In<i32> a, In<i32> b, Out<i32> q, Out<i32> r) {
    auto i = absolute_pos();
    q[i] = a[i] / b[i];
    r[i] = a[i] % b[i];
  });
  std::vector<std::int32_t> a{-7, 7, 5}, b{2, -2, 0}, q(3), r(3);
  run(divide, {a.data(), b.data(), q.data(), r.data()}, {3, 3, 3, 3}, {3, 1, 1});
  EXPECT_EQ(q, (std::vector<std::int32_t>{-4, -4, 0}));
  EXPECT_EQ(r, (std::vector<std::int32_t>{1, -1, 0}));
}

TEST(PublicKernel, AnAccessBeyondAMemoryIsSkippedAndReported) {
  auto shifted = kernel("shifted", Cube{4}, [](In<i32> x, Out<i32> y, Scalar<i64> by) {
    y[unit_x()] = x[convert<i64>(unit_x()) + by];
  });
  std::vector<std::int32_t> x{1, 2, 3, 4}, y(4, 9);
  const auto found = [&](std::int64_t by) {
    std::int64_t misfits = std::numeric_limits<std::int64_t>::max();
    interpret(shifted.impl().ir, {{x.data(), y.data(), &misfits}, {4, 4, 1}, {by}, {1, 1, 1}});
    return detail::place_of(misfits);
  };
  EXPECT_EQ(found(2).memory, 0u);
  EXPECT_EQ(found(2).index, 4);
  EXPECT_EQ(y, (std::vector<std::int32_t>{3, 4, 0, 0}));
  EXPECT_EQ(found(-1).index, -1);
  EXPECT_EQ(found(std::int64_t{1} << 60).index, detail::farthest_index);
  EXPECT_EQ(found(-(std::int64_t{1} << 60)).index, -detail::farthest_index);
}

TEST(PublicKernel, AFaultNamesTheKernel) {
  try {
    kernel("crooked", Cube{8}, [](Out<i32> y) {
      auto u = unit_x();
      if_(u < 4, [] { barrier(); });
      y[u] = 1;
    });
    FAIL() << "accepted a barrier that half of the units skip";
  } catch (const strata::CompileError& e) {
    EXPECT_NE(std::string(e.what()).find("'crooked'"), std::string::npos) << e.what();
    EXPECT_NE(std::string(e.what()).find("barrier"), std::string::npos) << e.what();
  }
}

TEST(PublicKernel, NothingIsRecordedOutsideAKernel) {
  EXPECT_THROW(absolute_pos(), strata::CompileError);
  EXPECT_THROW(kernel("inner fails", [](Out<i32>) { throw strata::ArgumentError("stop"); }),
               strata::ArgumentError);
  EXPECT_THROW(absolute_pos(), strata::CompileError);
}

template <class A, class B>
concept Addable = requires(A a, B b) {
  a + b;
};
static_assert(Addable<Value<f32>, Value<f32>>);
static_assert(Addable<Value<f32, 8>, Value<f32>>);
static_assert(Addable<Element<f32>, double>);
static_assert(!Addable<Value<f32>, Value<f64>>, "types never mix silently");
static_assert(!Addable<Value<bool>, Value<bool>>);

}  // namespace
