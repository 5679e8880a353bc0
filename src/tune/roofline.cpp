#include "tune/roofline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <memory>

#include "kernel/builder.hpp"
#include "kernel/traits.hpp"
#include "trace/log.hpp"
#include "trace/span.hpp"

namespace strata::tune {

namespace {

using kernel::Scalar;
using kernel::Val;

constexpr int chains =
    24;  ///< independent multiply-adds: enough for two units of latency 4, few enough for registers
constexpr int streams = 8;   ///< vectors in flight
constexpr int launches = 6;  ///< a probe; the best counts
constexpr std::int64_t arithmetic_steps = 100000;
constexpr std::int64_t stream_bytes = std::int64_t{256} << 10;  ///< a cube: stays in its second-level cache
constexpr std::int64_t stream_repeats = 40;

std::size_t slot_of(Scalar s) { return s == Scalar::f64 ? 1 : 0; }

}  // namespace

double Peaks::bound(double work, double traffic) const {
  if (operations <= 0 || bytes <= 0) return 0;
  return std::max(work / operations, traffic / bytes);
}

int arithmetic_per_step(int lanes) { return chains * lanes; }

kernel::Kernel build_arithmetic_probe(Scalar scalar, int lanes) {
  kernel::Builder b("probe_arithmetic");
  const auto out = b.write("out", scalar);
  const auto steps = b.scalar("steps", Scalar::i64);
  const auto t = kernel::make_type(scalar, lanes);
  std::vector<kernel::Var> sums;
  for (int i = 0; i < chains; ++i) sums.emplace_back(kernel::constant(t, 0.001 * (i + 1)));
  const Val factor = kernel::convert(kernel::convert(steps, Scalar::f64) * 1e-9, scalar);
  const Val x = kernel::splat(factor, lanes);
  kernel::for_(0, steps, 1, [&](Val) {
    for (auto& s : sums) s = kernel::fma(s, x, x);
  });
  Val total = sums[0];
  for (int i = 1; i < chains; ++i) total = total + sums[static_cast<std::size_t>(i)];
  const auto cube = kernel::convert(kernel::cube_x(), Scalar::i64);
  out.store(cube, kernel::reduce_add(total));
  return b.finish();
}

kernel::Kernel build_stream_probe(Scalar scalar, int lanes) {
  kernel::Builder b("probe_stream");
  const auto in = b.read("in", scalar);
  const auto out = b.write("out", scalar);
  const auto length = b.scalar("length", Scalar::i64), repeats = b.scalar("repeats", Scalar::i64);
  const auto t = kernel::make_type(scalar, lanes);
  std::vector<kernel::Var> sums;
  for (int i = 0; i < streams; ++i) sums.emplace_back(kernel::constant(t, 0));
  const auto cube = kernel::convert(kernel::cube_x(), Scalar::i64);
  const Val begin = cube * length;
  kernel::for_(0, repeats, 1, [&](Val) {
    kernel::for_(begin, begin + length, std::int64_t{streams} * lanes, [&](Val at) {
      for (int i = 0; i < streams; ++i)
        sums[static_cast<std::size_t>(i)] += in.load(at + std::int64_t{i} * lanes, lanes);
    });
  });
  Val total = sums[0];
  for (int i = 1; i < streams; ++i) total = total + sums[static_cast<std::size_t>(i)];
  out.store(cube, kernel::reduce_add(total));
  return b.finish();
}

std::string Roofline::key(Scalar scalar) const {
  return fmt::format("roofline 1 {}", kernel::name_of(scalar));
}

Peaks Roofline::measure(Scalar scalar) {
  trace::Span span("tune", "probe");
  const auto& device = client_.properties();
  const auto size = static_cast<std::int64_t>(kernel::size_of(scalar));
  const int lanes = std::max(1, device.vector_bytes / static_cast<int>(size));
  const auto cubes = static_cast<std::uint32_t>(std::max(1, device.threads));
  const auto best = [&](const runtime::Launch& l) {
    const auto times = client_.time(l, launches);
    return std::max(1e-9, *std::ranges::min_element(times));
  };
  const auto out = client_.allocate(cubes * static_cast<std::size_t>(size));
  const auto program = [&](kernel::Kernel k) {
    return client_.program(std::make_shared<const kernel::Kernel>(std::move(k)));
  };
  const runtime::ProgramRef programs[] = {program(build_arithmetic_probe(scalar, lanes)),
                                          program(build_stream_probe(scalar, lanes))};
  client_.precompile(programs);
  Peaks p;
  const double work = 2.0 * arithmetic_per_step(lanes) * static_cast<double>(arithmetic_steps) * cubes;
  p.operations = work / best({programs[0], {cubes, 1, 1}, {out}, {arithmetic_steps}});

  const auto in = client_.allocate(cubes * static_cast<std::size_t>(stream_bytes));
  const auto bytes = static_cast<std::size_t>(stream_bytes) * cubes;
  const std::shared_ptr<std::byte[]> zeros(new std::byte[bytes]());
  client_.write(in, {zeros, zeros.get()}, bytes);
  const double traffic = static_cast<double>(bytes) * static_cast<double>(stream_repeats);
  p.bytes = traffic / best({programs[1], {cubes, 1, 1}, {in, out}, {stream_bytes / size, stream_repeats}});
  trace::log::info(trace::log::Topic::tune, "{}: peak {:.1f} GFLOP/s in {}, {:.1f} GB/s from the caches",
                   device.device, p.operations * 1e-9, kernel::name_of(scalar), p.bytes * 1e-9);
  return p;
}

void Roofline::put(Scalar scalar, const Peaks& p) {
  store_.put(cache::Kind::probe, client_.properties().identity, key(scalar),
             fmt::format("{} {}", p.operations, p.bytes), true);
}

Peaks Roofline::peaks(Scalar scalar) {
  if (scalar != Scalar::f32 && scalar != Scalar::f64) return {};
  if (client_.properties().plane_size > 1) return {};  // the probes are of one unit a cube
  const std::lock_guard lock(mutex_);
  auto& known = known_[slot_of(scalar)];
  if (known) return *known;
  if (const auto text = store_.get(cache::Kind::probe, client_.properties().identity, key(scalar))) {
    Peaks p;
    const auto end = text->data() + text->size();
    const auto first = std::from_chars(text->data(), end, p.operations);
    if (first.ec == std::errc{} && first.ptr != end &&
        std::from_chars(first.ptr + 1, end, p.bytes).ec == std::errc{} && p.operations > 0 && p.bytes > 0) {
      return *(known = p);
    }
  }
  known = measure(scalar);
  put(scalar, *known);
  return *known;
}

void Roofline::achieved(Scalar scalar, double work, double seconds) {
  if ((scalar != Scalar::f32 && scalar != Scalar::f64) || seconds <= 0) return;
  const std::lock_guard lock(mutex_);
  auto& known = known_[slot_of(scalar)];
  if (!known || work / seconds <= known->operations) return;
  known->operations = work / seconds;
  put(scalar, *known);
}

}  // namespace strata::tune
