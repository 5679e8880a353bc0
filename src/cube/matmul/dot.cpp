// Few rows times a b whose columns are contiguous (x W^T of a linear layer, matrix x vector): the sums of
// `rows` x `vectors` products run along k in vectors and are folded at the end. Reads every operand once, in
// order.
#include "cube/matmul/epilogue.hpp"
#include "cube/matmul/kernels.hpp"
#include "cube/matmul/pack.hpp"
#include "strata/error.hpp"

namespace strata::cube::matmul {

using kernel::Val;

namespace {

class Dot {
 public:
  Dot(const Problem& p, const Schedule& s)
      : p_(p), s_(s), builder_("matmul_" + s.name()), args_(declare(builder_, p, Sizes::constant)) {}

  kernel::Kernel build() {
    args_.select_batch(p_.batch.empty() ? index_constant(0)
                                        : kernel::convert(kernel::cube_y(), kernel::Scalar::i64));
    const auto chunk = blocking_of(p_, s_).chunk;
    const bool split = s_.splits > 1;
    const Val begin =
        split ? kernel::convert(kernel::cube_x(), kernel::Scalar::i64) * chunk : index_constant(0);
    const Val end = split ? kernel::min(begin + chunk, args_.size.n) : args_.size.n;
    const Val whole = end - (end - begin) % static_cast<std::int64_t>(s_.vectors);
    for (std::int64_t row = 0; row < p_.m; row += s_.rows) {
      const int rows = static_cast<int>(std::min<std::int64_t>(s_.rows, p_.m - row));
      kernel::for_(begin, whole, s_.vectors,
                   [&](Val col) { columns(index_constant(row), rows, col, s_.vectors); });
      kernel::for_(whole, end, 1, [&](Val col) { columns(index_constant(row), rows, col, 1); });
    }
    return builder_.finish();
  }

 private:
  Val load(const Operand& o, Val index, Val k_stride, Val mask) const {
    if (is_constant(k_stride, 1))
      return to_accumulator(o.data.load(index, s_.lanes, {.mask = mask}), p_.dtype);
    const Val steps = kernel::lane_index(kernel::make_type(kernel::Scalar::i64, s_.lanes)) * k_stride;
    return to_accumulator(o.data.gather(steps + index, mask), p_.dtype);
  }

  void columns(Val row, int rows, Val col, int count) {
    Accumulators sums;
    const auto zero = kernel::constant(kernel::make_type(accumulator(p_.dtype), s_.lanes), 0);
    for (int i = 0; i < rows * count; ++i) sums.emplace_back(zero);
    const auto& a = args_.a;
    const auto& b = args_.b;
    const Val from_a = a.at(row, index_constant(0)), from_b = b.at(index_constant(0), col);
    const auto step = [&](Val k, Val mask) {
      std::vector<Val> left;
      for (int i = 0; i < rows; ++i) left.push_back(load(a, from_a + k * a.col + a.row * i, a.col, mask));
      for (int j = 0; j < count; ++j) {
        const Val right = load(b, from_b + k * b.row + b.col * j, b.row, mask);
        for (int i = 0; i < rows; ++i) {
          const auto& sum = sums[static_cast<std::size_t>(i * count + j)];
          sum = multiply_add(left[static_cast<std::size_t>(i)], right, sum);
        }
      }
    };
    const auto whole = p_.k / s_.lanes * s_.lanes;
    kernel::for_(0, whole, s_.lanes, [&](Val k) { step(k, {}); });
    if (whole < p_.k) step(index_constant(whole), lanes_below(s_.lanes, index_constant(p_.k - whole)));
    TileStore out(args_, row, col);
    for (int i = 0; i < rows; ++i) {
      for (int j = 0; j < count; ++j) {
        const auto& sum = sums[static_cast<std::size_t>(i * count + j)];
        out.store(index_constant(i), index_constant(j), kernel::reduce_add(sum), {}, 0);
      }
    }
  }

  const Problem& p_;
  const Schedule& s_;
  kernel::Builder builder_;
  Arguments args_;
};

}  // namespace

kernel::Kernel build_dot(const Problem& problem, const Schedule& schedule) {
  if (const auto why = unsuitable(problem, schedule); !why.empty()) {
    throw CompileError("matmul_" + schedule.name() + ": " + why);
  }
  return Dot(problem, schedule).build();
}

}  // namespace strata::cube::matmul
