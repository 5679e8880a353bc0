#include "kernel/builder.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <thread>

#include "kernel/print.hpp"
#include "strata/error.hpp"

namespace strata::kernel {
namespace {

Kernel axpy() {
  Builder b("axpy");
  auto x = b.read("x", Scalar::f32);
  auto y = b.read_write("y", Scalar::f32);
  auto a = b.scalar("a", Scalar::f32);
  auto i = absolute_pos();
  if_(i < y.length(), [&] {
    const Val xi = x[i], yi = y[i];
    y[i] = fma(a, xi, yi);
  });
  return b.finish();
}

TEST(Builder, RecordsWhatTheHostFunctionDoes) {
  EXPECT_EQ(print(axpy()), R"(kernel axpy(@x: f32 read, @y: f32 write, a: f32) units 1x1x1 {
  %0 = parameter a
  %1 = cube_x
  %2 = convert i32 %1 to i64
  %3 = length @y
  %4 = lt i64 %2, %3
  if %4 {
    %5 = load f32 @x[%2]
    %6 = load f32 @y[%2]
    %7 = fma f32 %0, %5, %6
    store f32 @y[%2], %7
  }
}
)");
}

/// The text of a kernel's body whose one store is of `value`, at index 0 of an i64 buffer.
std::string stored(const std::function<Val(Val n)>& value) {
  Builder b("k");
  auto y = b.write("y", Scalar::i64);
  const Val n = b.scalar("n", Scalar::i64);
  y[0] = value(n);
  const std::string text = print(b.finish());
  const auto first = text.find("  %0 = parameter n\n") + 19;
  return text.substr(first, text.rfind("}\n") - first);
}

TEST(Builder, FoldsIntegerConstants) {
  const auto c = [](std::int64_t v) { return constant(make_type(Scalar::i64), v); };
  EXPECT_EQ(stored([&](Val) { return c(6) * 7 + 1 - (c(9) >> 1); }), "  store i64 @y[0], 39\n");
  EXPECT_EQ(stored([&](Val) { return (c(-7) / 2) * 10 + c(-7) % 2; }), "  store i64 @y[0], -31\n");
  EXPECT_EQ(stored([&](Val) { return max(min(c(3), 5), 4) ^ (c(1) << 4); }), "  store i64 @y[0], 20\n");
  EXPECT_EQ(stored([&](Val n) { return select(c(2) < c(1), n, c(8)); }), "  store i64 @y[0], 8\n");
  EXPECT_EQ(stored([&](Val) { return convert(convert(c(300), Scalar::u8), Scalar::i64); }),
            "  store i64 @y[0], 44\n");
  const auto u64 = make_type(Scalar::u64);
  EXPECT_EQ(stored([&](Val) { return convert(constant_bits(u64, -1) > constant(u64, 1), Scalar::i64); }),
            "  store i64 @y[0], 1\n");
}

TEST(Builder, LeavesDivisionsThatTrapToTheMachine) {
  const auto c = [](std::int64_t v) { return constant(make_type(Scalar::i64), v); };
  EXPECT_EQ(stored([&](Val) { return c(1) / c(0); }), "  %3 = div i64 1, 0\n  store i64 @y[0], %3\n");
}

TEST(Builder, DropsNeutralOperands) {
  EXPECT_EQ(stored([](Val n) { return (0 + n * 1 + 0 - 0) / 1; }), "  store i64 @y[0], %0\n");
  EXPECT_EQ(stored([](Val n) { return (n << 0) | 0; }), "  store i64 @y[0], %0\n");
  EXPECT_EQ(stored([](Val n) { return n * 0; }), "  store i64 @y[0], 0\n");
}

TEST(Builder, FloatArithmeticIsNeverFolded) {
  Builder b("k");
  auto y = b.write("y", Scalar::f64);
  const Val zero = constant(make_type(Scalar::f64), 0.0);
  y[0] = y.load(0) + zero;  // -0 + 0 is 0
  EXPECT_NE(print(b.finish()).find("add f64"), std::string::npos);
}

TEST(Builder, LiteralsTakeTheTypeOfTheOtherOperandAndScalarsAreSplat) {
  Builder b("k");
  auto y = b.write("y", Scalar::f16);
  const Val v = y.load(0, 4);
  const Val sum = 2 * v + 0.5;
  EXPECT_EQ(sum.type, make_type(Scalar::f16, 4));
  y.store(0, sum * y.load(1));
  EXPECT_EQ(print(b.finish()), R"(kernel k(@y: f16 write) units 1x1x1 {
  %1 = load f16x4 @y[0]
  %3 = mul f16x4 2, %1
  %5 = add f16x4 %3, 0.5
  %7 = load f16 @y[1]
  %8 = splat f16x4 %7
  %9 = mul f16x4 %5, %8
  store f16x4 @y[0], %9
}
)");
}

TEST(Builder, ControlFlowOnConstantsIsResolvedWhileBuilding) {
  EXPECT_EQ(stored([](Val n) {
              const Val yes = constant(make_type(Scalar::boolean), 1);
              Val r = n;
              if_(
                  yes, [&] { r = r + 1; }, [&] { r = r + 2; });
              for_(0, 1, 1, [&](Val i) { r = r + i; });
              for_(5, 5, 1, [&](Val i) { r = r * i; });
              return r;
            }),
            "  %3 = add i64 %0, 1\n  store i64 @y[0], %3\n");
}

std::string error_of(const std::function<void(Buffer)>& body) {
  Builder b("wrong");
  auto y = b.write("y", Scalar::f32);
  try {
    body(y);
    b.finish();
    return "";
  } catch (const CompileError& e) {
    return e.what();
  }
}

