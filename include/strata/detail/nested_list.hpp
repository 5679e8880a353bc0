/// Tensors written down as nested lists. Not part of the public API.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <vector>

#include "strata/error.hpp"
#include "strata/tensor_data.hpp"

namespace strata::inline v0::detail {

template <class T, int D>
struct Nested {
  using type = std::initializer_list<typename Nested<T, D - 1>::type>;
};
template <class T>
struct Nested<T, 0> {
  using type = T;
};

/// Collects a nested list; `ragged` when sub-lists differ in length.
template <class T, int D>
void flatten(const typename Nested<T, D>::type& list, int axis, Shape& shape, std::vector<T>& out,
             bool& ragged) {
  if constexpr (D == 0) {
    out.push_back(list);
  } else {
    const auto n = static_cast<std::int64_t>(list.size());
    if (shape[axis] == -1) shape[axis] = n;
    ragged |= shape[axis] != n;
    for (const auto& item : list) flatten<T, D - 1>(item, axis + 1, shape, out, ragged);
  }
}

/// Throws ShapeError when sub-lists differ in length.
template <class T, int D>
TensorData data_of_list(const typename Nested<T, D>::type& list) {
  Shape shape = Shape::filled(D, -1);
  std::vector<T> values;
  bool ragged = false;
  flatten<T, D>(list, 0, shape, values, ragged);
  for (auto& extent : shape) extent = extent < 0 ? 0 : extent;
  if (ragged) throw ShapeError("[from] the rows of the nested list differ in length");
  std::unique_ptr<T[]> flat(new T[values.size()]);  // vector<bool> has no contiguous storage
  for (std::size_t i = 0; i < values.size(); ++i) flat[i] = values[i];
  return TensorData::from<T>(std::span<const T>(flat.get(), values.size()), shape);
}

}  // namespace strata::inline v0::detail
