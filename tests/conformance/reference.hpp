/// A slow, plain model of the operations: every tensor is a list of long doubles (which hold each f64 and
/// each i64 exactly), every operation a loop over indices. Backends are compared with it.
#pragma once

#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "bridge/bridge.hpp"

namespace strata::conformance {

using backend::Backend;
using backend::ValueRef;
using Exact = long double;
__extension__ typedef __int128 Int128;  // no using: g++ takes the extension only so
using Index = std::vector<std::int64_t>;

inline constexpr Exact nan_value = std::numeric_limits<Exact>::quiet_NaN();
inline constexpr Exact infinity = std::numeric_limits<Exact>::infinity();

inline constexpr DType all_dtypes[] = {DType::f64, DType::f32, DType::f16, DType::bf16,
                                       DType::i64, DType::i32, DType::u8,  DType::boolean};
inline std::vector<DType> dtypes_where(bool (*predicate)(DType)) {
  std::vector<DType> out;
  for (auto t : all_dtypes) {
    if (predicate(t)) out.push_back(t);
  }
  return out;
}
inline std::vector<DType> floats() { return dtypes_where(is_float); }
inline std::vector<DType> ints() { return dtypes_where(is_int); }
inline std::vector<DType> numbers() {
  return dtypes_where([](DType t) { return t != DType::boolean; });
}

/// A tensor of the model.
struct Array {
  DType dtype{};
  Shape shape;
  std::vector<Exact> values;

