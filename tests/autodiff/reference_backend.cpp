#include "reference_backend.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/convert.hpp"
#include "conformance/special_functions.hpp"
#include "flex/flex.hpp"

namespace strata::testing {
namespace {

using backend::ValueRef;
using Elements = std::vector<double>;

class DenseValue final : public backend::Value {
 public:
  DenseValue(backend::Backend& home, const op::TensorType& type, Elements of)
      : Value(home, type.dtype, type.shape), elements(std::move(of)) {}
  const Elements elements;
};

const Elements& elements_of(const ValueRef& v) { return static_cast<const DenseValue&>(*v).elements; }

/// `x` as a dtype can hold it.
double rounded(double x, DType to) {
  return visit_dtype(to, [&]<class T>() { return base::convert<double>(base::convert<T>(x)); });
}

/// Calls f(index) for every index of `shape`, row-major.
template <class F>
void for_each_index(const Shape& shape, F&& f) {
  Dims index = Dims::filled(shape.rank(), 0);
  for (std::int64_t n = shape.product(); n > 0; --n) {
    f(index);
    for (int i = shape.rank() - 1; i >= 0 && ++index[i] == shape[i]; --i) index[i] = 0;
  }
}

/// Row-major position of `index`, aligned to the last axes of `shape`; extents of 1 are broadcast.
std::size_t position(const Shape& shape, const Dims& index) {
  std::int64_t at = 0;
  for (int i = 0; i < shape.rank(); ++i) {
    at = at * shape[i] + (shape[i] == 1 ? 0 : index[index.rank() - shape.rank() + i]);
  }
  return static_cast<std::size_t>(at);
}

double at(const ValueRef& v, const Dims& index) { return elements_of(v)[position(v->shape, index)]; }

double sign(double x) { return std::isnan(x) ? x : static_cast<double>((x > 0) - (x < 0)); }

double apply(op::UnaryKind kind, double x) {
  using enum op::UnaryKind;
  switch (kind) {
    case neg:
      return -x;
    case abs:
      return std::abs(x);
    case op::UnaryKind::sign:
      return testing::sign(x);
    case floor:
      return std::floor(x);
    case ceil:
      return std::ceil(x);
    case round:
      return std::nearbyint(x);
    case trunc:
      return std::trunc(x);
    case recip:
      return 1 / x;
    case sqrt:
      return std::sqrt(x);
    case rsqrt:
      return 1 / std::sqrt(x);
    case exp:
      return std::exp(x);
    case expm1:
      return std::expm1(x);
    case log:
      return std::log(x);
    case log1p:
      return std::log1p(x);
    case sin:
      return std::sin(x);
    case cos:
      return std::cos(x);
    case tanh:
      return std::tanh(x);
    case sigmoid:
      return 1 / (1 + std::exp(-x));
    case erf:
      return std::erf(x);
    case exp2:
      return std::exp2(x);
    case log2:
      return std::log2(x);
    case log10:
      return std::log10(x);
    case tan:
      return std::tan(x);
    case asin:
      return std::asin(x);
    case acos:
      return std::acos(x);
    case atan:
      return std::atan(x);
    case sinh:
      return std::sinh(x);
    case cosh:
      return std::cosh(x);
    case asinh:
      return std::asinh(x);
    case acosh:
      return std::acosh(x);
    case atanh:
      return std::atanh(x);
    case lgamma:
      return std::lgamma(x);
    case gelu:
      return conformance::gelu(x);
    case silu:
      return conformance::silu(x);
    case softplus:
      return conformance::softplus(x);
    case erfinv:
      return conformance::erfinv(x);
    case digamma:
      return conformance::digamma(x);
    case logical_not:
      return x == 0;
    case bit_not:
      return -x - 1;
  }
  return 0;
}

double apply(op::BinaryKind kind, double a, double b) {
  using enum op::BinaryKind;
  const auto i = static_cast<std::int64_t>(a), j = static_cast<std::int64_t>(b);
  switch (kind) {
    case add:
      return a + b;
    case sub:
      return a - b;
    case mul:
      return a * b;
    case div:
      return a / b;
    case rem: {
      const double r = std::fmod(a, b);
      return r != 0 && (r < 0) != (b < 0) ? r + b : r;
    }
    case fmod:
      return std::fmod(a, b);
    case atan2:
      return std::atan2(a, b);
    case hypot:
      return std::hypot(a, b);
    case pow:
      return std::pow(a, b);
    case max:
      return std::isnan(a) || std::isnan(b) ? a + b : std::max(a, b);
    case min:
      return std::isnan(a) || std::isnan(b) ? a + b : std::min(a, b);
    case bit_and:
      return static_cast<double>(i & j);
    case bit_or:
      return static_cast<double>(i | j);
    case bit_xor:
      return static_cast<double>(i ^ j);
    case shift_left:
      return static_cast<double>(i << j);
    case shift_right:
      return static_cast<double>(i >> j);
  }
  return 0;
}

bool apply(op::CompareKind kind, double a, double b) {
  using enum op::CompareKind;
  switch (kind) {
    case equal:
      return a == b;
    case not_equal:
      return a != b;
    case less:
      return a < b;
    case less_equal:
      return a <= b;
    case greater:
      return a > b;
    case greater_equal:
      return a >= b;
  }
  return false;
}

/// One output element from an index; families that are not a map over indices fill `out` themselves.
struct Run {
  backend::Inputs in;
  const op::TensorType& type;
  Elements out;
  std::vector<Elements> results;  // of families with several

