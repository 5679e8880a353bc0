/// The operation families in the plainest way: every element a double, every result a dense copy, one thread.
/// An oracle for real backends, and a backend without threads or native libraries for sanitizer runs.
#pragma once

#include <vector>

#include "backend/backend.hpp"

namespace strata::testing {

/// Floats keep their dtype's precision, integers are exact up to 2^53. Random is not there: it throws
/// InternalError.
class ReferenceBackend : public backend::Backend {
 public:
  backend::Values execute(const op::Operation& op, backend::Inputs inputs) override;
  backend::ValueRef from_data(const TensorData& data) override;
  Future<TensorData> into_data(const backend::ValueRef& value) override;
  void sync() override {}
  std::string_view name() const override { return "reference"; }
};

}  // namespace strata::testing
