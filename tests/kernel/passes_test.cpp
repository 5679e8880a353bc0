/// Passes keep what a kernel computes, and leave only what they promise.
#include <gtest/gtest.h>

#include <vector>

#include "kernel/builder.hpp"
#include "kernel/interpreter.hpp"
#include "kernel/passes/fission.hpp"
#include "kernel/passes/lower_math.hpp"
#include "kernel/passes/promote_halves.hpp"
#include "kernel/print.hpp"
#include "kernel/random_kernel.hpp"
#include "kernel/verify.hpp"
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

}  // namespace
}  // namespace strata::kernel
