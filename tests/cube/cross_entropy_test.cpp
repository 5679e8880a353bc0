#include "cube/gpu_families.hpp"
#include "strata/error.hpp"

namespace strata::cube::test {
namespace {

class CrossEntropy : public GpuFamilies {
 protected:
  /// The loss and its gradient, with and without weights and smoothing. Sums are kept in f64, so a handful of
  /// roundings remain, of f32 at most (and one of the dtype).
  void everything(const Operand& logits, const Operand& target) const {
    const DType t = logits.data.dtype();
    const double rounding = t == DType::bf16  ? 0x1p-7
                            : t == DType::f16 ? 0x1p-10
                            : t == DType::f32 ? 0x1p-20
                                              : 0x1p-46;
    const auto x = logits.on(flex::instance());
    const Shape rows = target.on(flex::instance())->shape;
    const Operand weights{random_data(t, {x->shape.back()}, 0.5, 2, 5)},
        gradient{random_data(t, rows, -1, 1, 6)};
    for (const double smoothing : {0.0, 0.2}) {
      const op::CrossEntropy op{smoothing, 1};
      agrees(op, {logits, target}, rounding);
      agrees(op, {logits, target, weights}, rounding);
      const Operand log_sum{results(flex::instance(), op, {logits, target})[1]};
      agrees(op::CrossEntropyGradient{smoothing, 1}, {logits, target, log_sum, gradient}, rounding);
      agrees(op::CrossEntropyGradient{smoothing, 1}, {logits, target, log_sum, gradient, weights}, rounding);
    }
  }
  static TensorData classes(DType t, const Shape& shape, std::int64_t count) {
    return random_data(t, shape, 0, static_cast<double>(count) - 1, 9);
  }
};

TEST_F(CrossEntropy, EveryDtypeAndLength) {
  for (const DType t : {DType::f64, DType::f32, DType::f16, DType::bf16}) {
    for (const std::int64_t n : {2, 7, 64, 1001}) {
      everything({random_data(t, {5, n}, -20, 20)}, {classes(n == 64 ? DType::i32 : DType::i64, {5}, n)});
    }
  }
}

TEST_F(CrossEntropy, EveryLayout) {
  const auto x = random_data(DType::f32, {3, 4, 40}, -9, 9);
  everything({x}, {classes(DType::i64, {3, 4}, 40)});
  everything({x, {flip({2})}}, {classes(DType::i64, {4, 3}, 40), {permute({1, 0})}});
  everything({random_data(DType::f32, {40, 3, 4}), {permute({1, 2, 0})}}, {classes(DType::i64, {3, 4}, 40)});
  everything({x, {op::Slice{{1, 0, 0}, {3, 4, 40}, {1, 1, 1}}}},
             {classes(DType::i64, {1, 4}, 40), {expand({2, 4})}});
  everything({random_data(DType::f32, {9})}, {classes(DType::i64, {}, 9)});
}

TEST_F(CrossEntropy, ScoresWithoutBounds) {
  const float inf = INFINITY;
  everything({TensorData::from<float>(
                 {-inf,  0,      -inf,  1, inf, 0, 1, 2, -inf, -inf, -inf, -inf, NAN, 0, 0, 0,  //
                  3e38f, -3e38f, 3e38f, 0},
                 {5, 4})},
             {TensorData::from<std::int64_t>({3, 0, 0, 2, 2}, {5})});
}

TEST_F(CrossEntropy, ATargetThatIsNoClassIsNamed) {
  const Operand logits{random_data(DType::f32, {3, 4})},
      target{TensorData::from<std::int64_t>({0, -100, 4}, {3})};
  for (backend::Backend* backend :
       {static_cast<backend::Backend*>(&flex::instance()), static_cast<backend::Backend*>(&cube())}) {
    try {
      results(*backend, op::CrossEntropy{}, {logits, target});
      ADD_FAILURE() << "no error";
    } catch (const IndexError& e) {
      EXPECT_NE(std::string(e.what()).find("[cross_entropy] index 4 is not in 0..3, the range of axis 1"),
                std::string::npos)
          << e.what();
    }
  }
}

}  // namespace
}  // namespace strata::cube::test
