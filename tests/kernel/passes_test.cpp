/// Passes keep what a kernel computes, and leave only what they promise.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "kernel/builder.hpp"
#include "kernel/interpreter.hpp"
#include "kernel/passes/fission.hpp"
#include "kernel/passes/lower_math.hpp"
#include "kernel/passes/promote_halves.hpp"
#include "kernel/print.hpp"
#include "kernel/random_kernel.hpp"
#include "strata/error.hpp"

namespace strata::kernel {
namespace {

struct Output {
  std::vector<std::int32_t> y;
  std::vector<float> z;
  bool operator==(const Output&) const = default;
};

Output run_random(const Kernel& k, std::uint32_t units, std::int32_t n) {
  constexpr std::uint32_t cubes = 3;
  const std::size_t size = cubes * units;
  std::vector<float> x(size);
  for (std::size_t i = 0; i < size; ++i) x[i] = static_cast<float>(i) * 0.25f;
  Output out{std::vector<std::int32_t>(size, -1), std::vector<float>(size, -1)};
  const auto length = static_cast<std::int64_t>(size);
  test::interpret(k,
                  {{x.data(), out.y.data(), out.z.data()}, {length, length, length}, {n}, {cubes, 1, 1}, 1});
  return out;
}

TEST(Fission, KeepsWhatRandomKernelsCompute) {
  const std::array<std::uint32_t, 3> shapes[] = {{8, 1, 1}, {4, 2, 1}, {2, 2, 3}};
  for (std::uint64_t seed = 0; seed < 600; ++seed) {
    const auto& shape = shapes[seed % 3];
    const Kernel before = test::random_kernel(seed, {.cube_dim = shape});
    const Kernel after = fission(before);
    ASSERT_EQ(after.units(), 1u);
    for (const std::int32_t n : {0, 5, -3})
      ASSERT_EQ(run_random(before, before.units(), n), run_random(after, before.units(), n))
          << "seed " << seed << ", n " << n << "\n"
          << print(before) << "\n"
          << print(after);
  }
}

/// Runs a kernel of one i32 output, one element a unit, on one cube.
std::vector<std::int32_t> run_units(const Kernel& k, std::size_t size, std::int32_t n) {
  std::vector<std::int32_t> y(size, -1);
  test::interpret(k, {{y.data()}, {static_cast<std::int64_t>(size)}, {n}, {1, 1, 1}, 1});
  return y;
}

TEST(Fission, UnitsThatReturnedStayAwayFromLaterRegions) {
  Builder b("odd", {4, 1, 1});
  auto y = b.write("y", Scalar::i32);
  const Val n = b.scalar("n", Scalar::i32);
  auto s = shared_array(Scalar::i32, 4);
  const Val u = unit_x();
  if_(n > 0, [&] {
    s[u] = u * n;
    barrier();
    y[u] = s[3 - u];
    if_(u % 2 == 1, [] { return_(); });
  });
  y[u] = u + 100;
  const Kernel before = b.finish(), after = fission(before);
  for (const std::int32_t n_value : {0, 2}) {
    EXPECT_EQ(run_units(before, 4, n_value), run_units(after, 4, n_value));
  }
  EXPECT_EQ(run_units(after, 4, 2), (std::vector<std::int32_t>{100, 4, 102, 0}));
}

TEST(Fission, AWhileLoopThatUnitsLeaveByReturningDoesNotTestAgain) {
  Builder b("walk", {4, 1, 1});
  auto y = b.write("y", Scalar::i32);
  b.scalar("n", Scalar::i32);
  const Val u = unit_x();
  const Var at(u);
  while_([&] { return y.load(at.get()) == -1; },  // would read past the end behind the return
         [&] {
           y[at.get()] = u;
           at += 4;
           if_(at.get() >= 8, [] { return_(); });
         });
  const Kernel before = b.finish();
  EXPECT_EQ(run_units(fission(before), 8, 0), (std::vector<std::int32_t>{0, 1, 2, 3, 0, 1, 2, 3}));
}

TEST(Fission, ARegionWithoutBarriersIsOneLoopOverTheUnits) {
  Builder b("one", {4, 1, 1});
  auto y = b.write("y", Scalar::i32);
  const Val u = unit_x();
  const Var v(u * 2);
  y[u] = v.get() + 1;
  EXPECT_EQ(print(fission(b.finish())), R"(kernel one(@y: i32 write) units 1x1x1 {
  local @1: i32[1]
  for %9 = 0 to 4 step 1 {
    %2 = mul i32 %9, 2
    store i32 @1[0], %2, aligned
    %4 = load i32 @1[0], aligned
    %6 = add i32 %4, 1
    store i32 @y[%9], %6
  }
}
)");
}

TEST(Fission, CutsAtBarriersAndKeepsUniformLoopsOutside) {
  Builder b("cut", {4, 1, 1});
  auto y = b.write("y", Scalar::i32);
  const Val n = b.scalar("n", Scalar::i32);
  auto s = shared_array(Scalar::i32, 4, "s");
  const Val u = unit_x();
  for_(0, n, 1, [&](Val k) {
    s[u] = k;
    barrier();
    y[u] = s[3 - u];
  });
  const std::string text = print(fission(b.finish()));
  const auto outer = text.find("to %0 step 1"), first = text.find("to 4 step 1"),
             second = text.find("to 4 step 1", first + 1);
  EXPECT_LT(outer, first);
  EXPECT_LT(first, second);
  EXPECT_EQ(text.find("to 4 step 1", second + 1), std::string::npos);
  EXPECT_EQ(text.find("barrier"), std::string::npos);
}

TEST(Fission, APlaneIsOneUnit) {
  for (const std::uint32_t units : {1u, 4u}) {
    Builder b("plane", {units, 1, 1});
    auto y = b.write("y", Scalar::i32);
    b.scalar("n", Scalar::i32);
    const Val u = unit_x();
    y[u] = plane_reduce_add(u + 5) + plane_lane() + plane_shuffle(u, constant(make_type(Scalar::i32), 3));
    const auto out = run_units(fission(b.finish()), units, 0);
    for (std::uint32_t i = 0; i < units; ++i) EXPECT_EQ(out[i], static_cast<std::int32_t>(2 * i + 5));
  }
}

TEST(Fission, RefusesABarrierThatUnitsReachApart) {
  Builder b("apart");
  auto y = b.write("y", Scalar::i32);
  if_(unit_x() < y.load(0), [] { barrier(); });
  Kernel k = b.finish();  // fine for one unit
  k.cube_dim = {4, 1, 1};
  try {
    fission(k);
    FAIL();
  } catch (const CompileError& e) {
    EXPECT_NE(std::string(e.what()).find("kernel 'apart': barrier"), std::string::npos) << e.what();
  }
}

TEST(Fission, UniformIndicesPassThroughWithoutDividingEarly) {
  // 100 / n stands behind a return that keeps n == 0 out; fission must not compute it in front
  Builder b("guarded", {2, 1, 1});
  auto y = b.write("y", Scalar::i32);
  const Val n = b.scalar("n", Scalar::i32);
  const Val u = unit_x();
  if_(n == 0, [] { return_(); });
  const Val q = 100 / n;
  auto s = shared_array(Scalar::i32, 2);
  s[u] = q;
  barrier();
  y[u] = s[1 - u] + q;
  const Kernel before = b.finish(), after = fission(before);
  EXPECT_EQ(run_units(after, 2, 0), (std::vector<std::int32_t>{-1, -1}));
  EXPECT_EQ(run_units(after, 2, 7), (std::vector<std::int32_t>{28, 28}));
}

template <class F>
void for_each_instruction(const Block& b, F&& f) {
  for (const auto& i : b.instructions) {
    f(i);
    for (const auto& r : i.regions) for_each_instruction(r, f);
  }
}

TEST(PromoteHalves, LeavesHalvesToMovesAndConversionsFromAndToF32) {
  for (const Scalar half : {Scalar::f16, Scalar::bf16}) {
    Builder b("halves");
    auto x = b.read("x", half);
    auto y = b.write("y", half);
    auto w = b.write("w", Scalar::i32);
    const Val v = x.load(0, 4), c = constant(v.type, 0.3);
    const Val sum = exp(fma(v, c, v) - max(v, c) * v);
    const Val kept = select(sum < v, sqrt(sum), convert(convert(v, Scalar::i32), half));
    y.store(0, kept + lane_index(v.type));
    y.store(4, splat(reduce_add(v), 4));
    w.store(0, convert(v, Scalar::i32));
    const Kernel k = promote_halves(b.finish());
    for_each_instruction(k.body, [&](const Instruction& i) {
      const auto is_half_value = [&](ValueId id) { return is_half(k.types[id].scalar); };
      const bool touches = (i.result != no_value && is_half_value(i.result)) ||
                           std::any_of(i.operands.begin(), i.operands.end(), is_half_value);
      if (!touches) return;
      if (i.opcode == Opcode::convert) {
        EXPECT_TRUE(k.types[i.operands[0]].scalar == Scalar::f32 || k.types[i.result].scalar == Scalar::f32)
            << print(k);
        return;
      }
      const bool moves = i.opcode == Opcode::constant || i.opcode == Opcode::load ||
                         i.opcode == Opcode::store || i.opcode == Opcode::select || i.opcode == Opcode::splat;
      EXPECT_TRUE(moves) << name_of(i.opcode) << "\n" << print(k);
    });
  }
}

template <class T>
void check_half_bits() {
  constexpr int n = 64;
  const auto build = [] {
    Builder b("bits");
    auto x = b.read("x", scalar_of(dtype_of<T>()));
    auto y = b.write("y", scalar_of(dtype_of<T>()));
    const Val i = convert(cube_x(), Scalar::i64) * 8, v = x.load(i, 8), u = x.load((i + 8) % n, 8);
    Val r = fma(v, u, constant(v.type, 0.1)) / (abs(u) + 3) - min(v, u);
    r = select(r > v, rint(r * 10), convert(convert(r, Scalar::f64), r.scalar()));
    y.store(i, r + splat(reduce_max(v), 8) + splat(reduce_add(u), 8));
    return b.finish();
  };
  std::vector<T> x(n), before(n), after(n);
  for (int i = 0; i < n; ++i) x[static_cast<std::size_t>(i)] = T(std::sin(static_cast<float>(i)) * 5);
  x[5] = T(std::numeric_limits<float>::quiet_NaN());
  x[9] = T(std::numeric_limits<float>::infinity());
  const Kernel k = build();
  test::interpret(k, {{x.data(), before.data()}, {n, n}, {}, {8, 1, 1}, 1});
  test::interpret(promote_halves(k), {{x.data(), after.data()}, {n, n}, {}, {8, 1, 1}, 1});
  for (std::size_t i = 0; i < n; ++i) {
    const auto a = static_cast<float>(before[i]), b = static_cast<float>(after[i]);
    EXPECT_TRUE(a == b || (std::isnan(a) && std::isnan(b))) << i << ": " << a << " and " << b;
  }
}

TEST(PromoteHalves, RoundsAfterEveryOperation) {
  check_half_bits<Float16>();
  check_half_bits<BFloat16>();
  // (1 + 2^-11) + 2^-11 is 1 when each sum rounds to f16, 1 + 2^-10 when only the last does
  Builder b("twice");
  auto y = b.write("y", Scalar::f16);
  auto x = b.read("x", Scalar::f16);
  const Val one = x.load(0), tiny = x.load(1);
  y[0] = one + tiny + tiny;
  const Kernel k = promote_halves(b.finish());
  std::vector<Float16> in{Float16(1.0f), Float16(0x1p-11f)}, out(1);
  test::interpret(k, {{out.data(), in.data()}, {1, 2}, {}, {1, 1, 1}, 1});
  EXPECT_EQ(static_cast<float>(out[0]), 1.0f);
}

TEST(LowerMath, LeavesNoTranscendentalOpcode) {
  for (const Scalar s : {Scalar::f32, Scalar::f64, Scalar::f16}) {
    Builder b("all");
    auto x = b.read_write("x", s);
    const Val n = x.length();
    for_(0, n, 4, [&](Val i) {
      Val v = x.load(i, 4);
      for (const auto f : {exp, log, tanh, sin, cos, log1p, expm1, erf}) v = f(v);
      if_(i > 4, [&] { x.store(i, v); });
    });
    const Kernel k = lower_math(promote_halves(b.finish()));
    for_each_instruction(k.body,
                         [](const Instruction& i) { EXPECT_FALSE(is_math(i.opcode)) << name_of(i.opcode); });
  }
}

TEST(LowerMath, KeepsAKernelWithoutMathAsItIs) {
  const Kernel k = test::random_kernel(1);
  EXPECT_EQ(print(lower_math(k)), print(k));
}

}  // namespace
}  // namespace strata::kernel
