/// Kernels of callers, on every device.
#include "conformance/devices.hpp"

namespace strata::conformance {
namespace {

using namespace lang;

class KernelCases : public Conformance {
 protected:
  std::vector<ValueRef> launch(const Kernel& kernel, Grid grid, const std::vector<ValueRef>& inputs,
                               std::vector<Shape> made = {}, std::vector<std::int64_t> scalars = {}) {
    using Call = op::CustomKernel::Call;
    const op::CustomKernel op{
        std::make_shared<const Call>(Call{kernel, grid, std::move(made), std::move(scalars)})};
    const auto values = backend::execute(backend(), op, inputs);
    return {values.begin(), values.end()};
  }
};

/// Of each row: the elements the other way round, by way of a shared array, beside a tensor that they replace
/// where a number says so.
template <class T>
auto reversed_rows() {
  return lang::kernel("reversed_rows", Cube{32},
                      [](In<T> x, InOut<T> y, Out<T> reversed, Scalar<i64> columns) {
                        SharedArray<T> row(32);
                        const auto u = convert<i64>(unit_x()), start = convert<i64>(cube_x()) * columns;
                        if_(u < columns, [&] { row[u] = x[start + u]; });
                        barrier();
                        if_(u < columns, [&] {
                          reversed[start + u] = row[columns - 1 - u];
                          if_(u % 2 == 0, [&] { y[start + u] = row[u]; });
                        });
                      });
}

TEST_P(KernelCases, EveryDtypeAndLayout) {
  for (auto dtype : all_dtypes) {
    for (auto layout : all_layouts) {
      SCOPED_TRACE(std::string(name_of(dtype)) + ", " + name_of(layout));
      const Shape shape{3, 2, 15};
      const auto x = sample(backend(), dtype, shape, layout, 1),
                 y = sample(backend(), dtype, shape, layout, 2);
      const auto kernel = visit_dtype(dtype, []<class T>() -> Kernel { return reversed_rows<T>(); });
      const auto results = launch(kernel, {6}, {x.value, y.value}, {{6, 15}}, {15});
      ASSERT_EQ(results.size(), 2u);
      auto mixed = y.array;
      for (std::size_t i = 0; i < mixed.values.size(); ++i) {
        if (i % 15 % 2 == 0) mixed.values[i] = x.array.values[i];
      }
      expect_equal(results[0], mixed);
      expect_equal(y.value, y.array);
      expect_equal(results[1], remap({dtype, {6, 15}, x.array.values}, {6, 15}, [](const Index& i) {
                     return Index{i[0], 14 - i[1]};
                   }));
    }
  }
}

TEST_P(KernelCases, AMisfitReachesWhoeverReadsAndNobodyElse) {
  const auto kernel = lang::kernel("shifted", Cube{8}, [](In<i32> x, Out<i32> y, Scalar<i64> by) {
    y[absolute_pos()] = x[absolute_pos() + by];
  });
  const auto x = upload(backend(), {DType::i32, {8}, {0, 1, 2, 3, 4, 5, 6, 7}});
  expect_equal(launch(kernel, {1}, {x}, {{8}}, {0})[0], {DType::i32, {8}, {0, 1, 2, 3, 4, 5, 6, 7}});
  for (bool more : {false, true}) {
    try {  // an eager device throws at the call
      const auto bad = launch(kernel, {1}, {x}, {{8}}, {5})[0];
      read(more ? bridge::add(bad, 1) : bad);
      ADD_FAILURE() << "no error";
    } catch (const IndexError& e) {
      const std::string wanted = "[shifted] the kernel uses element 8 of argument 0, which has 8 (i32)";
      EXPECT_NE(std::string(e.what()).find(wanted), std::string::npos) << e.what();
    }
  }
  expect_equal(bridge::add(x, 1), {DType::i32, {8}, {1, 2, 3, 4, 5, 6, 7, 8}});
}

INSTANTIATE_TEST_SUITE_P(Kernels, KernelCases, testing::ValuesIn(all_places()), place_name);

}  // namespace
}  // namespace strata::conformance
