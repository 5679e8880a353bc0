#include "kernel/builder.hpp"

#include <gtest/gtest.h>

#include "kernel/hash.hpp"
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

}  // namespace
}  // namespace strata::kernel
