/// Families without inputs.
#pragma once

#include "op/common.hpp"
#include "strata/detail/kinds.hpp"

namespace strata::op {

/// Every element is `value`, converted to `dtype` as by Cast.
struct Fill {
  Shape shape;
  DType dtype{};
  Number value;
  bool operator==(const Fill&) const = default;
};

/// One axis: start, start + step, ... (`size` elements, computed as start + i * step in f64 for floats, i64
/// else).
struct Iota {
  std::int64_t size = 0;
  DType dtype{};
  Number start, step{1};
  bool operator==(const Iota&) const = default;
};

/// Counter-based random numbers, the same on every device for a seed. Element i (row-major) takes the words
/// w0 = r[2 * (i % 2)] and w1 = r[2 * (i % 2) + 1] of r = Philox4x32-10(counter = {low(i / 2), high(i / 2),
/// 0, 0}, key = {low(seed), high(seed)}) (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC
/// 2011).
///   u32  = (w0 >> 8) * 2^-24 in [0, 1);   u64 = ((w1 * 2^32 + w0) >> 11) * 2^-53 in [0, 1)
///   uniform f32/f16/bf16: a + u32 * (b - a) in f32, then rounded to the dtype; f64: a + u64 * (b - a)
///   uniform int: floor(a) + floor(u64 * (b - floor(a))), computed in f64
///   normal: a + b * sqrt(-2 ln(1 - u)) * cos(2 pi v), u = (w0 >> 8) * 2^-24, v = (w1 >> 8) * 2^-24; in f32
///   (f64: in f64) bernoulli: u32 < a (compared in f32)
struct Random {
  Shape shape;
  DType dtype{};
  Distribution distribution{};
  double a = 0, b = 1;
  std::uint64_t seed = 0;
  bool operator==(const Random&) const = default;
};

TensorTypes infer(const Fill&, const Site&);
TensorTypes infer(const Iota&, const Site&);
TensorTypes infer(const Random&, const Site&);

}  // namespace strata::op
