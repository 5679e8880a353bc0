/// What the tests of autodiff share: an Autodiff over the reference backend.
#pragma once

#include <algorithm>

#include <gtest/gtest.h>

#include "autodiff/autodiff.hpp"
#include "bridge/bridge.hpp"
#include "gradient_check.hpp"
#include "live_allocations.hpp"
#include "reference_backend.hpp"

namespace strata::testing {

using autodiff::Autodiff;
using autodiff::backward;
using autodiff::track;
using Doubles = std::vector<double>;

/// Counts what it runs and watches the memory.
class CountingBackend final : public ReferenceBackend {
 public:
  backend::Values execute(const op::Operation& op, backend::Inputs inputs) override {
    ++executed;
    most_allocations = std::max(most_allocations, live_allocations());
    return ReferenceBackend::execute(op, inputs);
  }
  int executed = 0;
  std::int64_t most_allocations = 0;  ///< that this program held at the start of an operation
};

class AutodiffTest : public ::testing::Test {
 protected:
  CountingBackend reference;
  Autodiff ad{reference};

  /// For stacking: `Autodiff(ad)` would ask for a copy.
  static backend::Backend& as_backend(Autodiff& home) { return home; }
  static ValueRef value_on(backend::Backend& home, std::initializer_list<double> elements,
                           const Shape& shape) {
    return home.from_data(TensorData::from<double>(elements, shape));
  }
  ValueRef value(std::initializer_list<double> elements, const Shape& shape) {
    return value_on(ad, elements, shape);
  }
  ValueRef leaf(std::initializer_list<double> elements, const Shape& shape) {
    return track(value(elements, shape));
  }
  /// d sum(y) / dx.
  static Doubles gradient(const ValueRef& y, const ValueRef& x) { return read(backward(y).get(x)); }
};

}  // namespace strata::testing
