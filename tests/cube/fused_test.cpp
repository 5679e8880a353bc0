// A fused block gives the very results of its operations one by one.
#include "cube/harness.hpp"

namespace strata::cube::test {
namespace {

using op::BinaryKind;
using op::UnaryKind;

class FusedBlock : public CubeTest, public ::testing::WithParamInterface<const char*> {
 protected:
  CubeBackend& cube() const override {
    return std::string_view(GetParam()) == "cpu" ? cpu_cube() : gpu_cube();
  }

  /// Runs `block` fused and node by node; compares every output.
  void check(const Block& block, const std::vector<backend::ValueRef>& inputs) const {
    const auto fused = cube().execute_block(block, inputs);
    std::vector<backend::ValueRef> all = inputs;
    for (const auto& node : block.nodes) {
      std::vector<backend::ValueRef> operands;
      for (auto v : node.operands) operands.push_back(all[static_cast<std::size_t>(v)]);
      all.push_back(run(node.op, operands));
    }
    ASSERT_EQ(fused.size(), block.outputs.size());
    for (std::size_t i = 0; i < fused.size(); ++i) {
      EXPECT_TRUE(same(get(fused[i]), get(all[static_cast<std::size_t>(block.outputs[i])])))
          << "output " << i;
    }
  }

  /// x * y, tanh of it, plus x (broadcast bias), times a constant; a comparison and a choice.
  static Block arithmetic(DType t, const Shape& space, const Shape& bias) {
    Block b;
    const bool real = is_float(t);
    b.inputs = {{t, space}, {t, bias}};
    b.nodes.push_back({op::Fill{{}, t, 3}, {}, {t, {}}});                                      // 2
    b.nodes.push_back({op::Binary{BinaryKind::mul}, {0, 1}, {t, space}});                      // 3
    b.nodes.push_back({op::Unary{real ? UnaryKind::tanh : UnaryKind::abs}, {3}, {t, space}});  // 4
    b.nodes.push_back({op::Binary{BinaryKind::add}, {4, 1}, {t, space}});                      // 5
    b.nodes.push_back({op::Binary{BinaryKind::rem}, {5, 2}, {t, space}});                      // 6
    b.nodes.push_back({op::Compare{op::CompareKind::less}, {6, 0}, {DType::boolean, space}});  // 7
    b.nodes.push_back({op::Where{}, {7, 5, 3}, {t, space}});                                   // 8
    b.outputs = {5, 7, 8};
    return b;
  }
};

TEST_P(FusedBlock, EqualsItsOperationsForEveryDtype) {
  for (const DType t : {DType::f64, DType::f32, DType::f16, DType::bf16, DType::i64, DType::i32, DType::u8}) {
    SCOPED_TRACE(name_of(t));
    const Shape space{37, 70}, bias{70};
    check(arithmetic(t, space, bias), {put(random_data(t, space)), put(random_data(t, bias, -3, 3, 2))});
  }
}

TEST_P(FusedBlock, EqualsItsOperationsForEveryLayoutOfInputs) {
  const Shape space{33, 65};
  const auto x = put(random_data(DType::f32, {65, 33}));
  const auto transposed = run(op::Permute{{1, 0}}, {x});
  const auto flipped = run(op::Flip{{0, 1}}, {put(random_data(DType::f32, space))});
  const auto column = put(random_data(DType::f32, {33, 1}));
  check(arithmetic(DType::f32, space, space), {transposed, flipped});
  check(arithmetic(DType::f32, space, {33, 1}), {flipped, column});
  check(arithmetic(DType::f32, space, {}), {transposed, put<float>({1.5f}, {})});
}

TEST_P(FusedBlock, BroadcastsASmallerNodeIntoALaterOne) {
  Block b;
  const Shape small{1, 70}, space{9, 70};
  b.inputs = {{DType::f32, small}, {DType::f32, space}};
  b.nodes.push_back({op::Unary{UnaryKind::exp}, {0}, {DType::f32, small}});
  b.nodes.push_back({op::Iota{70, DType::f32, 1.0, 0.5}, {}, {DType::f32, {70}}});
  b.nodes.push_back({op::Binary{BinaryKind::mul}, {2, 3}, {DType::f32, small}});
  b.nodes.push_back({op::Binary{BinaryKind::sub}, {1, 4}, {DType::f32, space}});
  b.outputs = {5};
  check(b, {put(random_data(DType::f32, small)), put(random_data(DType::f32, space))});
}

TEST_P(FusedBlock, DrawsTheSameRandomNumbersAsAlone) {
  Block b;
  const Shape space{5, 77};
  b.nodes.push_back(
      {op::Random{space, DType::f32, op::Distribution::normal, 0, 1, 42}, {}, {DType::f32, space}});
  b.nodes.push_back(
      {op::Random{{77}, DType::f32, op::Distribution::uniform, 0, 1, 43}, {}, {DType::f32, {77}}});
  b.nodes.push_back({op::Binary{BinaryKind::add}, {0, 1}, {DType::f32, space}});
  b.outputs = {0, 2};
  check(b, {});
}

TEST_P(FusedBlock, WritesMoreThanFourOutputs) {
  Block b;
  b.inputs = {{DType::i32, {100}}};
  for (int i = 0; i < 6; ++i) {
    b.nodes.push_back({op::Binary{BinaryKind::add}, {i, 0}, {DType::i32, {100}}});
    b.outputs.push_back(i + 1);
  }
  check(b, {put(random_data(DType::i32, {100}, -1000, 1000))});
}

TEST_P(FusedBlock, FillValuesAndSeedsShareOneKernel) {
  const auto before = cube().kernels().builds();
  for (int i = 0; i < 20; ++i) {
    Block b;
    b.inputs = {{DType::f32, {1000}}};
    b.nodes.push_back({op::Fill{{}, DType::f32, i * 0.25}, {}, {DType::f32, {}}});
    b.nodes.push_back(
        {op::Random{{1000}, DType::f32, op::Distribution::uniform, 0, 1, static_cast<std::uint64_t>(i)},
         {},
         {DType::f32, {1000}}});
    b.nodes.push_back({op::Binary{BinaryKind::mul}, {1, 2}, {DType::f32, {1000}}});
    b.nodes.push_back({op::Binary{BinaryKind::sub}, {0, 3}, {DType::f32, {1000}}});
    b.outputs = {4};
    cube().execute_block(b, std::vector{put(random_data(DType::f32, {1000}))});
  }
  EXPECT_EQ(cube().kernels().builds() - before, 1u);
}

INSTANTIATE_TEST_SUITE_P(Devices, FusedBlock, ::testing::Values("cpu", "gpu"),
                         [](const auto& which) { return std::string(which.param); });

}  // namespace
}  // namespace strata::cube::test
