// Every kernel of this layer also lowers to PTX, in the form it takes for a GPU, and ptxas accepts it.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>

#include "codegen/compiler.hpp"
#include "cube/attention/kernels.hpp"
#include "cube/conv.hpp"
#include "cube/elementwise.hpp"
#include "cube/harness.hpp"
#include "cube/normalise.hpp"
#include "cube/pool.hpp"
#include "cube/reduce.hpp"
#include "cube/targets.hpp"
#include "cube/transpose.hpp"
#include "kernel/public.hpp"

namespace strata::cube::test {
namespace {

std::string ptxas() {
  for (const char* path : {"/usr/local/cuda/bin/ptxas", "/usr/bin/ptxas"}) {
    if (std::filesystem::exists(path)) return path;
  }
  return {};
}

class GpuLowering : public ::testing::Test {
 protected:
  void SetUp() override {
    if (assembler_.empty()) GTEST_SKIP() << "ptxas is not installed: PTX cannot be assembled here";
  }

  void check(const kernel::Kernel& k) const {
    SCOPED_TRACE(k.name);
    const auto folder = std::filesystem::path(::testing::TempDir());
    for (const auto& [target, architecture] :
         {std::pair{codegen::Target{codegen::Target::Kind::ptx, 80, false}, "sm_80"},
          std::pair{codegen::Target{codegen::Target::Kind::ptx, 90, true}, "sm_90a"}}) {
      const auto compiled = codegen::compile(k, target, codegen::Format::ptx);
      const auto file = (folder / ("strata_cube_" + k.name + ".ptx")).string();
      std::ofstream(file) << compiled.code;
      const auto command = assembler_ + " -O0 -arch=" + architecture + " -o /dev/null '" + file + "' 2>&1";
      std::string output;
      if (FILE* pipe = popen(command.c_str(), "r")) {
        char text[512];
        while (std::fgets(text, sizeof text, pipe)) output += text;
        EXPECT_EQ(pclose(pipe), 0) << architecture << ": " << output;
      } else {
        ADD_FAILURE() << "cannot run " << command;
      }
      std::filesystem::remove(file);
    }
  }

  void check_elementwise(const Block& block, std::vector<op::View> inputs, int vector_bytes) const {
    const std::vector<op::View> outputs(block.outputs.size(), dense(block.space()));
    auto target = gpu_target();
    target.vector_bytes = vector_bytes;
    check(build_elementwise(block, plan_elementwise(target, block, inputs, outputs).form));
  }
  /// Every kernel of an operation on a GPU with full cubes.
  void check_plan(const op::Operation& op, std::vector<op::TensorType> inputs) const {
    for (const auto& launch : full_cubes().plan(op, inputs)) {
      ASSERT_NE(launch.ir, nullptr) << launch.kernel_name;
      check_once(*launch.ir);
    }
  }
  /// For kernels that live on in a cache.
  void check_once(const kernel::Kernel& k) const {
    static std::set<const kernel::Kernel*> seen;
    if (seen.insert(&k).second) check(k);
  }
  static interpreted::Client& full_client() {
    static auto* const client = [] {
      auto properties = interpreted::gpu_properties();
      properties.max_units = 1024;
      return new interpreted::Client(properties);
    }();
    return *client;
  }
  static CubeBackend& full_cubes() {
    static auto* const backend = new CubeBackend(full_client());
    return *backend;
  }
  static op::View dense(const Shape& shape) { return {shape, op::contiguous_strides(shape), 0}; }

