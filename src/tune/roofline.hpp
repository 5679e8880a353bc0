/// What a device can do at best, measured by a few launches of our own kernels: bounds that no other kernel
/// can beat.
///
/// A peak that is too low would end a search at a poor kernel, so each is the best of several launches, is
/// raised when a kernel beats it, and is kept in the store under the device's identity.
#pragma once

#include <mutex>
#include <optional>

#include "cache/store.hpp"
#include "kernel/ir.hpp"
#include "runtime/client.hpp"

namespace strata::tune {

/// S. Williams, A. Waterman, D. Patterson, "Roofline: an insightful visual performance model", 2009.
struct Peaks {
  double operations = 0;  ///< a second: one multiply-add counts as two; 0: unknown
  double bytes = 0;       ///< a second, read from the caches: above what memory gives
  /// Seconds that this much work takes at least; 0 when nothing is known.
  double bound(double work, double traffic) const;
};

/// One per client. Thread-safe.
class Roofline {
 public:
  Roofline(runtime::Client& client, cache::Store& store) : client_(client), store_(store) {}

  /// Peaks for arithmetic in `scalar` (f32 or f64; others have no known peak). Measures at most once a
  /// process and stores what it found; about 12 launches.
  Peaks peaks(kernel::Scalar scalar);
  /// A kernel did `work` operations in `seconds`: raises the peak where it was too low.
  void achieved(kernel::Scalar scalar, double work, double seconds);

 private:
  Peaks measure(kernel::Scalar scalar);
  std::string key(kernel::Scalar scalar) const;
  void put(kernel::Scalar scalar, const Peaks& peaks);

  runtime::Client& client_;
  cache::Store& store_;
  std::mutex mutex_;
  std::optional<Peaks> known_[2];  ///< f32, f64
};

/// Chains of multiply-adds in registers, `steps` of them each, one cube a thread.
kernel::Kernel build_arithmetic_probe(kernel::Scalar scalar, int lanes);
/// Multiply-adds a cube does in one step of its loop.
int arithmetic_per_step(int lanes);
/// Sums a part of a buffer `repeats` times, one cube a thread.
kernel::Kernel build_stream_probe(kernel::Scalar scalar, int lanes);

}  // namespace strata::tune
