// One unit an output element: any strides, dtypes and extents, every target. The fallback of every other
// kernel, the reference that candidates are checked with, and what serves tiny problems of a shape not seen
// before.
#include <optional>

#include "cube/matmul/epilogue.hpp"
#include "cube/matmul/kernels.hpp"
#include "cube/matmul/tile.hpp"

namespace strata::cube::matmul {

using kernel::Val;

namespace {

kernel::Kernel record(const Problem& p, const Schedule& s, bool with_scale) {
  const auto sum_type = kernel::make_type(accumulator(p.dtype));
  kernel::Builder builder(with_scale ? "matmul_reference" : "matmul_" + s.name(),
                          {static_cast<std::uint32_t>(s.units), 1, 1});
  auto args = declare(builder, p, Sizes::argument);
  std::optional<kernel::Buffer> scale;
  if (with_scale) scale = builder.read_write("scale", sum_type.scalar);
  const Val position = kernel::absolute_pos(), per_batch = args.size.m * args.size.n;
  kernel::if_(position < args.outputs_count(), [&] {
    const bool one = p.batch.empty();
    args.select_batch(one ? index_constant(0) : position / per_batch);
    const Val inside = one ? position : position % per_batch;
    const Val row = inside / args.size.n, col = inside % args.size.n;
    const Val from_a = args.a.start + row * args.a.row, from_b = args.b.start + col * args.b.col;
    const kernel::Var sum(kernel::constant(sum_type, 0)), magnitude(kernel::constant(sum_type, 0));
    kernel::for_(0, args.size.k, 1, [&](Val k) {
      const Val a = to_accumulator(args.a.data.load(from_a + k * args.a.col), p.dtype);
      const Val b = to_accumulator(args.b.data.load(from_b + k * args.b.row), p.dtype);
      sum = multiply_add(a, b, sum);
      if (with_scale) magnitude = multiply_add(kernel::abs(a), kernel::abs(b), magnitude);
    });
    TileStore out(args, row, col);
    out.store(index_constant(0), index_constant(0), sum, {}, 0);
    if (scale) scale->store(position, magnitude);
  });
  return builder.finish();
}

}  // namespace

kernel::Kernel build_naive(const Problem& p, const Schedule& s) { return record(p, s, false); }
kernel::Kernel build_reference(const Problem& p, const Schedule& s) { return record(p, s, true); }

}  // namespace strata::cube::matmul
