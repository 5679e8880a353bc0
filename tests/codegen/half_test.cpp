// Conversions of halves over all their bit patterns, with and without the CPU's instructions for them.
#include <bit>

#include "codegen/harness.hpp"
#include "strata/error.hpp"

namespace strata::codegen {
namespace {

using kernel::Builder;
using kernel::Scalar;
using kernel::Val;
using test::Arguments;

constexpr std::size_t patterns = 1 << 16;

kernel::Kernel conversion(Scalar from, Scalar to, int lanes) {
  Builder b("conversion");
  auto x = b.read("x", from);
  auto y = b.write("y", to);
  kernel::for_(0, x.length(), lanes, [&](Val i) { y.store(i, convert(x.load(i, lanes), to)); });
  return b.finish();
}

bool same_float(float a, float b) {
  return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b) || (a != a && b != b);
}

template <class Half>
void check_half(Scalar scalar, int lanes, const Target& target) {
  std::vector<std::uint16_t> all(patterns);
  for (std::size_t n = 0; n < patterns; ++n) all[n] = static_cast<std::uint16_t>(n);
  Arguments widening;
  widening.add(all).add_bytes(patterns * 4);
  const auto wide =
      test::run_generated(conversion(scalar, Scalar::f32, lanes), widening, target).template get<float>(1);
  for (std::size_t n = 0; n < patterns; ++n) {
    Half h;
    h.bits = all[n];
    ASSERT_TRUE(same_float(wide[n], static_cast<float>(h))) << std::hex << n;
  }
  // every upper half of an f32, with lower halves around the ties of both formats
  for (const std::uint32_t low :
       {0u, 1u, 0xfffu, 0x1000u, 0x1001u, 0x2fffu, 0x3000u, 0x3001u, 0x7fffu, 0x8000u, 0x8001u, 0xffffu}) {
    std::vector<float> in(patterns);
    for (std::size_t n = 0; n < patterns; ++n)
      in[n] = std::bit_cast<float>(static_cast<std::uint32_t>(n << 16) | low);
    Arguments narrowing;
    narrowing.add(in).add_bytes(patterns * 2);
    const auto bits = test::run_generated(conversion(Scalar::f32, scalar, lanes), narrowing, target)
                          .template get<std::uint16_t>(1);
    for (std::size_t n = 0; n < patterns; ++n) {
      Half h;
      h.bits = bits[n];
      const Half expected(in[n]);
      ASSERT_TRUE(h.bits == expected.bits ||
                  (static_cast<float>(h) != static_cast<float>(h) && in[n] != in[n]))
          << std::hex << std::bit_cast<std::uint32_t>(in[n]) << " gave " << h.bits << ", not "
          << expected.bits;
    }
  }
}

struct Machine {
  const char* cpu;
  int lanes;
};
void PrintTo(const Machine& m, std::ostream* out) {
  *out << (*m.cpu == '\0' ? "host" : m.cpu) << " x" << m.lanes;
}
class Halves : public ::testing::TestWithParam<Machine> {
 protected:
  Target target() const { return {Target::Kind::host, 80, false, GetParam().cpu}; }
};

TEST_P(Halves, F16ConvertsExactlyAndRoundsToNearestEven) {
  check_half<Float16>(Scalar::f16, GetParam().lanes, target());
}
TEST_P(Halves, Bf16ConvertsExactlyAndRoundsToNearestEven) {
  check_half<BFloat16>(Scalar::bf16, GetParam().lanes, target());
}

INSTANTIATE_TEST_SUITE_P(Machines, Halves,
                         ::testing::Values(Machine{"", 1}, Machine{"", 4}, Machine{"", 16}, Machine{"", 64},
                                           Machine{"x86-64-v2", 1}, Machine{"x86-64-v2", 16},
                                           Machine{"x86-64-v3", 16}));

/// A CPU without the wide registers, or without f16 instructions, gives the same results.
TEST(OlderMachines, GiveTheSameResults) {
  Builder b("older");
  auto x = b.read("x", Scalar::f32);
  auto n = b.read("n", Scalar::i32);
  auto y = b.write("y", Scalar::f32);
  kernel::for_(0, 64, 16, [&](Val i) {
    const Val v = x.load(i, 16);
    y.store(i, kernel::scale_exponent(v, n.load(i, 16)));
    y.store(i + 64, max(v, floor(v)) + min(v, v * 2) + convert(convert(v, Scalar::f16), Scalar::f32));
    y.store(i + 128, convert(convert(v, Scalar::i64), Scalar::f32));
  });
  const auto k = b.finish();
  std::vector<float> in;
  std::vector<std::int32_t> exponents;
  const std::int32_t steps[] = {0,    1,   -1,   126,  127,   128, -126, -127,
                                -149, 276, -276, 1000, -1000, 24,  -140, 2147483647};
  const float values[] = {1, -1.5F, 1e-45F, 3e38F};
  for (const float v : values)
    for (const std::int32_t s : steps) {
      in.push_back(v);
      exponents.push_back(s);
    }
  Arguments a;
  a.add(in).add(exponents).add_bytes(192 * 4);
  for (const char* cpu : {"", "x86-64-v2", "x86-64-v3", "x86-64-v4"}) {
    if (std::string(cpu) == "x86-64-v4" && host_vector_bytes() < 64) continue;
    SCOPED_TRACE(cpu);
    test::expect_like_interpreter(k, a, {Target::Kind::host, 80, false, cpu});
  }
  test::expect_like_interpreter_on_gpu(k, a);
  test::expect_assembles(k);
}

TEST(OlderMachines, ThatWouldNeedALibraryAreRefusedByName) {
  Builder b("needs_fma");
  auto y = b.read_write("y", Scalar::f32);
  y[0] = kernel::fma(static_cast<Val>(y[0]), y[1], y[2]);
  const auto k = b.finish();
  try {
    compile(k, {Target::Kind::host, 80, false, "x86-64-v2"}, Format::object);
    FAIL() << "a call to fmaf was let through";
  } catch (const CompileError& e) {
    EXPECT_NE(std::string(e.what()).find("fmaf"), std::string::npos) << e.what();
    EXPECT_NE(std::string(e.what()).find("needs_fma"), std::string::npos) << e.what();
  }
}

}  // namespace
}  // namespace strata::codegen
