/// One operation on the interpreted GPU and on flex, with the same inputs in the same layout.
#pragma once

#include <vector>

#include "cube/harness.hpp"

namespace strata::cube::test {

enum class Layout { dense, permuted, flipped, sliced };
inline constexpr Layout all_layouts[] = {Layout::dense, Layout::permuted, Layout::flipped, Layout::sliced};

/// `data` on `home`, as a view of other memory unless dense.
inline backend::ValueRef laid_out(backend::Backend& home, const TensorData& data, Layout layout) {
  const auto& shape = data.shape();
  const int rank = shape.rank();
  const auto run = [](backend::Backend& b, const op::Operation& op, const backend::ValueRef& x) {
    return backend::execute(b, op, {&x, 1})[0];
  };
  auto& flex = flex::instance();
  const auto stored = [&](const op::Operation& op) {
    return home.from_data(flex.into_data(run(flex, op, flex.from_data(data))).get());
  };
  if (layout == Layout::dense || rank == 0) return home.from_data(data);
  if (layout == Layout::flipped) {
    Axes axes;
    for (int axis = 0; axis < rank; ++axis) axes.push_back(axis);
    return run(home, op::Flip{axes}, stored(op::Flip{axes}));
  }
  if (layout == Layout::permuted) {
    Axes reversed;
    for (int axis = rank - 1; axis >= 0; --axis) reversed.push_back(axis);
    return run(home, op::Permute{reversed}, stored(op::Permute{reversed}));
  }
  const auto x = home.from_data(data);  // sliced: every second of entries that are there twice
  const backend::ValueRef twice[] = {x, x};
  const auto wide = home.execute(op::Cat{0}, twice)[0];
  Dims start = Dims::filled(rank, 0);
  start[0] = shape[0];
  return run(home, op::Slice{start, wide->shape, Dims::filled(rank, 1)}, wide);
}

/// Data, and how it lies in memory.
struct LaidOut {
  TensorData data;
  Layout layout = Layout::dense;
};

inline std::vector<TensorData> results_on(backend::Backend& home, const op::Operation& op,
                                          const std::vector<LaidOut>& operands) {
  std::vector<backend::ValueRef> inputs;
  for (const auto& o : operands) inputs.push_back(laid_out(home, o.data, o.layout));
  std::vector<TensorData> results;
  for (const auto& v : backend::execute(home, op, inputs)) results.push_back(home.into_data(v).get());
  return results;
}

/// Runs `op` on both; fails unless the GPU's results need no host call. `close(result, gpu, flex)` compares.
template <class Close>
void expect_as_on_flex(const op::Operation& op, const std::vector<LaidOut>& operands, Close&& close) {
  const auto calls = gpu_cube().client().counters().host_calls;
  const auto gpu = results_on(gpu_cube(), op, operands);
  EXPECT_EQ(gpu_cube().client().counters().host_calls, calls) << "computed on the host";
  const auto flex = results_on(flex::instance(), op, operands);
  ASSERT_EQ(gpu.size(), flex.size());
  for (std::size_t i = 0; i < gpu.size(); ++i) close(i, gpu[i], flex[i]);
}

/// The same, bit for bit.
inline void expect_same_as_flex(const op::Operation& op, const std::vector<LaidOut>& operands) {
  expect_as_on_flex(op, operands, [](std::size_t i, const TensorData& gpu, const TensorData& flex) {
    EXPECT_TRUE(same(gpu, flex)) << "result " << i;
  });
}

}  // namespace strata::cube::test