  template <class F>
  void map(F&& f) {
    for_each_index(type.shape, [&](const Dims& i) { out.push_back(rounded(f(i), type.dtype)); });
  }
  void operator()(const op::Fill& o) {
    map([&](const Dims&) { return o.value.as_double(); });
  }
  void operator()(const op::Iota& o) {
    map([&](const Dims& i) { return o.start.as_double() + static_cast<double>(i[0]) * o.step.as_double(); });
  }
  void operator()(const op::Random&) { base::fail_check("no random numbers here", __FILE_NAME__, __LINE__); }
  void operator()(const op::Unary& o) {
    map([&](const Dims& i) { return apply(o.kind, at(in[0], i)); });
  }
  void operator()(const op::Binary& o) {
    map([&](const Dims& i) { return apply(o.kind, at(in[0], i), at(in[1], i)); });
  }
  void operator()(const op::Compare& o) {
    map([&](const Dims& i) { return static_cast<double>(apply(o.kind, at(in[0], i), at(in[1], i))); });
  }
  void operator()(const op::Where&) {
    map([&](const Dims& i) { return at(in[0], i) != 0 ? at(in[1], i) : at(in[2], i); });
  }
  void operator()(const op::Cast&) {
    map([&](const Dims& i) { return at(in[0], i); });
  }
  void operator()(const op::Matmul&) {
    const auto inner = in[0]->shape.back();
    map([&](const Dims& i) {
      Dims a = i, b = i;
      double sum = 0;
      for (std::int64_t k = 0; k < inner; ++k) {
        a[i.rank() - 1] = b[i.rank() - 2] = k;
        sum += at(in[0], a) * at(in[1], b);
      }
      return sum;
    });
  }
  void operator()(const op::Reduce& o) {
    using enum op::ReduceKind;
    const auto& from = in[0]->shape;
    const double start = o.kind == prod  ? 1
                         : o.kind == max ? -std::numeric_limits<double>::infinity()
                         : o.kind == min ? std::numeric_limits<double>::infinity()
                                         : 0;
    out.assign(static_cast<std::size_t>(type.shape.product()), start);
    Shape kept = from;
    double count = 1;
    for (auto axis : o.axes) {
      count *= static_cast<double>(from[static_cast<int>(axis)]);
      kept[static_cast<int>(axis)] = 1;
    }
    for_each_index(from, [&](const Dims& i) {
      auto& sum = out[position(kept, i)];
      const double x = at(in[0], i);
      switch (o.kind) {
        case op::ReduceKind::sum:
        case mean:
          sum += x;
          break;
        case prod:
          sum *= x;
          break;
        case max:
          sum = apply(op::BinaryKind::max, sum, x);
          break;
        case min:
          sum = apply(op::BinaryKind::min, sum, x);
          break;
      }
    });
    for (auto& x : out) x = rounded(o.kind == mean ? x / count : x, type.dtype);
  }
  /// Families with a conformance suite of their own: their forward values come from the eager device.
  template <class Family>
  void operator()(const Family& o) {
    std::vector<ValueRef> inputs;
    for (const auto& v : in) {
      inputs.push_back(
          flex::instance().from_data(TensorData::from<double>(elements_of(v), v->shape).convert(v->dtype)));
    }
    for (const auto& result : flex::instance().execute(o, inputs)) {
      results.push_back(flex::instance().into_data(result).get().to_doubles());
    }
    out = results[0];
  }
  void operator()(const op::Reshape&) { out = elements_of(in[0]); }
  void operator()(const op::Permute& o) {
    map([&](const Dims& i) {
      Dims from = i;
      for (int k = 0; k < i.rank(); ++k) from[static_cast<int>(o.order[k])] = i[k];
      return at(in[0], from);
    });
  }
  void operator()(const op::Expand&) {
    map([&](const Dims& i) { return at(in[0], i); });
  }
  void operator()(const op::Slice& o) {
    map([&](const Dims& i) {
      Dims from = i;
      for (int k = 0; k < i.rank(); ++k) from[k] = o.start[k] + i[k] * o.step[k];
      return at(in[0], from);
    });
  }
  void operator()(const op::Flip& o) {
    map([&](const Dims& i) {
      Dims from = i;
      for (auto axis : o.axes) {
        const int k = static_cast<int>(axis);
        from[k] = type.shape[k] - 1 - i[k];
      }
      return at(in[0], from);
    });
  }
  void operator()(const op::Cat& o) {
    map([&](const Dims& i) {
      Dims from = i;
      std::size_t part = 0;
      while (from[o.axis] >= in[part]->shape[o.axis]) from[o.axis] -= in[part++]->shape[o.axis];
      return at(in[part], from);
    });
  }
};

}  // namespace

backend::Values ReferenceBackend::execute(const op::Operation& op, backend::Inputs inputs) {
  const auto types = backend::infer(op, inputs, name());
  Run run{inputs, types[0], {}, {}};
  std::visit(run, op);
  backend::Values values(ValueRef(new DenseValue(*this, types[0], std::move(run.out))));
  for (std::size_t i = 1; i < types.size(); ++i) {
    values.push_back(ValueRef(new DenseValue(*this, types[i], std::move(run.results[i]))));
  }
  return values;
}

ValueRef ReferenceBackend::from_data(const TensorData& data) {
  return ValueRef(new DenseValue(*this, {data.dtype(), data.shape()}, data.to_doubles()));
}

Future<TensorData> ReferenceBackend::into_data(const ValueRef& value) {
  return make_ready_future<TensorData>(
      TensorData::from<double>(elements_of(value), value->shape).convert(value->dtype));
}

}  // namespace strata::testing
