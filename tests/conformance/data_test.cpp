/// Every case of tests/conformance/data/ on every device, for each dtype that the operation allows and that
/// holds the values, with the inputs in every layout. Kernels of tiles compute whole ones however small a
/// case is: interpreted, such a case runs with dense inputs of f32 and f16 only.
#include <iostream>
#include <set>
#include <typeinfo>

#include "conformance/cases.hpp"
#include "conformance/devices.hpp"

namespace strata::conformance {
namespace {

/// The layouts of reference.hpp, and a value that an operation has yet to compute.
enum class Form { contiguous, permuted, sliced, flipped, expanded, computed };
constexpr Form all_forms[] = {Form::contiguous, Form::permuted, Form::sliced,
                              Form::flipped,    Form::expanded, Form::computed};
constexpr std::size_t form_count = std::size(all_forms);

std::string name_of(Form form) {
  constexpr const char* names[] = {"contiguous", "permuted", "sliced", "flipped", "expanded", "computed"};
  return names[static_cast<int>(form)];
}

bool holds(DType t, Exact x) {
  if (is_float(t)) return std::isnan(x) || rounded(t, x) == x;
  if (!std::isfinite(x) || std::trunc(x) != x || (x == 0 && std::signbit(x))) return false;
  if (t == DType::boolean) return x == 0 || x == 1;
  return std::abs(x) <= 0x1p63L &&
         static_cast<Exact>(wrapped(t, static_cast<std::uint64_t>(static_cast<std::int64_t>(x)))) == x;
}

/// The first axis along which all slices are equal; -1: none.
int constant_axis(const Array& a) {
  for (int axis = 0; axis < a.shape.rank(); ++axis) {
    if (a.shape[axis] < 2) continue;
    bool constant = a.shape.product() > 0;
    for (std::int64_t i = 0; constant && i < a.shape.product(); ++i) {
      auto first = index_of(a.shape, i);
      first[static_cast<std::size_t>(axis)] = 0;
      const auto x = a.values[static_cast<std::size_t>(i)], y = a.at(first);
      constant = std::signbit(x) == std::signbit(y) && (x == y || (std::isnan(x) && std::isnan(y)));
    }
    if (constant) return axis;
  }
  return -1;
}

/// `a` on the backend in this form; null where it cannot have it.
ValueRef placed(Backend& backend, const Array& a, Form form) {
  switch (form) {
    case Form::computed: {
      if (a.dtype == DType::u8 || a.dtype == DType::boolean) return {};
      return bridge::unary(op::UnaryKind::neg, bridge::unary(op::UnaryKind::neg, upload(backend, a)));
    }
    case Form::expanded: {
      const int axis = constant_axis(a);
      if (axis < 0) return {};
      Shape shape = a.shape;
      shape[axis] = 1;
      const auto stored = remap(a, shape, [](const Index& i) { return i; });
      return bridge::expand(upload(backend, stored), a.shape);
    }
    default:
      return place(backend, a, static_cast<Layout>(form)).value;
  }
}

/// Counts what ran and what was left out because a dtype cannot hold the values.
struct Tally {
  std::size_t cases = 0, checks = 0, left_out = 0;
  ~Tally() {
    std::cout << cases << " cases, " << checks << " checks, " << left_out
              << " dtypes cannot hold the values\n";
  }
};

class DataCases : public testing::TestWithParam<std::tuple<Place, std::string>> {
 protected:
  void SetUp() override {
    if (!place().missing.empty()) GTEST_SKIP() << place().missing;
  }
  const Place& place() const { return std::get<0>(GetParam()); }
  Backend& backend() const { return place().make(); }
  const std::string& family() const { return std::get<1>(GetParam()); }
};

Array expected_for(const DataCase& c, DType swept) {
  const auto dtype = c.expected.dtype.value_or(swept);
  Array a{dtype, c.expected.shape, {}};
  for (auto x : c.expected.values) {
    if (is_int(dtype)) {
      EXPECT_TRUE(holds(DType::i64, x)) << "the data expects an integer of " << static_cast<double>(x);
      x = static_cast<Exact>(wrapped(dtype, static_cast<std::uint64_t>(static_cast<std::int64_t>(x))));
    }
    a.values.push_back(rounded(dtype, x));
  }
  return a;
}

Tolerance tolerance_of(const DataCase& c, DType t, const Array& expected) {
  if (!c.rounding || !is_float(expected.dtype)) return {};
  const auto& r = *c.rounding;
  const auto unit = r.wide && t == DType::f32 ? epsilon(DType::f64) : accumulator_epsilon(t);
  return [&r, unit, t, &expected](std::size_t i) {
    const auto magnitude = r.magnitude.size() == 1 ? r.magnitude[0] : r.magnitude.at(i);
    return unit * r.terms * magnitude + epsilon(t) * std::abs(expected.values[i]) + smallest_subnormal(t);
  };
}

void expect_equal_signs(const ValueRef& actual, const Array& expected) {
  const auto got = read(actual);
  for (std::size_t i = 0; i < expected.values.size(); ++i) {
    if (expected.values[i] != 0) continue;
    EXPECT_EQ(std::signbit(got.values[i]), std::signbit(expected.values[i]))
        << "sign of zero at element " << i;
  }
}

ValueRef result_of(const DataCase& c, std::vector<ValueRef> values) {
  for (const auto& step : c.steps) {
    std::vector<ValueRef> inputs;
    for (auto i : step.operands) inputs.push_back(values.at(i));
    for (const auto& result : backend::execute(step.operation, inputs)) values.push_back(result);
  }
  return values.back();
}

/// One dtype and one choice of forms; false where an input cannot have its form.
template <class FormOf>
bool check(Backend& backend, const DataCase& c, DType swept, DType index, FormOf&& form_of) {
  std::vector<ValueRef> values;
  std::string trace = c.name + " in " + std::string(name_of(swept));
  for (std::size_t i = 0; i < c.inputs.size(); ++i) {
    const auto& input = c.inputs[i];
    const auto dtype = input.is_index ? index : input.dtype.value_or(swept);
    values.push_back(placed(backend, {dtype, input.shape, input.values}, form_of(i)));
    if (!values.back()) return false;
    trace += ", " + name_of(form_of(i));
  }
  SCOPED_TRACE(trace);
  const auto result = result_of(c, values);
  EXPECT_EQ(&result->backend, &backend);
  const auto expected = expected_for(c, swept);
  expect_equal(result, expected, tolerance_of(c, swept, expected));
  if (c.signed_zeros && is_float(expected.dtype)) expect_equal_signs(result, expected);
  return true;
}

bool holds_inputs(const DataCase& c, DType swept) {
  return std::ranges::all_of(c.inputs, [&](const DataTensor& input) {
    const auto dtype = input.is_index ? DType::i32 : input.dtype.value_or(swept);
    return std::ranges::all_of(input.values, [&](Exact x) { return holds(dtype, x); });
  });
}

bool has_tiles(const DataCase& c) {
  return std::ranges::any_of(c.steps, [](const Step& step) {
    return std::holds_alternative<op::Attention>(step.operation) ||
           std::holds_alternative<op::AttentionGradient>(step.operation) ||
           std::holds_alternative<op::Conv>(step.operation);
  });
}

void check_case(Backend& backend, const DataCase& c, bool interpreted, Tally& tally) {
  std::size_t ran = 0;
  const bool few = interpreted && has_tiles(c);
  for (auto dtype : c.dtypes) {
    if (few && dtype != DType::f32 && dtype != DType::f16) continue;
    if (!holds_inputs(c, dtype)) {
      ++tally.left_out;
      continue;
    }
    for (std::size_t k = 0; k < (few ? 1 : form_count); ++k)
      ran += check(backend, c, dtype, k % 2 ? DType::i32 : DType::i64, [&](auto) { return all_forms[k]; });
    if (!few && c.inputs.size() > 1) {  // each input in a form of its own
      for (std::size_t k = 1; k <= 2; ++k)
        ran +=
            check(backend, c, dtype, DType::i64, [&](std::size_t i) { return all_forms[(2 * k + i) % 4]; });
    }
  }
  EXPECT_GT(ran, 0u) << c.name << ": no dtype holds the values";
  ++tally.cases;
  tally.checks += ran;
}

/// The type of an error by its name in the data.
const std::type_info& error_type(const std::string& name) {
  if (name == "ShapeError") return typeid(ShapeError);
  if (name == "DTypeError") return typeid(DTypeError);
  if (name == "IndexError") return typeid(IndexError);
  if (name == "MatrixError") return typeid(MatrixError);
  if (name == "ArgumentError") return typeid(ArgumentError);
  throw std::runtime_error("unknown error " + name);
}

template <class F>
void expect_error(const DataCase& c, F&& call) {
  try {
    call();
    ADD_FAILURE() << "no error";
  } catch (const Error& e) {
    EXPECT_TRUE(typeid(e) == error_type(c.error)) << "not a " << c.error << ": " << e.what();
    for (const auto& word : c.says)
      EXPECT_NE(std::string_view(e.what()).find(word), std::string_view::npos)
          << "no '" << word << "' in: " << e.what();
  }
}

/// Whether the fault lies in the data, so that it may also be found when the result is read.
bool in_data(const DataCase& c) { return c.error == "IndexError" || c.error == "MatrixError"; }

/// A faulty call throws at once unless its fault lies in the data.
void check_error(Backend& backend, const DataCase& c) {
  SCOPED_TRACE(c.name);
  std::vector<ValueRef> values;
  for (const auto& input : c.inputs)
    values.push_back(upload(backend, {*input.dtype, input.shape, input.values}));
  ValueRef result;
  expect_error(c, [&] {
    result = backend::execute(c.steps[0].operation, values)[0];
    if (in_data(c)) read(result);
  });
  if (result) {  // the error reaches every reader, also of what was made from the result
    EXPECT_TRUE(in_data(c)) << "the call itself must throw";
    expect_error(c, [&] { read(bridge::flip(result, {0})); });
    expect_error(c, [&] { read(result); });
  }
  const Array after{DType::f32, {2}, {1, 2}};
  expect_equal(bridge::unary(op::UnaryKind::neg, upload(backend, after)), {DType::f32, {2}, {-1, -2}});
}

TEST_P(DataCases, HoldForEveryDtypeAndLayout) {
  Tally tally;
  for (const auto& c : data_cases(family())) {
    if (c.error.empty()) {
      check_case(backend(), c, place().interpreted, tally);
    } else {
      check_error(backend(), c);
      ++tally.cases;
      ++tally.checks;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Data, DataCases, testing::Combine(testing::ValuesIn(all_places()), testing::ValuesIn(data_families())),
    [](const auto& one) { return std::get<0>(one.param).name + "_" + std::get<1>(one.param); });

TEST(DataFiles, CoverEveryFamilyWithInputs) {
  std::set<std::size_t> families;
  for (const auto& name : data_families()) {
    for (const auto& c : data_cases(name)) {
      if (!c.error.empty()) continue;
      for (const auto& step : c.steps) families.insert(step.operation.index());
    }
  }
  constexpr std::size_t elsewhere =
      4;  // fill, iota, random: creation_cases.hpp; callers' kernels: kernel_test.cpp
  EXPECT_EQ(families.size(), std::variant_size_v<op::Operation> - elsewhere);
}

}  // namespace
}  // namespace strata::conformance
