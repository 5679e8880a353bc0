#include <atomic>
#include <random>

#include "base/hash.hpp"
#include "bridge/bridge.hpp"
#include "dispatch/entry.hpp"
#include "strata/detail/functions.hpp"
#include "strata/random.hpp"

namespace strata {
namespace {

/// Every call takes the next key of the seed's sequence, whatever the device.
struct Generator {
  std::atomic<std::uint64_t> seed{std::random_device{}() | std::uint64_t{std::random_device{}()} << 32};
  std::atomic<std::uint64_t> calls{0};

  static Generator& get() {
    static Generator generator;
    return generator;
  }
  std::uint64_t next_key() {
    base::Hasher h;
    h.word(seed.load(std::memory_order_relaxed));
    h.word(calls.fetch_add(1, std::memory_order_relaxed));
    return h.value();
  }
};

}  // namespace

inline namespace v0 {
void manual_seed(std::uint64_t seed) {
  auto& g = Generator::get();
  g.seed.store(seed, std::memory_order_relaxed);
  g.calls.store(0, std::memory_order_relaxed);
}
}  // namespace v0

namespace detail {
ValueRef random(const Shape& shape, DType dtype, op::Distribution d, double a, double b,
                const Device& device) {
  return bridge::random(device.entry().backend(), {shape, dtype, d, a, b, Generator::get().next_key()});
}
ValueRef random_permutation(std::int64_t n, const Device& device) {
  if (n < 0) throw ArgumentError("[randperm] cannot permute " + std::to_string(n) + " numbers");
  return bridge::argsort(random({n}, DType::f64, op::Distribution::uniform, 0, 1, device), 0, false);
}

ValueRef categorical(const ValueRef& weights, std::int64_t count) {
  const int last = weights->shape.rank() - 1;
  if (count < 0 || weights->shape[last] < 1) {
    throw ArgumentError("[categorical] cannot draw " + std::to_string(count) + " of the classes of " +
                        weights->shape.to_string());
  }
  // In f64 u * total < total for every u < 1, so that no class without weight is drawn.
  const auto sums = bridge::cumulative(op::CumulativeKind::sum, bridge::cast(weights, DType::f64), last);
  Shape shape = weights->shape;
  shape[last] = count;
  const auto u = bridge::random(
      weights->backend, {shape, DType::f64, op::Distribution::uniform, 0, 1, Generator::get().next_key()});
  const auto classes = weights->shape[last];
  const auto drawn = searchsorted(sums, bridge::mul(u, narrow(sums, last, classes - 1, 1)), true);
  return bridge::binary(op::BinaryKind::min, drawn, op::Number(classes - 1));
}
}  // namespace detail

}  // namespace strata
