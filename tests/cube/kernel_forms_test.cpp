// The kernels themselves, in their CPU and GPU forms, run by the interpreter of the kernel IR against plain
// loops.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "cube/elementwise.hpp"
#include "cube/reduce.hpp"
#include "cube/targets.hpp"
#include "cube/transpose.hpp"
#include "kernel/interpreter.hpp"

namespace strata::cube::test {
namespace {

/// A strided view with its storage of f32.
struct Tensor {
  op::View view;
  std::vector<float> storage;

  float at(std::int64_t linear) const {
    std::int64_t offset = view.offset;
    for (int axis = view.shape.rank() - 1; axis >= 0; --axis) {
      offset += linear % view.shape[axis] * view.strides[axis];
      linear /= view.shape[axis];
    }
    return storage[static_cast<std::size_t>(offset)];
  }
};

/// Row-major, with values that small sums keep exact.
Tensor dense(const Shape& shape) {
  Tensor t{{shape, op::contiguous_strides(shape), 0},
           std::vector<float>(static_cast<std::size_t>(shape.product()))};
  for (std::size_t i = 0; i < t.storage.size(); ++i)
    t.storage[i] = static_cast<float>((i * 37 + 11) % 101) - 50;
  return t;
}
Tensor permuted(Tensor t, const Axes& order) {
  t.view = op::permuted(t.view, {order});
  return t;
}
Tensor flipped(Tensor t, const Axes& axes) {
  t.view = op::flipped(t.view, {axes});
  return t;
}
Tensor expanded(Tensor t, const Shape& shape) {
  t.view = op::expanded(t.view, {shape});
  return t;
}

void interpret(const kernel::Kernel& k, std::vector<float>& out, std::vector<Tensor*> inputs,
               const std::vector<std::int64_t>& scalars, std::uint32_t cubes) {
  kernel::test::Launch launch;
  launch.buffers.push_back(out.data());
  launch.lengths.push_back(static_cast<std::int64_t>(out.size()));
  for (auto* t : inputs) {
    launch.buffers.push_back(t->storage.data());
    launch.lengths.push_back(static_cast<std::int64_t>(t->storage.size()));
  }
  launch.scalars = scalars;
  launch.cube_count = {cubes, 1, 1};
  launch.plane_size = 32;
  kernel::test::interpret(k, launch);
}

class KernelForms : public ::testing::TestWithParam<const char*> {
 protected:
  Target target() const { return std::string_view(GetParam()) == "cpu" ? cpu_target() : gpu_target(); }

  void check_add(Tensor a, Tensor b, const Shape& space) {
    Block block;
    block.inputs = {{DType::f32, a.view.shape}, {DType::f32, b.view.shape}};
    block.nodes.push_back({op::Binary{op::BinaryKind::add}, {0, 1}, {DType::f32, space}});
    block.outputs = {2};
    const std::vector<op::View> inputs{a.view, b.view}, outputs{{space, op::contiguous_strides(space), 0}};
    const auto launch = plan_elementwise(target(), block, inputs, outputs);
    std::vector<float> out(static_cast<std::size_t>(space.product()), NAN);
    interpret(build_elementwise(block, launch.form), out, {&a, &b}, launch.scalars, launch.cubes);
    a = expanded(a, space);
    b = expanded(b, space);
    for (std::int64_t i = 0; i < space.product(); ++i) {
      ASSERT_EQ(out[static_cast<std::size_t>(i)], a.at(i) + b.at(i)) << space.to_string() << " at " << i;
    }
  }

  void check_sum(Tensor t, const Axes& axes, std::size_t stages) {
    Shape kept_shape;
    for (int i = 0; i < t.view.shape.rank(); ++i) {
      if (!axes.contains(i)) kept_shape.push_back(t.view.shape[i]);
    }
    std::vector<double> expected(static_cast<std::size_t>(kept_shape.product()));
    for (std::int64_t i = 0; i < t.view.shape.product(); ++i) {
      std::int64_t rest = i, out = 0, scale = 1;
      for (int axis = t.view.shape.rank() - 1; axis >= 0; --axis) {
        if (!axes.contains(axis)) {
          out += rest % t.view.shape[axis] * scale;
          scale *= t.view.shape[axis];
        }
        rest /= t.view.shape[axis];
      }
      expected[static_cast<std::size_t>(out)] += t.at(i);
    }
    const auto plan = plan_reduce(target(), op::ReduceKind::sum, DType::f32, t.view, axes);
    EXPECT_EQ(plan.size(), stages) << t.view.shape.to_string() << " over " << axes.to_string();
    Tensor current = t;
    for (const auto& stage : plan) {
      std::vector<float> out(static_cast<std::size_t>(stage.out_shape.product()), NAN);
      interpret(build_reduce(stage.form), out, {&current}, stage.scalars, stage.cubes);
      current = {{stage.out_shape, op::contiguous_strides(stage.out_shape), 0}, out};
    }
    ASSERT_EQ(current.storage.size(), expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
      ASSERT_EQ(current.storage[i], static_cast<float>(expected[i]))
          << t.view.shape.to_string() << " at " << i;
    }
  }

