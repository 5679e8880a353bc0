#include <atomic>
#include <random>

#include "base/hash.hpp"
#include "bridge/bridge.hpp"
#include "dispatch/entry.hpp"
#include "strata/detail/ops.hpp"
#include "strata/tensor.hpp"

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
}  // namespace detail

}  // namespace strata
