#include "flex/creation.hpp"

#include <algorithm>

#include "base/convert.hpp"
#include "flex/parallel.hpp"

namespace strata::flex {
namespace {

constexpr std::int64_t grain = 4096;

template <class T>
T convert_number(const op::Number& v) {
  switch (v.kind) {
    case op::Number::Kind::floating:
      return base::convert<T>(v.as_double());
    case op::Number::Kind::integer:
      return base::convert<T>(v.as_int());
    case op::Number::Kind::boolean:
      break;
  }
  return base::convert<T>(v.as_bool());
}

}  // namespace

FlexRef run(const op::Fill& op, backend::Backend& home, const op::TensorType& type) {
  auto out = FlexValue::make(home, type, "fill");
  visit_dtype(type.dtype, [&]<class T>() {
    const T value = convert_number<T>(op.value);
    T* elements = out->as<T>();
    parallel(
        out->size(), grain, out->size() * static_cast<std::int64_t>(sizeof(T)),
        [&](std::int64_t begin, std::int64_t end) { std::fill(elements + begin, elements + end, value); });
  });
  return out;
}

FlexRef run(const op::Iota& op, backend::Backend& home, const op::TensorType& type) {
  auto out = FlexValue::make(home, type, "iota");
  visit_dtype(type.dtype, [&]<class T>() {
    T* elements = out->as<T>();
    parallel(op.size, grain, op.size * static_cast<std::int64_t>(sizeof(T)),
             [&](std::int64_t begin, std::int64_t end) {
               if constexpr (is_float(dtype_of<T>())) {
                 const double start = op.start.as_double(), step = op.step.as_double();
                 for (auto i = begin; i < end; ++i)
                   elements[i] = base::convert<T>(start + static_cast<double>(i) * step);
               } else {
                 const auto start = static_cast<std::uint64_t>(op.start.as_int()),
                            step = static_cast<std::uint64_t>(op.step.as_int());
                 for (auto i = begin; i < end; ++i) {
                   elements[i] = base::convert<T>(
                       static_cast<std::int64_t>(start + static_cast<std::uint64_t>(i) * step));
                 }
               }
             });
  });
  return out;
}

}  // namespace strata::flex