  void check_transpose(Tensor t, bool expect_tiles) {
    const auto launch = plan_transpose(target(), DType::f32, t.view);
    ASSERT_EQ(launch.has_value(), expect_tiles) << t.view.shape.to_string();
    if (!launch) return;
    std::vector<float> out(static_cast<std::size_t>(t.view.shape.product()), NAN);
    interpret(build_transpose(launch->form), out, {&t}, launch->scalars, launch->cubes);
    for (std::int64_t i = 0; i < t.view.shape.product(); ++i) {
      ASSERT_EQ(out[static_cast<std::size_t>(i)], t.at(i)) << t.view.shape.to_string() << " at " << i;
    }
  }
};

TEST_P(KernelForms, AddsEveryLayout) {
  for (std::int64_t n : {1, 2, 4, 5, 17, 64, 65, 1000, 5000}) check_add(dense({n}), dense({n}), {n});
  check_add(dense({}), dense({}), {});
  check_add(dense({7, 9}), dense({9}), {7, 9});
  check_add(dense({7, 9}), dense({7, 1}), {7, 9});
  check_add(dense({300, 70}), dense({1}), {300, 70});
  check_add(dense({33, 47}), permuted(dense({47, 33}), {1, 0}), {33, 47});
  check_add(flipped(dense({70, 3}), {1}), flipped(dense({70, 3}), {0, 1}), {70, 3});
  check_add(permuted(dense({3, 4, 5, 6}), {2, 0, 3, 1}), dense({5, 3, 6, 4}), {5, 3, 6, 4});
  check_add(dense({2, 1, 3, 1, 2, 1, 5}), dense({2, 3, 1, 2, 2, 3, 1}), {2, 3, 3, 2, 2, 3, 5});
}

TEST_P(KernelForms, SumsInRows) {
  check_sum(dense({5, 6}), {1}, 1);
  check_sum(dense({3, 1}), {1}, 1);
  check_sum(dense({70, 300}), {1}, 1);
  check_sum(dense({4, 5, 6, 7}), {1, 3}, 1);
  check_sum(flipped(dense({2, 65}), {1}), {1}, 1);
  check_sum(permuted(dense({20, 30}), {1, 0}), {0}, 1);
  check_sum(expanded(dense({1, 3}), {50, 3}), {0}, 1);
}

TEST_P(KernelForms, SumsInColumns) {
  check_sum(dense({5, 6}), {0}, 1);
  check_sum(dense({9, 300}), {0}, 1);
  check_sum(dense({4, 5, 70}), {1}, 1);
  check_sum(permuted(dense({3, 2}), {1, 0}), {1}, 1);
  check_sum(dense({3, 4, 5, 6}), {0, 2}, 1);
  check_sum(dense({20, 5}), {}, 1);
}

TEST_P(KernelForms, FewResultsAreSummedInTwoStages) {
  check_sum(dense({60000}), {0}, 2);
  check_sum(dense({300, 201}), {0, 1}, 2);
  check_sum(dense({10000, 5}), {0}, 2);
  check_sum(dense({3, 20000}), {1}, 2);
  check_sum(permuted(dense({300, 4, 51}), {1, 0, 2}), {1, 2}, 2);
}

TEST_P(KernelForms, TransposesTiles) {
  check_transpose(permuted(dense({64, 32}), {1, 0}), true);
  check_transpose(permuted(dense({100, 57}), {1, 0}), true);
  check_transpose(permuted(dense({3, 33, 70}), {0, 2, 1}), true);
  check_transpose(permuted(dense({20, 3, 40}), {2, 1, 0}), true);
  check_transpose(permuted(dense({20, 5}), {1, 0}), false);
  check_transpose(dense({40, 40}), false);
}

INSTANTIATE_TEST_SUITE_P(Targets, KernelForms, ::testing::Values("cpu", "gpu"),
                         [](const auto& which) { return std::string(which.param); });

}  // namespace
}  // namespace strata::cube::test