 private:
  const std::string assembler_ = ptxas();
};

TEST_F(GpuLowering, EveryUnaryAndBinaryOperation) {
  const Shape space{300};
  for (const DType t : {DType::f32, DType::f64, DType::bf16, DType::f16}) {
    Block b;
    b.inputs = {{t, space}, {t, space}};
    int last = 0;
    for (int k = 0; k < op::unary_count; ++k) {
      const auto kind = static_cast<op::UnaryKind>(k);
      if (kind >= op::UnaryKind::logical_not) break;
      b.nodes.push_back({op::Unary{kind}, {last}, {t, space}});
      last = b.value_count() - 1;
    }
    for (int k = 0; k <= static_cast<int>(op::BinaryKind::hypot); ++k) {
      b.nodes.push_back({op::Binary{static_cast<op::BinaryKind>(k)}, {last, 1}, {t, space}});
      last = b.value_count() - 1;
    }
    b.outputs = {last};
    check_elementwise(b, {dense(space), dense(space)}, 8);  // few lanes: they differ in nothing
  }
}

TEST_F(GpuLowering, IntegersComparisonsCastsAndRandomNumbers) {
  const Shape space{40, 50};
  for (const DType t : {DType::i32, DType::i64, DType::u8}) {
    Block b;
    b.inputs = {{t, space}, {t, {50, 40}}};
    int last = 0;
    for (int k = 0; k < op::binary_count; ++k) {
      const auto kind = static_cast<op::BinaryKind>(k);
      if (kind == op::BinaryKind::atan2 || kind == op::BinaryKind::hypot) continue;  // floats only
      b.nodes.push_back({op::Binary{kind}, {last, 1}, {t, space}});
      last = b.value_count() - 1;
    }
    b.nodes.push_back({op::Compare{op::CompareKind::less}, {last, 0}, {DType::boolean, space}});
    b.nodes.push_back({op::Where{}, {last + 1, 0, 1}, {t, space}});
    b.nodes.push_back({op::Cast{DType::f32}, {last + 2}, {DType::f32, space}});
    b.nodes.push_back(
        {op::Random{space, DType::f32, op::Distribution::normal, 0, 1, 7}, {}, {DType::f32, space}});
    b.nodes.push_back({op::Iota{50, DType::f32, 0, 1}, {}, {DType::f32, {50}}});
    b.nodes.push_back({op::Binary{op::BinaryKind::add}, {last + 4, last + 5}, {DType::f32, space}});
    b.nodes.push_back({op::Binary{op::BinaryKind::mul}, {last + 3, last + 6}, {DType::f32, space}});
    b.outputs = {last + 1, last + 7};
    check_elementwise(b, {dense(space), {space, {1, 40}, 0}}, 16);
  }
}

TEST_F(GpuLowering, EveryReduction) {
  for (int k = 0; k < op::reduce_count; ++k) {
    const auto kind = static_cast<op::ReduceKind>(k);
    for (const auto& axes : {Axes{0}, Axes{1}, Axes{0, 1}}) {
      for (const DType t : {DType::f32, DType::f16, DType::i32}) {
        if (t != DType::f32 && kind != op::ReduceKind::mean) continue;  // dtypes change conversions only
        for (const auto& stage : plan_reduce(gpu_target(), kind, t, dense({600, 500}), axes)) {
          check(build_reduce(stage.form));
        }
      }
    }
  }
}

TEST_F(GpuLowering, Transposes) {
  for (const DType t : {DType::f32, DType::f64, DType::u8, DType::boolean}) {
    const auto launch = plan_transpose(gpu_target(), t, op::View{{64, 3, 48}, {1, 64 * 48, 64}, 0});
    ASSERT_TRUE(launch.has_value());
    check(build_transpose(launch->form));
  }
}

TEST_F(GpuLowering, RowsOfSoftmaxAndNorms) {
  for (const DType t : {DType::f32, DType::f64, DType::bf16}) {
    for (const std::int64_t n : {5, 300, 2048}) {
      const op::TensorType x{t, {9, n}};
      check(build_rows(plan_rows(gpu_target(), op::Softmax{1, n == 300}, x, 0)));
      check(build_rows(plan_rows(gpu_target(), op::Norm{op::NormKind::layer, 1e-5}, x, 2)));
    }
  }
}

TEST_F(GpuLowering, ExtremaAndTheirPlaces) {
  for (const DType t : {DType::f32, DType::bf16, DType::i64, DType::u8, DType::boolean}) {
    for (const Shape& shape : {Shape{5000, 64}, Shape{3, 100000}, Shape{100000, 3}}) {
      for (int axis = 0; axis < 2; ++axis) {
        check_plan(op::ArgReduce{op::ExtremumKind::max, axis}, {{t, shape}});
      }
    }
  }
}

TEST_F(GpuLowering, LinesBeyond32Bits) {
  for (const std::int64_t length : {std::int64_t{1} << 31, std::int64_t{1} << 33}) {
    check_plan(op::ArgReduce{op::ExtremumKind::min, 0}, {{DType::f32, {length}}});
    check_plan(op::ArgSort{0}, {{DType::u8, {length}}});
    check_plan(op::Cumulative{op::CumulativeKind::sum, 0}, {{DType::f32, {length}}});
  }
}

TEST_F(GpuLowering, GathersAndScatters) {
  const Shape shape{30, 40};
  for (const DType t : {DType::f32, DType::bf16, DType::i64, DType::u8, DType::boolean}) {
    for (const DType index : {DType::i32, DType::i64}) {
      check_plan(op::Gather{0}, {{t, {7, 40}}, {index, shape}});
      if (index == DType::i32 && t != DType::f32) continue;
      for (const auto mode : {op::ScatterMode::assign, op::ScatterMode::add, op::ScatterMode::mul,
                              op::ScatterMode::max, op::ScatterMode::min}) {
        if (t == DType::boolean && mode != op::ScatterMode::assign) continue;
        check_plan(op::Scatter{0, mode}, {{t, {7, 40}}, {index, shape}, {t, shape}});
        if (t == DType::f32) check_plan(op::Scatter{0, mode}, {{t, {7}}, {index, {5000}}, {t, {5000}}});
      }
    }
  }
}

TEST_F(GpuLowering, WholeRows) {
  auto& cube = full_cubes();
  for (const DType t : {DType::f32, DType::bf16, DType::u8, DType::boolean}) {
    for (const std::int64_t width : {3, 256}) {
      const Shape shape{9, width};
      const auto x = cube.from_data(random_data(t, {6, width})),
                 source = cube.from_data(random_data(t, shape));
      auto index = cube.from_data(random_data(DType::i64, {9, 1}, 0, 5));
      index = backend::execute(cube, op::Expand{shape}, {&index, 1})[0];
      const backend::ValueRef inputs[] = {x, index, source};
      const auto before = full_client().kernels().size();
      backend::execute(cube, op::Gather{0}, std::span(inputs).first(2));
      backend::execute(cube, op::Scatter{0, op::ScatterMode::assign}, inputs);
      const auto kernels = full_client().kernels();
      for (auto i = before; i < kernels.size(); ++i) check_once(*kernels[i]);
    }
  }
}

TEST_F(GpuLowering, KernelsOfCallers) {
  using namespace lang;
  check(lang::kernel("caller", Cube{64},
                     [](In<f32> x, InOut<i32> n, Out<bf16> y, Scalar<i64> at) {
                       SharedArray<f32> part(64);
                       part[unit_x()] = reduce_add(x.load<4>(at + absolute_pos() * 4));
                       barrier();
                       y[absolute_pos()] = convert<bf16>(part[63 - unit_x()]);
                       n.atomic_add(at, 1);
                     })
            .impl()
            .ir);
}

TEST_F(GpuLowering, Sorts) {
  for (const DType t : all_dtypes) {
    check_plan(op::ArgSort{0, true}, {{t, {300}}});
    check_plan(op::ArgSort{0}, {{t, {20000}}});
  }
}

TEST_F(GpuLowering, RunningTotals) {
  for (const DType t : {DType::f64, DType::f32, DType::bf16, DType::i64, DType::u8}) {
    for (const auto kind : {op::CumulativeKind::sum, op::CumulativeKind::prod, op::CumulativeKind::max,
                            op::CumulativeKind::min}) {
      check_plan(op::Cumulative{kind, 0}, {{t, {100000}}});
      check_plan(op::Cumulative{kind, 0}, {{t, {10000, 100}}});
      check_plan(op::Cumulative{kind, 1}, {{t, {100, 30}}});
    }
  }
}

TEST_F(GpuLowering, CrossEntropies) {
  for (const DType t : {DType::f64, DType::f32, DType::bf16}) {
    for (const std::int64_t classes : {10, 4096}) {
      for (const double smoothing : {0.0, 0.1}) {
        const op::TensorType logits{t, {64, classes}}, target{DType::i64, {64}}, row{t, {64}},
            log_sum{t == DType::f64 ? t : DType::f32, {64}}, weights{t, {classes}};
        check_plan(op::CrossEntropy{smoothing}, {logits, target});
        check_plan(op::CrossEntropy{smoothing}, {logits, target, weights});
        check_plan(op::CrossEntropyGradient{smoothing}, {logits, target, log_sum, row});
        check_plan(op::CrossEntropyGradient{smoothing}, {logits, target, log_sum, row, weights});
      }
    }
  }
}

TEST_F(GpuLowering, Pools) {
  for (const auto index : {kernel::Scalar::i32, kernel::Scalar::i64}) {
    for (const DType t : {DType::f32, DType::bf16, DType::u8, DType::i64}) {
      window::PoolForm form;
      form.dtype = t;
      form.units = gpu_target().units;
      form.window = {2, {0, 0, 0}, index};
      check(build_pool(form));
      form.where = true;
      form.window.taps = {1, 3, 3};
      check(build_pool(form));
      form.where = false;
      form.kind = op::PoolKind::mean;
      form.count_padding = t == DType::f32;
      if (is_float(t)) check(build_pool(form));
    }
  }
}

TEST_F(GpuLowering, Convolutions) {
  for (const auto index : {kernel::Scalar::i32, kernel::Scalar::i64}) {
    for (const DType t : {DType::f32, DType::f64, DType::f16}) {
      window::ConvForm form;
      form.in = form.out = t;
      form.units = gpu_target().units;
      form.window = {2, {1, 3, 3}, index};
      for (const bool transposed : {false, true}) {
        for (const bool whole_cube : {false, true}) {
          form.transposed = transposed;
          form.whole_cube = whole_cube;
          check(build_conv(form));
        }
      }
      form.whole_cube = false;
      form.fold = true;
      form.in = t == DType::f16 ? DType::f32 : t;
      form.window.taps = {};
      check(build_conv(form));
      check(window::build_unfold({t, gpu_target().units, {3, {}, index}}));
      check(window::build_unfold({t, gpu_target().units, {2, {1, 3, 3}, index}}));
    }
  }
}

TEST_F(GpuLowering, Attention) {
  using namespace attention;
  auto target = gpu_target();
  target.units = 256;  // as many registers and as much shared memory as on a device
  for (const auto kind : {KernelKind::forward, KernelKind::query_gradient, KernelKind::key_gradient}) {
    for (const DType t : {DType::f32, DType::f64, DType::bf16}) {
      const auto tile = tile_form(target, t, t == DType::bf16 ? 16 : 1000);
      const auto mask = t == DType::f32   ? MaskKind::boolean
                        : t == DType::f64 ? MaskKind::additive
                                          : MaskKind::none;
      const int vectors = tile.vectors(t == DType::bf16 ? 64 : widest_row);
      const bool split = kind == KernelKind::forward && t == DType::bf16;
      check(build({kind, mask, t != DType::f64, split, t, tile, vectors, vectors}));
      check(build_combine({t, target.units, kernel::Scalar::i32}));
    }
  }
}

}  // namespace
}  // namespace strata::cube::test
