#include "gradient_check.hpp"

#include <cmath>
#include <ostream>
#include <random>

#include <gtest/gtest.h>

#include "autodiff/autodiff.hpp"
#include "bridge/bridge.hpp"

namespace strata::testing {
namespace {

using autodiff::Autodiff;
using Point = std::vector<TensorData>;

// Central differences over four points err by h^4 f^(5)/30 + 1.5 eps |f| / h. This h keeps both below 1e-11
// of f's scale and stays away from most kinks.
constexpr double step = 5e-5, tolerance = 2e-8;

std::vector<ValueRef> place(backend::Backend& on, const Point& point) {
  std::vector<ValueRef> values;
  for (const auto& data : point) values.push_back(on.from_data(data));
  return values;
}

/// sum(y * w) with fixed w: no two elements of y count alike, so that a misplaced gradient shows.
ValueRef weighted_sum(const ValueRef& y, std::uint64_t seed) {
  const auto weights = bridge::cast(y->backend.from_data(random_f64(y->shape, seed, 0.5, 1.5)), y->dtype);
  return bridge::reduce_all(op::ReduceKind::sum, bridge::mul(y, weights));
}

/// Gradients of f at `point` by Autodiff(inner), as values of `inner`, whose leaves are tracked where it is
/// an Autodiff.
std::vector<ValueRef> gradients(backend::Backend& inner, Checkpointing checkpointing, const Function& f,
                                const std::vector<ValueRef>& point) {
  Autodiff ad(inner, checkpointing);
  std::vector<ValueRef> leaves, out;
  for (const auto& x : point) leaves.push_back(autodiff::track(ad.lift(x)));
  const auto result = autodiff::backward(weighted_sum(f(leaves), 1));
  for (const auto& x : leaves) out.push_back(result.get(x));
  return out;
}

/// Compares d scalar(point) / d point with `actual`.
void expect_differences(const std::function<double(const Point&)>& scalar, const Point& point,
                        const std::vector<ValueRef>& actual) {
  for (std::size_t i = 0; i < point.size(); ++i) {
    ASSERT_EQ(actual[i]->shape, point[i].shape());
    const auto gradient = read(actual[i]);
    const auto center = point[i].to_doubles();
    for (std::size_t k = 0; k < center.size(); ++k) {
      const double h = step * std::max(1.0, std::abs(center[k]));
      const auto moved = [&](double by) {
        auto elements = center;
        elements[k] += by;
        Point other = point;
        other[i] = TensorData::from<double>(elements, point[i].shape());
        return scalar(other);
      };
      const double difference = (8 * (moved(h) - moved(-h)) - (moved(2 * h) - moved(-2 * h))) / (12 * h);
      EXPECT_NEAR(gradient[k], difference, tolerance * std::max(1.0, std::abs(difference)))
          << "input " << i << ", element " << k;
    }
  }
}

}  // namespace

std::ostream& operator<<(std::ostream& out, const GradientCase& c) { return out << c.name; }

TensorData random_f64(const Shape& shape, std::uint64_t seed, double low, double high) {
  std::mt19937_64 engine(seed);
  std::vector<double> elements(static_cast<std::size_t>(shape.product()));
  for (auto& x : elements) x = low + (high - low) * static_cast<double>(engine() >> 11) * 0x1p-53;
  return TensorData::from<double>(elements, shape);
}

std::vector<double> read(const ValueRef& v) { return v->backend.into_data(v).get().to_doubles(); }

void expect_gradients(backend::Backend& inner, const GradientCase& c, Checkpointing checkpointing) {
  const auto value = [&](const Point& at) { return read(weighted_sum(c.function(place(inner, at)), 1))[0]; };
  expect_differences(value, c.inputs, gradients(inner, checkpointing, c.function, place(inner, c.inputs)));
}

void expect_second_derivatives(backend::Backend& inner, const GradientCase& c, Checkpointing checkpointing) {
  const auto combined = [](const std::vector<ValueRef>& firsts) {
    ValueRef total;
    for (std::size_t i = 0; i < firsts.size(); ++i) {
      const auto part = weighted_sum(firsts[i], 2 + i);
      total = total ? bridge::add(total, part) : part;
    }
    return total;
  };
  const auto first = [&](const Point& at) {
    return read(combined(gradients(inner, checkpointing, c.function, place(inner, at))))[0];
  };
  Autodiff lower(inner, checkpointing);
  auto leaves = place(lower, c.inputs);
  for (auto& x : leaves) x = autodiff::track(x);
  const auto root = combined(gradients(lower, checkpointing, c.function, leaves));
  std::vector<ValueRef> seconds;
  if (autodiff::is_tracked(root)) {
    const auto result = autodiff::backward(root);
    for (const auto& x : leaves) {
      const auto found = result.find(x);
      seconds.push_back(found ? found : bridge::zeros_like(autodiff::inner(x)));
    }
  } else {  // the first derivatives are constant
    for (const auto& x : leaves) seconds.push_back(bridge::zeros_like(autodiff::inner(x)));
  }
  expect_differences(first, c.inputs, seconds);
}

void expect_gradients_in(backend::Backend& inner, const GradientCase& c, DType dtype) {
  const double digits = dtype == DType::bf16 ? 8 : dtype == DType::f16 ? 11 : 24;
  auto narrow = place(inner, c.inputs);
  for (auto& x : narrow) x = bridge::cast(x, dtype);
  auto exact = narrow;
  for (auto& x : exact) x = bridge::cast(x, DType::f64);
  const auto actual = gradients(inner, Checkpointing::disabled, c.function, narrow);
  const auto expected = gradients(inner, Checkpointing::disabled, c.function, exact);
  for (std::size_t i = 0; i < narrow.size(); ++i) {
    ASSERT_EQ(actual[i]->dtype, dtype);
    const auto got = read(actual[i]), wanted = read(expected[i]);
    double scale = 1;  // an element in which large terms cancel errs like them
    for (const double w : wanted) scale = std::max(scale, std::abs(w));
    for (std::size_t k = 0; k < got.size(); ++k) {
      EXPECT_NEAR(got[k], wanted[k], 16 * std::exp2(-digits) * scale) << "input " << i << ", element " << k;
    }
  }
}

}  // namespace strata::testing