TEST(Builder, TypeMistakesNameKernelOperationAndTypes) {
  EXPECT_EQ(error_of([](Buffer y) { y.load(0) + y.length(); }),
            "kernel 'wrong': add of f32 and i64: operand types must be equal");
  EXPECT_EQ(error_of([](Buffer y) { y.load(0, 4) * y.load(0, 8); }),
            "kernel 'wrong': mul of f32x4 and f32x8: operand types must be equal");
  EXPECT_EQ(error_of([](Buffer y) { y.load(0) & y.load(1); }),
            "kernel 'wrong': bit_and of f32: expects integers or booleans");
  EXPECT_EQ(error_of([](Buffer y) { sqrt(y.length()); }), "kernel 'wrong': sqrt of i64: expects floats");
  EXPECT_EQ(error_of([](Buffer y) { y[0] = y.length(); }), "kernel 'wrong': store of i64 to a memory of f32");
  EXPECT_EQ(error_of([](Buffer y) { y.length() + 0.5; }), "kernel 'wrong': the literal 0.500000 is no i64");
  EXPECT_EQ(error_of([](Buffer y) {
              Var v(y.load(0));
              v = y.length();
            }),
            "kernel 'wrong': variable of f32 set to a value of i64");
  EXPECT_EQ(error_of([](Buffer) { for_(0, 8, 0, [](Val) {}); }),
            "kernel 'wrong': for: step 0 is not positive");
  EXPECT_EQ(error_of([](Buffer) { local_array(Scalar::f32, 0, "t"); }),
            "kernel 'wrong': array 't' needs a positive length, not 0");
  EXPECT_EQ(error_of([](Buffer) {
              local_array(Scalar::f32, 1);
              Builder::current().read("late", Scalar::f32);
            }),
            "kernel 'wrong': buffer 'late' must be declared before shared and local arrays");
}

TEST(Builder, ThrowsOutsideAKernel) {
  EXPECT_THROW(absolute_pos(), CompileError);
  axpy();
  EXPECT_THROW(absolute_pos(), CompileError);
}

TEST(Builder, NestsAndRecoversFromExceptions) {
  Builder outer("outer");
  auto y = outer.write("y", Scalar::i64);
  EXPECT_EQ(axpy().name, "axpy");  // a builder of its own in between
  try {
    Builder inner("inner");
    throw ArgumentError("stop");
  } catch (const ArgumentError&) {
  }
  y[0] = 1;
  EXPECT_EQ(outer.finish().body.instructions.size(), 3u);  // two constants, a store
}

TEST(Builder, IsPerThread) {
  Builder here("here");
  std::thread([] { EXPECT_THROW(Builder::current(), CompileError); }).join();
  EXPECT_EQ(&Builder::current(), &here);
}

TEST(Builder, PrintsEveryKindOfInstruction) {
  Builder b("all", {32, 2, 1});
  auto x = b.read("x", Scalar::f32);
  auto y = b.read_write("y", Scalar::f32);
  auto n = b.write("n", Scalar::i32);
  auto s = shared_array(Scalar::f32, 64, "s");
  const Val i = unit_x(), at = lane_index(make_type(Scalar::i64, 4));
  const Val mask = at < 2,
            v = x.load(i, 4, {.mask = mask, .other = constant(make_type(Scalar::f32, 4), 1.5)});
  comment("a note");
  y.store(0, v, {.mask = mask, .flags = aligned});
  y.store(16, x.gather(at), {.flags = non_temporal});
  y.scatter(at, insert(v, extract(v, 1), 2));
  x.prefetch(i);
  s[i] = plane_reduce_max(reduce_add(shuffle(v, v, {7, 0})));
  barrier();
  const Val old = n.atomic_add(0, i);
  const Var count(old, "count");
  while_([&] { return count.get() > 0; }, [&] { count -= 1; });
  if_(
      !(old == 3), [] { return_(); }, [&] { y[0] = s[0]; });
  const Val tile = x.load(0, 8);
  y.store(8, matrix_multiply({16, 8, 8, Scalar::f32, Scalar::f32, Scalar::f32}, tile, tile, tile));
  EXPECT_EQ(print(b.finish()), R"(kernel all(@x: f32 read, @y: f32 write, @n: i32 write) units 32x2x1 {
  shared @s: f32[64]
  local @count: i32[1]
  %0 = unit_x
  %1 = lane_index i64x4
  %3 = lt i64x4 %1, 2
  %5 = load f32x4 @x[%0], mask %3, other 1.5
  ; a note
  store f32x4 @y[0], %5, mask %3, aligned
  %7 = gather f32x4 @x[%1]
  store f32x4 @y[16], %7, non_temporal
  %9 = extract f32x4 %5, lane 1
  %10 = insert f32x4 %5, %9, lane 2
  scatter f32x4 @y[%1], %10
  prefetch @x[%0], read
  %11 = shuffle f32x4 %5, %5, [7, 0]
  %12 = reduce_add f32x2 %11
  %13 = plane_reduce_max f32 %12
  store f32 @s[%0], %13
  barrier
  %14 = atomic_add i32 @n[0], %0
  store i32 @count[0], %14, aligned
  while {
    %15 = load i32 @count[0], aligned
    %17 = gt i32 %15, 0
    yield %17
  } do {
    %18 = load i32 @count[0], aligned
    %20 = sub i32 %18, 1
    store i32 @count[0], %20, aligned
  }
  %22 = eq i32 %14, 3
  %24 = bit_xor bool %22, true
  if %24 {
    return
  } else {
    %25 = load f32 @s[0]
    store f32 @y[0], %25
  }
  %26 = load f32x8 @x[0]
  %27 = matrix_multiply m16n8k8 f32 f32 f32, %26, %26, %26
  store f32x8 @y[8], %27
}
)");
}

}  // namespace
}  // namespace strata::kernel
