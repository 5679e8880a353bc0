#include "kernel/interpreter.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <stdexcept>

#include "kernel/builder.hpp"

namespace strata::kernel {
namespace {

TEST(Interpreter, RunsUnitsOfACubeTogetherAroundABarrier) {
  // each cube reverses its 8 elements through shared memory
  Builder b("reverse", {8, 1, 1});
  auto x = b.read("x", Scalar::i32);
  auto y = b.write("y", Scalar::i32);
  auto tile = shared_array(Scalar::i32, 8);
  const Val u = unit_x();
  tile[u] = x[absolute_pos()];
  barrier();
  y[absolute_pos()] = tile[7 - u];
  const Kernel k = b.finish();
  std::vector<std::int32_t> in(24), out(24);
  std::iota(in.begin(), in.end(), 0);
  test::interpret(k, {{in.data(), out.data()}, {24, 24}, {}, {3, 1, 1}});
  for (int i = 0; i < 24; ++i) EXPECT_EQ(out[static_cast<std::size_t>(i)], i / 8 * 8 + 7 - i % 8);
}

TEST(Interpreter, MasksUnitsInDivergentControlFlow) {
  Builder b("collatz", {8, 1, 1});
  auto steps = b.write("steps", Scalar::i64);
  const Val i = absolute_pos();
  if_(i >= 1, [&] {
    Var n(i), count(constant(make_type(Scalar::i64), 0));
    while_([&] { return n.get() != 1; },
           [&] {
             if_((n.get() & 1) == 0, [&] { n = n.get() / 2; }, [&] { n = n.get() * 3 + 1; });
             count += 1;
           });
    steps[i] = count;
  });
  const Kernel k = b.finish();
  std::vector<std::int64_t> out(8, -1);
  test::interpret(k, {{out.data()}, {8}, {}, {1, 1, 1}});
  EXPECT_EQ(out, (std::vector<std::int64_t>{-1, 0, 1, 7, 2, 5, 8, 16}));
}

TEST(Interpreter, ThrowsForAnAccessOutsideABuffer) {
  Builder b("outside");
  auto x = b.write("x", Scalar::f32);
  x[3] = 1;
  const Kernel k = b.finish();
  std::vector<float> x3(3);
  EXPECT_THROW(test::interpret(k, {{x3.data()}, {3}, {}, {1, 1, 1}}), std::out_of_range);
}

TEST(Interpreter, PlaneOperationsWorkInsideOnePlane) {
  Builder b("planes", {8, 1, 1});
  auto y = b.write("y", Scalar::i32);
  const Val u = unit_x();
  y[u] = plane_reduce_add(u) * 100 + plane_shuffle_xor(u, constant(make_type(Scalar::i32), 1));
  const Kernel k = b.finish();
  std::vector<std::int32_t> out(8);
  test::interpret(k, {{out.data()}, {8}, {}, {1, 1, 1}, 4});
  EXPECT_EQ(out, (std::vector<std::int32_t>{601, 600, 603, 602, 2205, 2204, 2207, 2206}));
}

}  // namespace
}  // namespace strata::kernel