  std::int64_t offset(const Index& index) const {
    std::int64_t at = 0;
    for (int i = 0; i < shape.rank(); ++i) at = at * shape[i] + index[static_cast<std::size_t>(i)];
    return at;
  }
  Exact at(const Index& index) const { return values[static_cast<std::size_t>(offset(index))]; }
};

/// The index of element `position` of `shape` in row-major order.
inline Index index_of(const Shape& shape, std::int64_t position) {
  Index index(shape.size());
  for (int i = shape.rank() - 1; i >= 0; --i) {
    index[static_cast<std::size_t>(i)] = position % shape[i];
    position /= shape[i];
  }
  return index;
}

/// Distance between 1 and the next number of a float type.
inline Exact epsilon(DType t) {
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
/// The precision a reduction or product of `t` accumulates in.
inline Exact accumulator_epsilon(DType t) { return std::min(epsilon(t), epsilon(DType::f32)); }
inline Exact smallest_subnormal(DType t) {
  switch (t) {
    case DType::f64:
      return 0x1p-1074L;
    case DType::f32:
      return 0x1p-149L;
    case DType::f16:
      return 0x1p-24L;
    case DType::bf16:
      return 0x1p-133L;
    default:
      return 0;
  }
}

/// x as `t` can hold it: floats round to nearest, integers wrap.
inline Exact rounded(DType t, Exact x) {
  switch (t) {
    case DType::f64:
      return static_cast<double>(x);
    case DType::f32:
      return static_cast<float>(x);
    case DType::f16:
      return static_cast<float>(Float16(static_cast<float>(x)));
    case DType::bf16:
      return static_cast<float>(BFloat16(static_cast<float>(x)));
    default:
      return x;
  }
}
inline std::int64_t wrapped(DType t, std::uint64_t x) {
  if (t == DType::i32) return static_cast<std::int32_t>(x);
  if (t == DType::u8) return static_cast<std::uint8_t>(x);
  return static_cast<std::int64_t>(x);
}

inline TensorData to_data(const Array& a) {
  auto bytes = TensorData::allocate(a.values.size() * size_of(a.dtype));
  visit_dtype(a.dtype, [&]<class T>() {
    auto* out = reinterpret_cast<T*>(bytes.get());
    for (auto x : a.values) {
      if constexpr (std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16>) {
        *out++ = T(static_cast<float>(x));
      } else {
        *out++ = static_cast<T>(x);
      }
    }
  });
  return {a.dtype, a.shape, std::move(bytes)};
}
inline Array to_array(const TensorData& data) {
  Array a{data.dtype(), data.shape(), {}};
  visit_dtype(a.dtype, [&]<class T>() {
    for (auto x : data.as<T>()) {
      if constexpr (std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16>) {
        a.values.push_back(static_cast<float>(x));
      } else {
        a.values.push_back(static_cast<Exact>(x));
      }
    }
  });
  return a;
}
inline Array read(const ValueRef& v) { return to_array(v->backend.into_data(v).get()); }
inline ValueRef upload(Backend& backend, const Array& a) { return backend.from_data(to_data(a)); }

/// Where NumPy broadcasting reads operand `a` for element `index` of the result.
inline Exact broadcast_at(const Array& a, const Index& index) {
  Index own(a.shape.size());
  const auto lead = index.size() - own.size();
  for (std::size_t i = 0; i < own.size(); ++i)
    own[i] = a.shape[static_cast<int>(i)] == 1 ? 0 : index[lead + i];
  return a.at(own);
}

inline Shape broadcast_shape(const Shape& a, const Shape& b) {
  Shape out = Shape::filled(std::max(a.rank(), b.rank()), 1);
  for (int i = 0; i < out.rank(); ++i) {
    const int ia = a.rank() - out.rank() + i, ib = b.rank() - out.rank() + i;
    const auto ea = ia < 0 ? 1 : a[ia], eb = ib < 0 ? 1 : b[ib];
    out[i] = ea == 1 ? eb : ea;
  }
  return out;
}

// ---- inputs in every layout

enum class Layout { contiguous, permuted, sliced, flipped, expanded };
inline constexpr Layout all_layouts[] = {Layout::contiguous, Layout::permuted, Layout::sliced,
                                         Layout::flipped, Layout::expanded};
inline std::string name_of(Layout l) {
  constexpr const char* names[] = {"contiguous", "permuted", "sliced", "flipped", "expanded"};
  return names[static_cast<int>(l)];
}

/// A value of the backend and what it holds.
struct Sample {
  ValueRef value;
  Array array;
};

/// Random elements: floats in [-3, 3], integers in [-9, 9] (u8: 0..9), bools; `extra` values come first.
inline Array random_array(DType dtype, const Shape& shape, unsigned seed,
                          const std::vector<Exact>& extra = {}) {
  std::mt19937 generator(seed * 7919 + static_cast<unsigned>(dtype));
  Array a{dtype, shape, {}};
  for (std::int64_t i = 0; i < shape.product(); ++i) {
    Exact x = 0;
    if (static_cast<std::size_t>(i) < extra.size()) {
      x = rounded(dtype, extra[static_cast<std::size_t>(i)]);
    } else if (is_float(dtype)) {
      x = rounded(dtype, std::uniform_real_distribution<double>(-3, 3)(generator));
    } else {
      const int low = dtype == DType::boolean || dtype == DType::u8 ? 0 : -9;
      x = std::uniform_int_distribution<int>(low, dtype == DType::boolean ? 1 : 9)(generator);
    }
    a.values.push_back(x);
  }
  return a;
}

/// `shape` where element i is `from(i)`'s element of `source`.
inline Array remap(const Array& source, const Shape& shape, const std::function<Index(const Index&)>& from) {
  Array out{source.dtype, shape, {}};
  for (std::int64_t i = 0; i < shape.product(); ++i)
    out.values.push_back(source.at(from(index_of(shape, i))));
  return out;
}

/// Puts the elements of `a` on the backend so that it sees them through strides of the wanted kind. An
/// expanded value repeats its first slice along axis 0, so its elements differ from `a`'s: read them from the
/// sample.
inline Sample place(Backend& backend, Array a, Layout layout) {
  const int rank = a.shape.rank();
  if (rank == 0 || layout == Layout::contiguous) return {upload(backend, a), a};
  switch (layout) {
    case Layout::permuted: {
      Axes order = Axes::filled(rank, 0);
      Shape shape = a.shape;
      for (int i = 0; i < rank; ++i) {
        order[i] = rank - 1 - i;
        shape[i] = a.shape[rank - 1 - i];
      }
      const auto stored = remap(a, shape, [](const Index& i) { return Index(i.rbegin(), i.rend()); });
      return {bridge::permute(upload(backend, stored), order), a};
    }
    case Layout::sliced: {
      Shape shape = a.shape;
      for (auto& extent : shape) extent = 2 * extent + 1;
      auto stored = random_array(a.dtype, shape, 99);
      for (std::int64_t i = 0; i < a.shape.product(); ++i) {
        Index at = index_of(a.shape, i);
        for (auto& x : at) x = 2 * x + 1;
        stored.values[static_cast<std::size_t>(stored.offset(at))] = a.values[static_cast<std::size_t>(i)];
      }
      return {bridge::slice(upload(backend, stored), Dims::filled(rank, 1), shape, Dims::filled(rank, 2)), a};
    }
    case Layout::flipped: {
      Axes axes;
      for (int i = 0; i < rank; ++i) axes.push_back(i);
      const auto stored = remap(a, a.shape, [&](Index i) {
        for (int k = 0; k < rank; ++k)
          i[static_cast<std::size_t>(k)] = a.shape[k] - 1 - i[static_cast<std::size_t>(k)];
        return i;
      });
      return {bridge::flip(upload(backend, stored), axes), a};
    }
    default: {
      if (a.shape[0] == 0) return {upload(backend, a), a};
      Shape shape = a.shape;
      shape[0] = 1;
      const auto first = [](Index i) {
        i[0] = 0;
        return i;
      };
      const auto stored = remap(a, shape, first);
      return {bridge::expand(upload(backend, stored), a.shape), remap(a, a.shape, first)};
    }
  }
}
inline Sample sample(Backend& backend, DType dtype, const Shape& shape, Layout layout, unsigned seed,
                     const std::vector<Exact>& extra = {}) {
  return place(backend, random_array(dtype, shape, seed, extra), layout);
}

// ---- comparison

/// Largest accepted difference for element `i`; nothing means equality.
using Tolerance = std::function<Exact(std::size_t i)>;

inline void expect_equal(const ValueRef& actual, const Array& expected, const Tolerance& tolerance = {}) {
  ASSERT_EQ(actual->dtype, expected.dtype);
  ASSERT_EQ(actual->shape, expected.shape) << actual->shape.to_string() << " " << expected.shape.to_string();
  const auto got = read(actual);
  ASSERT_EQ(got.dtype, expected.dtype);
  ASSERT_EQ(got.shape, expected.shape);
  int shown = 0;
  for (std::size_t i = 0; i < expected.values.size() && shown < 4; ++i) {
    const auto x = got.values[i], y = expected.values[i];
    if (x == y || (std::isnan(x) && std::isnan(y))) continue;
    const auto limit = tolerance ? tolerance(i) : 0;
    if (std::isfinite(x) && std::isfinite(y) && std::abs(x - y) <= limit) continue;
    ++shown;
    ADD_FAILURE() << "element " << i << " of " << expected.shape.to_string() << ": got "
                  << static_cast<double>(x) << ", expected " << static_cast<double>(y) << " +- "
                  << static_cast<double>(limit);
  }
}

/// The fixture: a backend by name. Instantiate a suite with
///   INSTANTIATE_TEST_SUITE_P(Flex, ElementwiseConformance, testing::Values(Place{"flex", make}),
///   place_name);
struct Place {
  std::string name;
  std::function<Backend&()> make;
  std::string missing{};  ///< why this machine does not have it; empty: it has
  /// Its kernels are interpreted, about a million operations on elements a second: cases that take many more
  /// are left out or run in fewer forms, each by its suite's rule.
  bool interpreted = false;
};
inline std::string place_name(const testing::TestParamInfo<Place>& info) { return info.param.name; }
inline void PrintTo(const Place& place, std::ostream* out) { *out << place.name; }

class Conformance : public testing::TestWithParam<Place> {
 protected:
  void SetUp() override {
    if (!GetParam().missing.empty()) GTEST_SKIP() << GetParam().missing;
  }
  Backend& backend() const { return GetParam().make(); }
};

}  // namespace strata::conformance
