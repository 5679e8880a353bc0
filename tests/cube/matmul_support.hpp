/// Products for tests: operands of any dtype and layout, blocks with epilogues, and results by plain loops in
/// double.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "base/convert.hpp"
#include "cube/matmul/kernels.hpp"

namespace strata::cube::matmul::test {

/// A strided view with its storage.
struct Tensor {
  DType dtype{};
  op::View view;
  std::vector<std::byte> storage;

  std::int64_t elements() const { return static_cast<std::int64_t>(storage.size() / size_of(dtype)); }
  double element(std::int64_t i) const {
    return visit_dtype(dtype, [&]<class T>() {
      T v;
      std::memcpy(&v, storage.data() + static_cast<std::size_t>(i) * sizeof(T), sizeof(T));
      return static_cast<double>(base::convert<double>(v));
    });
  }
  void set(std::int64_t i, double x) {
    visit_dtype(dtype, [&]<class T>() {
      const T v = base::convert<T>(x);
      std::memcpy(storage.data() + static_cast<std::size_t>(i) * sizeof(T), &v, sizeof(T));
    });
  }
  /// At a row-major number in `space`, to which the tensor broadcasts.
  double at(std::int64_t linear, const Shape& space) const {
    std::int64_t offset = view.offset;
    for (int axis = space.rank() - 1; axis >= 0; --axis) {
      const int own = axis - (space.rank() - view.shape.rank());
      if (own >= 0 && view.shape[own] != 1) offset += linear % space[axis] * view.strides[own];
      linear /= space[axis];
    }
    return element(offset);
  }
};

/// Row-major, with small whole numbers: every sum of products is exact in every dtype that is tested.
inline Tensor dense(DType dtype, const Shape& shape, int seed = 1) {
  Tensor t{dtype, {shape, op::contiguous_strides(shape), 0}, {}};
  t.storage.resize(static_cast<std::size_t>(shape.product()) * size_of(dtype));
  for (std::int64_t i = 0; i < shape.product(); ++i) {
    t.set(i, static_cast<double>((i * 37 + seed * 11 + i / 7) % 5) -
                 (dtype == DType::u8 || dtype == DType::boolean ? 0 : 2));
  }
  return t;
}
/// The last two axes exchanged in memory.
inline Tensor transposed(DType dtype, Shape shape, int seed = 1) {
  const int r = shape.rank();
  std::swap(shape[r - 1], shape[r - 2]);
  auto t = dense(dtype, shape, seed);
  std::swap(t.view.shape[r - 1], t.view.shape[r - 2]);
  std::swap(t.view.strides[r - 1], t.view.strides[r - 2]);
  return t;
}
/// Every second element of a larger tensor along the last two axes, walked backwards along the last.
inline Tensor scattered(DType dtype, Shape shape, int seed = 1) {
  const int r = shape.rank();
  const Shape wanted = shape;
  shape[r - 1] = 2 * shape[r - 1] + 1;
  shape[r - 2] *= 2;
  auto t = dense(dtype, shape, seed);
  t.view.shape = wanted;
  t.view.offset = 2 * wanted[r - 1] - 1;
  t.view.strides[r - 1] = -2;
  t.view.strides[r - 2] *= 2;
  return t;
}

/// A block over `inputs`, of which the first two are multiplied; grown node by node.
struct Product {
  Block block;
  std::vector<Tensor> inputs;
  Shape space;

  Product(Tensor a, Tensor b) {
    const auto ra = a.view.shape.rank(), rb = b.view.shape.rank();
    const int rank = std::max(ra, rb);
    for (int i = 0; i < rank - 2; ++i) {
      const int ia = i - (rank - ra), ib = i - (rank - rb);
      const auto ea = ia >= 0 ? a.view.shape[ia] : 1, eb = ib >= 0 ? b.view.shape[ib] : 1;
      space.push_back(ea == 1 ? eb : ea);
    }
    space.push_back(a.view.shape[ra - 2]);
    space.push_back(b.view.shape[rb - 1]);
    add_input(std::move(a));
    add_input(std::move(b));
  }
  int add_input(Tensor t) {
    block.inputs.push_back({t.dtype, t.view.shape});
    inputs.push_back(std::move(t));
    return static_cast<int>(inputs.size()) - 1;
  }
  /// Call after every input was added. Returns the value number.
  int multiply(Precision precision = Precision::exact) {
    block.nodes.push_back({op::Matmul{precision}, {0, 1}, {inputs[0].dtype, space}});
    return block.value_count() - 1;
  }
  int node(const op::Operation& op, base::InlineVector<int, 3> operands, DType dtype) {
    return node(op, operands, dtype, space);
  }
  int node(const op::Operation& op, base::InlineVector<int, 3> operands, DType dtype, const Shape& shape) {
    block.nodes.push_back({op, operands, {dtype, shape}});
    return block.value_count() - 1;
  }
  Problem problem() const {
    std::vector<op::View> views;
    for (const auto& t : inputs) views.push_back(t.view);
    return describe(block, views);
  }
  /// Element `linear` of the product itself, summed in double.
  double product(std::int64_t linear) const {
    const int r = space.rank();
    const auto n = space[r - 1], m = space[r - 2], k = inputs[0].view.shape.back();
    const auto col = linear % n, row = linear / n % m, batch = linear / n / m;
    Shape sa = space, sb = space;
    sa[r - 1] = k;
    sb[r - 2] = k;
    double sum = 0;
    for (std::int64_t i = 0; i < k; ++i) {
      sum += inputs[0].at((batch * m + row) * k + i, sa) * inputs[1].at((batch * k + i) * n + col, sb);
    }
    return sum;
  }
};

/// What a launch writes: one tensor an output, filled with a pattern before.
inline std::vector<Tensor> make_outputs(const Product& p) {
  std::vector<Tensor> outputs;
  for (const auto v : p.block.outputs) {
    Tensor t{p.block.type(v).dtype, {p.space, op::contiguous_strides(p.space), 0}, {}};
    t.storage.assign(static_cast<std::size_t>(p.space.product()) * size_of(t.dtype), std::byte{0x5a});
    outputs.push_back(std::move(t));
  }
  return outputs;
}

/// Runs the kernel of `schedule` and returns the outputs.
using Runner = std::function<std::vector<Tensor>(Product&, const Schedule&)>;
std::vector<Tensor> interpreted(Product& p, const Schedule& s);

}  // namespace strata::cube::matmul::test
