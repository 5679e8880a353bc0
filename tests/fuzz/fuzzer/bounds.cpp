#include "fuzz/fuzzer/bounds.hpp"

#include <algorithm>

namespace strata::fuzz {

Real epsilon(DType t) {
  switch (t) {
    case DType::f64:
      return 0x1p-52L;
    case DType::f32:
      return 0x1p-23L;
    case DType::f16:
      return 0x1p-10L;
    case DType::bf16:
      return 0x1p-7L;
    default:
      return 0;
  }
}
Real smallest_normal(DType t) {
  switch (t) {
    case DType::f64:
      return 0x1p-1022L;
    case DType::f32:
    case DType::bf16:
      return 0x1p-126L;
    case DType::f16:
      return 0x1p-14L;
    default:
      return 0;
  }
}
Real smallest_subnormal(DType t) { return smallest_normal(t) * epsilon(t); }
Real largest(DType t) {
  switch (t) {
    case DType::f64:
      return std::numeric_limits<double>::max();
    case DType::f32:
      return std::numeric_limits<float>::max();
    case DType::f16:
      return 65504;
    case DType::bf16:
      return 0x1.fep127L;
    default:
      return 0;
  }
}

double bound(DType t, const std::optional<Interval>& exact, double flex, Real rounding) {
  if (!exact) return undetermined;
  const auto& [low, high] = *exact;
  if (exact->is_nan()) return 0;
  if (exact->is_point() && (rounding == 0 || std::isinf(low))) return 0;
  if (!std::isfinite(low) || !std::isfinite(high)) return undetermined;
  const Real all = rounding + epsilon(t) * exact->magnitude() + 2 * smallest_subnormal(t);
  const Real limit = largest(t);
  if (exact->magnitude() + all >= limit) {  // an infinity is certain only well beyond the border
    const Real beyond = limit * (1 + epsilon(t));
    return low - all > beyond || high + all < -beyond ? 0 : undetermined;
  }
  if (!std::isfinite(flex)) return 0;  // flex is wrong, or all are: compared as it is
  const Real f = flex;
  return static_cast<double>((std::max({high - f, f - low, Real{0}}) + all) * (1 + 0x1p-50L));
}

bool Propagation::certain() const {
  return std::ranges::none_of(errors_, [](const Errors& e) { return static_cast<bool>(e); });
}

std::vector<double> Propagation::values(std::size_t i, const Shape& shape) const {
  return doubles(operands_[i]->shape == shape ? operands_[i] : run(op::Expand{shape}, operands_[i]));
}
std::vector<double> Propagation::errors(std::size_t i, const Shape& shape) const {
  if (certain(i)) return std::vector<double>(static_cast<std::size_t>(shape.product()));
  return doubles(errors_[i]->shape == shape ? errors_[i] : run(op::Expand{shape}, errors_[i]));
}

Errors Propagation::store(const std::vector<double>& e) const {
  if (std::ranges::all_of(e, [](double x) { return x == 0; })) return {};
  return flex_.from_data(TensorData::from<double>(std::span<const double>(e), shape()));
}

ValueRef Propagation::error_tensor(std::size_t i) const {
  if (!certain(i)) return errors_[i];
  return flex_.execute(op::Fill{operands_[i]->shape, DType::f64, 0.0}, {})[0];
}

Errors Propagation::moved(const op::Operation& op) const {
  if (certain()) return {};
  std::vector<ValueRef> all;
  for (std::size_t i = 0; i < operands_.size(); ++i) all.push_back(error_tensor(i));
  return flex_.execute(op, all)[0];
}

Errors Propagation::any_of_operands() const {
  if (certain()) return {};
  std::vector<double> e(size());
  for (std::size_t i = 0; i < operands_.size(); ++i) {
    const auto one = errors(i);
    for (std::size_t k = 0; k < e.size(); ++k) e[k] = std::max(e[k], one[k]);
  }
  return store(e);
}

Errors Propagation::lines(int axis) const {
  if (certain(0) || size() == 0) return {};
  auto worst = run(op::Reduce{op::ReduceKind::max, {axis}, true}, error_tensor(0));
  if (worst->shape.product() == result_->shape.product()) {
    worst = run(op::Reshape{shape()}, worst);
  } else {
    worst = run(op::Expand{shape()}, worst);
  }
  auto e = doubles(worst);
  for (auto& x : e) x = x == 0 ? 0 : undetermined;
  return store(e);
}

Errors Propagation::all_or_nothing() const {
  return certain() ? Errors{} : store(std::vector<double>(size(), undetermined));
}

}  // namespace strata::fuzz
