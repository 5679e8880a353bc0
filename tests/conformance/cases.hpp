/// The cases in tests/conformance/data/, which generate.py wrote from a reference that shares nothing with
/// the library; see there for the format.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "conformance/reference.hpp"

namespace strata::conformance {

/// Values of an input or result. The dtype is that of the sweep unless given.
struct DataTensor {
  std::optional<DType> dtype;
  bool is_index = false;  ///< i64 or i32
  Shape shape;
  std::vector<Exact> values;
};
/// One operation; operands count the inputs of the case, then all results of earlier steps.
struct Step {
  op::Operation operation;
  std::vector<std::size_t> operands;
};
/// How far a result may lie from the expected value; see generate.py.
struct Rounding {
  Exact terms = 0;
  std::vector<Exact> magnitude;  ///< one for all elements, or one for each
  bool wide = false;
};
struct DataCase {
  std::string name;
  std::vector<Step> steps;
  std::vector<DType> dtypes;
  std::vector<DataTensor> inputs;
  DataTensor expected;
  std::optional<Rounding> rounding;
  bool signed_zeros = false;
  std::string error;              ///< the type of the error that the call must throw
  std::vector<std::string> says;  ///< what its message must contain
};

/// The names of the files, without ".json".
std::vector<std::string> data_families();
/// Throws std::runtime_error naming the case when the file is malformed.
const std::vector<DataCase>& data_cases(const std::string& family);

}  // namespace strata::conformance
