// Loops, conditions, positions, arrays and atomics, against the interpreter.
#include <numeric>
#include <thread>

#include "codegen/harness.hpp"
#include "codegen/object_loader.hpp"

namespace strata::codegen {
namespace {

using kernel::Builder;
using kernel::Scalar;
using kernel::Type;
using kernel::Val;
using kernel::Var;
using test::Arguments;

std::vector<float> ramp(std::size_t n) {
  std::vector<float> v(n);
  std::iota(v.begin(), v.end(), 1.0F);
  return v;
}

void check(const kernel::Kernel& k, const Arguments& a) {
  test::expect_like_interpreter(k, a);
  test::expect_like_interpreter_on_gpu(k, a);
  test::expect_assembles(k);
}

TEST(ControlFlow, LoopsWithRuntimeBoundsAndScalarParameters) {
  Builder b("strided_sum");
  auto x = b.read("x", Scalar::f32);
  auto y = b.write("y", Scalar::f32);
  const Val step = b.scalar("step", Scalar::i64), scale = b.scalar("scale", Scalar::f32),
            shift = b.scalar("shift", Scalar::f64);
  const Val wanted = b.scalar("wanted", Scalar::boolean), small = b.scalar("small", Scalar::u8);
  Var sum(kernel::constant({Scalar::f32, 1}, 0));
  kernel::for_(0, x.length(), step, [&](Val i) { sum = kernel::fma(x[i], scale, sum.get()); });
  y[0] = sum;
  y[1] = convert(shift, Scalar::f32);
  y[2] = select(wanted, 1, kernel::constant({Scalar::f32, 1}, 2.0));
  y[3] = convert(small, Scalar::f32);
  const auto k = b.finish();
  for (const std::int64_t stride : {1, 3, 50, 1000}) {
    Arguments a;
    a.add(ramp(100)).add_bytes(16);
    a.scalars = {stride, std::bit_cast<std::int32_t>(0.5F), std::bit_cast<std::int64_t>(2.25), 1, 200};
    test::expect_like_interpreter(k, a);
    test::expect_like_interpreter_on_gpu(k, a);
  }
  test::expect_assembles(k);
}

TEST(ControlFlow, ALoopWhoseBoundsAreEmptyDoesNotRun) {
  Builder b("empty");
  auto y = b.read_write("y", Scalar::i32);
  const Val n = b.scalar("n", Scalar::i32);
  kernel::for_(5, n, 1, [&](Val i) { y[i] = i; });
  kernel::while_([&] { return n > 100; }, [&] { y[0] = 1; });
  Arguments a;
  a.add(std::vector<std::int32_t>(8, 7));
  a.scalars = {5};
  check(b.finish(), a);
}

TEST(ControlFlow, NestedConditionsAndWhileLoops) {
  Builder b("collatz", {8, 1, 1});
  auto steps = b.write("steps", Scalar::i64);
  const Val i = kernel::absolute_pos();
  kernel::if_(i >= 1, [&] {
    Var n(i), count(kernel::constant({Scalar::i64, 1}, 0));
    kernel::while_([&] { return n.get() != 1; },
                   [&] {
                     kernel::if_((n.get() & 1) == 0, [&] { n = n.get() / 2; }, [&] { n = n.get() * 3 + 1; });
                     count += 1;
                   });
    steps[i] = count;
  });
  Arguments a;
  a.add(std::vector<std::int64_t>(64, -1));
  a.cubes = {8, 1, 1};
  check(b.finish(), a);
}

TEST(ControlFlow, ReturnEndsTheUnitOnly) {
  Builder b("early", {4, 1, 1});
  auto y = b.write("y", Scalar::i32);
  const Val i = kernel::absolute_pos();
  kernel::if_(i % 3 == 0, [&] { kernel::return_(); });
  y[i] = convert(i, Scalar::i32);
  Arguments a;
  a.add(std::vector<std::int32_t>(24, -1));
  a.cubes = {6, 1, 1};
  check(b.finish(), a);
}

TEST(ControlFlow, UnrolledLoopsNest) {
  Builder b("unrolled");
  auto x = b.read("x", Scalar::f32);
  auto y = b.write("y", Scalar::f32);
  auto tile = kernel::local_array(Scalar::f32, 16);
  kernel::for_(
      0, 4, 1,
      [&](Val i) {
        kernel::for_(
            0, 4, 1, [&](Val j) { tile[i * 4 + j] = x[j * 4 + i]; }, kernel::unroll);
      },
      kernel::unroll);
  kernel::for_(
      0, 16, 5, [&](Val i) { y[i] = tile[i]; }, kernel::unroll);
  const auto k = b.finish();
  Arguments a;
  a.add(ramp(16)).add(std::vector<float>(16, 0));
  check(k, a);
  const auto text = compile(k, {}, Format::llvm_ir).code;
  EXPECT_EQ(text.find("alloca"), std::string::npos) << "unrolled accesses must become registers\n" << text;
}

TEST(ControlFlow, EveryCubeAndUnitSeesItsOwnPosition) {
  Builder b("positions", {3, 2, 2});
  auto y = b.write("y", Scalar::i32);
  using namespace kernel;  // NOLINT(google-build-using-namespace)
  const Val cube = (cube_z() * cube_count_y() + cube_y()) * cube_count_x() + cube_x();
  const Val unit = (unit_z() * 2 + unit_y()) * 3 + unit_x();
  const Val base = (cube * 12 + unit) * 2;
  y[base] = cube_x() * 10000 + cube_y() * 100 + cube_z() + cube_count_z() * 1000000;
  y[base + 1] = unit_x() * 10000 + unit_y() * 100 + unit_z();
  Arguments a;
  a.cubes = {3, 4, 5};
  a.add(std::vector<std::int32_t>(60 * 24, -1));
  check(b.finish(), a);
}

TEST(ControlFlow, UnitsExchangeThroughSharedMemoryAtBarriers) {
  Builder b("tree_sum", {32, 2, 1});
  auto x = b.read("x", Scalar::f32);
  auto y = b.write("y", Scalar::f32);
  auto tile = kernel::shared_array(Scalar::f32, 64);
  const Val unit = kernel::unit_y() * 32 + kernel::unit_x();
  tile[unit] = x[kernel::cube_x() * 64 + unit];
  for (int step = 32; step > 0; step /= 2) {
    kernel::barrier();
    kernel::if_(unit < step, [&] { tile[unit] = static_cast<Val>(tile[unit]) + tile[unit + step]; });
  }
  kernel::barrier();
  kernel::if_(unit == 0, [&] { y[kernel::cube_x()] = tile[0]; });
  Arguments a;
  a.cubes = {5, 1, 1};
  a.add(ramp(320)).add(std::vector<float>(5, 0));
  check(b.finish(), a);
}

TEST(ControlFlow, LocalArraysWithRuntimeIndices) {
  Builder b("histogram");
  auto x = b.read("x", Scalar::u8);
  auto y = b.write("y", Scalar::i32);
  auto bins = kernel::local_array(Scalar::i32, 16);
  kernel::for_(0, 16, 1, [&](Val i) { bins[i] = 0; });
  kernel::for_(0, x.length(), 1, [&](Val i) {
    const Val bin = convert(static_cast<Val>(x[i]) & 15, Scalar::i32);
    bins[bin] = static_cast<Val>(bins[bin]) + 1;
  });
  kernel::for_(0, 16, 1, [&](Val i) { y[i] = bins[i]; });
  std::vector<std::uint8_t> in(1000);
  for (std::size_t n = 0; n < in.size(); ++n) in[n] = static_cast<std::uint8_t>(n * n * 31 / 7);
  Arguments a;
  a.add(in).add(std::vector<std::int32_t>(16, 0));
  check(b.finish(), a);
}

TEST(ControlFlow, NonTemporalAndAlignedVectorsAndPrefetch) {
  Builder b("stream");
  auto x = b.read("x", Scalar::f32);
  auto y = b.write("y", Scalar::f32);
  kernel::for_(0, 256, 64, [&](Val i) {
    x.prefetch(i + 64);
    y.store(i, x.load(i, 64) + 1, {.flags = kernel::non_temporal});
  });
  const auto k = b.finish();
  alignas(64) static float in[320] = {}, out[256] = {};
  std::iota(in, in + 320, 0.0F);
  const auto code = compile(k, {}, Format::object);
  const LoadedObject object(code.code);
  void* buffers[] = {in, out};
  const std::int64_t lengths[] = {320, 256};
  const std::uint32_t cubes[] = {1, 1, 1};
  object.entry("stream")(buffers, lengths, nullptr, cubes, 0, 1);
  for (int n = 0; n < 256; ++n) ASSERT_EQ(out[n], static_cast<float>(n + 1));
  EXPECT_NE(compile(k, {}, Format::assembly).code.find("vmovntps"), std::string::npos);
  test::expect_assembles(k);
}

template <class T>
class Atomics : public ::testing::Test {};
struct F64 {
  static constexpr Scalar scalar = Scalar::f64;
};
struct F32 {
  static constexpr Scalar scalar = Scalar::f32;
};
struct I64 {
  static constexpr Scalar scalar = Scalar::i64;
};
struct I32 {
  static constexpr Scalar scalar = Scalar::i32;
};
struct U32 {
  static constexpr Scalar scalar = Scalar::u32;
};
struct U64 {
  static constexpr Scalar scalar = Scalar::u64;
};
using AtomicTypes = ::testing::Types<F64, F32, I64, I32, U32, U64>;
TYPED_TEST_SUITE(Atomics, AtomicTypes);

/// Sums, minima and maxima over all units in global and in shared memory; `old` values too where the order is
/// known.
kernel::Kernel atomics(Scalar s, bool keep_old) {
  Builder b("atomics", {8, 1, 1});
  auto y = b.read_write("y", s), old = b.write("old", s);
  auto shared = kernel::shared_array(s, 3);
  kernel::if_(kernel::unit_x() == 0, [&] {
    for (int n = 0; n < 3; ++n) shared[n] = kernel::constant({s, 1}, 2);
  });
  kernel::barrier();
  const Val i = kernel::absolute_pos(), v = convert(i % 5 + 1, s);
  const Val seen[] = {y.atomic_add(0, v), y.atomic_min(1, v), y.atomic_max(2, v)};
  if (keep_old)
    for (int n = 0; n < 3; ++n) old[i * 3 + n] = seen[n];
  shared.atomic_add(0, v);
  shared.atomic_min(1, v);
  shared.atomic_max(2, v);
  kernel::barrier();
  kernel::if_(kernel::unit_x() == 0, [&] {
    for (int n = 0; n < 3; ++n) y[kernel::cube_x() * 3 + (3 + n)] = shared[n];
  });
  return b.finish();
}

TYPED_TEST(Atomics, CombineAndReturnTheOldValue) {
  constexpr Scalar s = TypeParam::scalar;
  Arguments a;
  a.cubes = {2, 1, 1};
  a.buffers.emplace_back(9 * kernel::size_of(s), static_cast<unsigned char>(0));
  a.buffers.emplace_back(48 * kernel::size_of(s), static_cast<unsigned char>(0));
  test::expect_like_interpreter(atomics(s, true), a);
  test::expect_like_interpreter_on_gpu(atomics(s, false), a);
  test::expect_assembles(atomics(s, true));
}

TEST(AtomicThreads, ThreadsDoNotLoseUpdates) {
  Builder b("count");
  auto sum = b.read_write("sum", Scalar::f32), most = b.read_write("most", Scalar::f32);
  sum.atomic_add(0, kernel::constant({Scalar::f32, 1}, 1.0));
  most.atomic_max(0, convert(kernel::cube_x(), Scalar::f32));
  const auto code = compile(b.finish(), {}, Format::object);
  const LoadedObject object(code.code);
  float total = 0, largest = 0;
  void* buffers[] = {&total, &largest};
  const std::int64_t lengths[] = {1, 1};
  constexpr std::int64_t cubes = 100000;
  const std::uint32_t count[] = {2 * cubes, 1, 1};
  const auto run = [&](std::int64_t begin) {
    object.entry("count")(buffers, lengths, nullptr, count, begin, begin + cubes);
  };
  std::thread other(run, cubes);
  run(0);
  other.join();
  EXPECT_EQ(total, 2 * cubes);
  EXPECT_EQ(largest, 2 * cubes - 1);
}

TEST(Planes, ExchangeAndReduceInWholeAndShortPlanes) {
  for (const std::uint32_t units : {64u, 40u}) {
    Builder b("planes", {units, 1, 1});
    std::vector<kernel::Buffer> out;
    const Scalar types[] = {Scalar::f64, Scalar::f32, Scalar::f16, Scalar::bf16,
                            Scalar::i64, Scalar::i32, Scalar::u32, Scalar::u8};
    for (const Scalar s : types) out.push_back(b.write(kernel::name_of(s), s));
    const Val lane = kernel::plane_lane(), i = kernel::absolute_pos();
    for (auto& o : out) {
      const Val v = convert(kernel::unit_x(), o.scalar());
      o[i * 5] = kernel::plane_shuffle(v, kernel::constant({Scalar::i32, 1}, 3));
      o[i * 5 + 1] = kernel::plane_shuffle_xor(v, lane & 7);
      o[i * 5 + 2] = kernel::plane_reduce_add(v);
      o[i * 5 + 3] = kernel::plane_reduce_min(v);
      o[i * 5 + 4] = kernel::plane_reduce_max(v);
      o[i * 5] = static_cast<Val>(o[i * 5]) + extract(kernel::plane_shuffle(kernel::splat(v, 4), lane), 2);
    }
    const auto k = b.finish();
    Arguments a;
    a.cubes = {2, 1, 1};
    for (const Scalar s : types) a.add_bytes((2 * units * 5 + 4) * kernel::size_of(s));
    test::expect_like_interpreter_on_gpu(k, a);
    test::expect_assembles(k);
    EXPECT_NE(compile(k, {Target::Kind::ptx, 80, false, {}}, Format::ptx).code.find("redux.sync.add.s32"),
              std::string::npos);
  }
}

}  // namespace
}  // namespace strata::codegen
