// Every element-wise opcode on every type and several lane counts, against the interpreter.
#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "codegen/harness.hpp"

namespace strata::codegen {
namespace {

using kernel::Builder;
using kernel::Opcode;
using kernel::Scalar;
using kernel::Val;
using test::Arguments;

constexpr std::size_t count = 192;  // of every input; a multiple of the lane counts

/// Bits of interesting and of random elements.
std::vector<unsigned char> inputs(Scalar s, unsigned seed) {
  std::mt19937_64 random(seed);
  std::vector<unsigned char> bytes;
  const auto put = [&](auto v) {
    const auto* p = reinterpret_cast<const unsigned char*>(&v);
    bytes.insert(bytes.end(), p, p + sizeof v);
  };
  const double special[] = {0.,     -0.,         1.,          -1.,    0.5,     -2.5,
                            3.5,    1e-40,       -1e-320,     65504., 65520.,  1e30,
                            -1e300, INFINITY,    -INFINITY,   NAN,    255.6,   256.,
                            -0.7,   2147483647., 2147483648., 9.3e18, -9.3e18, 4294967296.};
  const std::int64_t whole[] = {0,
                                1,
                                -1,
                                2,
                                127,
                                128,
                                255,
                                256,
                                2147483647,
                                -2147483648LL,
                                4294967295LL,
                                std::numeric_limits<std::int64_t>::max(),
                                std::numeric_limits<std::int64_t>::min(),
                                16777217};
  for (std::size_t n = 0; n < count; ++n) {
    const std::uint64_t r = random();
    const bool pick = n % 2 == 0;
    const double f =
        pick ? special[r % std::size(special)]
             : std::ldexp(static_cast<double>(r % 20000) - 10000, static_cast<int>(r >> 40) % 24 - 16);
    const std::int64_t i =
        pick ? whole[r % std::size(whole)] : static_cast<std::int64_t>(random()) >> (r % 64);
    switch (s) {
      case Scalar::f64:
        put(f);
        break;
      case Scalar::f32:
        put(static_cast<float>(f));
        break;
      case Scalar::f16:
        put(Float16(static_cast<float>(f)).bits);
        break;
      case Scalar::bf16:
        put(BFloat16(static_cast<float>(f)).bits);
        break;
      case Scalar::boolean:
        put(static_cast<unsigned char>(r & 1));
        break;
      case Scalar::u8:
        put(static_cast<std::uint8_t>(i));
        break;
      case Scalar::i32:
      case Scalar::u32:
        put(static_cast<std::int32_t>(i));
        break;
      default:
        put(i);
    }
  }
  return bytes;
}

struct Point {
  Scalar scalar;
  int lanes;
};
void PrintTo(const Point& p, std::ostream* out) { *out << kernel::name_of(p.scalar) << "x" << p.lanes; }

class Elementwise : public ::testing::TestWithParam<Point> {
 protected:
  void check(kernel::Kernel k, std::initializer_list<Scalar> in,
             std::initializer_list<std::pair<Scalar, std::size_t>> out) {
    Arguments a;
    unsigned seed = 1;
    for (const Scalar s : in) a.buffers.push_back(inputs(s, seed++));
    for (const auto& [s, results] : out) a.add_bytes(results * count * kernel::size_of(s));
    test::expect_like_interpreter(k, a);
    test::expect_like_interpreter_on_gpu(k, a);
    assemble(k);
  }
  /// ptxas takes most of the time here; every opcode and type passes it on scalars and on one short and one
  /// long vector.
  static void assemble(const kernel::Kernel& k) {
    if (GetParam().lanes == 1 || GetParam().lanes == 4 || GetParam().lanes == 16) test::expect_assembles(k);
  }
};

std::vector<Val> results_of(Val a, Val b, Val c, Val condition) {
  const Scalar s = a.scalar();
  if (s == Scalar::boolean) return {a & b, a | b, a ^ b, !a, select(condition, a, b)};
  std::vector<Val> r{-a, abs(a), a + b, a - b, a * b, min(a, b), max(a, b), select(condition, a, b)};
  if (kernel::is_float(s)) {
    for (const Val v : {a / b, sqrt(abs(a)), floor(a), ceil(a), rint(a), trunc(a), fma(a, b, c)})
      r.push_back(v);
    return r;
  }
  // a divisor that is neither 0 nor -1
  const Val divisor = (b & kernel::constant(b.type, 0x3f)) | kernel::constant(b.type, 1);
  const Val places = b & kernel::constant(b.type, static_cast<int>(8 * kernel::size_of(s)) - 1);
  for (const Val v : {a / divisor, a % divisor, a & b, a | b, a ^ b, ~a, a << places, a >> places})
    r.push_back(v);
  if (s == Scalar::i32 || s == Scalar::u32) r.push_back(mul_high(a, b));
  return r;
}

TEST_P(Elementwise, ArithmeticAndComparisonsMatchTheInterpreter) {
  const auto [s, lanes] = GetParam();
  Builder builder("elementwise");
  auto a = builder.read("a", s), b = builder.read("b", s), c = builder.read("c", s);
  auto condition = builder.read("condition", Scalar::boolean);
  auto out = builder.write("out", s), truth = builder.write("truth", Scalar::boolean);
  std::size_t values = 0, truths = 0;
  kernel::for_(0, static_cast<int>(count), lanes, [&](Val i) {
    const Val x = a.load(i, lanes), y = b.load(i, lanes);
    const auto results = results_of(x, y, c.load(i, lanes), condition.load(i, lanes));
    values = results.size();
    for (std::size_t n = 0; n < values; ++n) out.store(i + static_cast<int>(n * count), results[n]);
    std::vector<Val> tests{x == y, x != y, x<y, x <= y, x> y, x >= y};
    if (kernel::is_float(s)) tests.push_back(is_nan(x));
    truths = tests.size();
    for (std::size_t n = 0; n < truths; ++n) truth.store(i + static_cast<int>(n * count), tests[n]);
  });
  check(builder.finish(), {s, s, s, Scalar::boolean}, {{s, values}, {Scalar::boolean, truths}});
}

constexpr Scalar all[] = {Scalar::f64, Scalar::f32, Scalar::f16,     Scalar::bf16, Scalar::i64,
                          Scalar::i32, Scalar::u8,  Scalar::boolean, Scalar::u32,  Scalar::u64};

TEST_P(Elementwise, ConversionsToEveryTypeMatchTheInterpreter) {
  const auto [s, lanes] = GetParam();
  Builder builder("conversions");
  auto a = builder.read("a", s);
  std::vector<kernel::Buffer> out;
  for (const Scalar to : all) out.push_back(builder.write(kernel::name_of(to), to));
  kernel::for_(0, static_cast<int>(count), lanes, [&](Val i) {
    const Val x = a.load(i, lanes);
    for (auto& o : out) o.store(i, convert(x, o.scalar()));
  });
  Arguments arguments;
  arguments.buffers.push_back(inputs(s, 7));
  for (const Scalar to : all) arguments.add_bytes(count * kernel::size_of(to));
  const auto k = builder.finish();
  test::expect_like_interpreter(k, arguments);
  test::expect_like_interpreter_on_gpu(k, arguments);
  assemble(k);
}

TEST_P(Elementwise, VectorOperationsMatchTheInterpreter) {
  const auto [s, lanes] = GetParam();
  Builder builder("vectors");
  auto a = builder.read("a", s);
  auto out = builder.write("out", s);
  const auto n = static_cast<int>(count);
  kernel::for_(0, n, lanes, [&](Val i) {
    const Val x = a.load(i, lanes), other = a.load(n - lanes - i, lanes);
    std::vector<std::int32_t> order;
    for (int l = 0; l < lanes; ++l) order.push_back((l * 7 + 3) % (2 * lanes));
    out.store(i, shuffle(x, other, order));
    out.store(i + n, insert(x, extract(other, lanes / 2), lanes - 1));
    out.store(i + 2 * n, kernel::splat(extract(x, 0), lanes));
    out.store(i + 3 * n, shuffle(x, other, {lanes}));
    if (s == Scalar::boolean) return;
    out.store(i + 4 * n, lane_index(x.type));
    const Val reduced[] = {reduce_add(x), reduce_mul(x), reduce_min(x), reduce_max(x)};
    for (int r = 0; r < 4; ++r) out.store(i + (5 + r) * n, reduced[r]);
  });
  check(builder.finish(), {s}, {{s, 9}});
}

TEST_P(Elementwise, MaskedAccessesMatchTheInterpreter) {
  const auto [s, lanes] = GetParam();
  Builder builder("masks");
  auto a = builder.read("a", s), b = builder.read("b", s), mask = builder.read("mask", Scalar::boolean);
  auto out = builder.write("out", s);
  const auto n = static_cast<int>(count);
  kernel::for_(0, n, lanes, [&](Val i) {
    const Val m = mask.load(i, lanes);
    out.store(i, a.load(i, lanes, {.mask = m}));
    out.store(i + n, a.load(i, lanes, {.mask = m, .other = b.load(i, lanes)}));
    out.store(i + 2 * n, b.load(i, lanes), {.mask = m});
    const kernel::Type t{Scalar::i64, static_cast<std::uint16_t>(lanes)};
    const Val backwards = kernel::splat(n - 1 - i, lanes) - lane_index(t);
    out.store(i + 3 * n, a.gather(backwards));
    out.store(i + 4 * n, a.gather(backwards, m));
    out.scatter(backwards + 5 * n, b.load(i, lanes));
    out.scatter(backwards + 6 * n, b.load(i, lanes), m);
    // beyond the end of `a`: masked off, so never touched
    out.store(i + 7 * n, a.load(i + n, lanes,
                                {.mask = kernel::splat(kernel::constant({Scalar::boolean, 1}, 0), lanes)}));
  });
  check(builder.finish(), {s, s, Scalar::boolean}, {{s, 8}});
}

std::vector<Point> points() {
  std::vector<Point> p;
  for (const Scalar s : all)
    for (const int lanes : {1, 3, 4, 16, 64}) p.push_back({s, lanes});
  return p;
}
INSTANTIATE_TEST_SUITE_P(Types, Elementwise, ::testing::ValuesIn(points()), [](const auto& p) {
  return std::string(kernel::name_of(p.param.scalar)) + "x" + std::to_string(p.param.lanes);
});

}  // namespace
}  // namespace strata::codegen
