// The second kernel of a product whose k is split among cubes. Units side by side have neighbouring elements;
// those one behind the other take every so many parts each.
#include <algorithm>
#include <bit>

#include "cube/matmul/epilogue.hpp"
#include "cube/matmul/kernels.hpp"
#include "cube/matmul/tile.hpp"
#include "cube/matmul/tile_kernel.hpp"

namespace strata::cube::matmul {

using kernel::Val;

int part_sum_depth(int splits) {
  // Four loads of a unit are under way at once.
  return std::clamp(static_cast<int>(std::bit_ceil(static_cast<unsigned>(splits + 3) / 4)), 1,
                    part_sum_units / 32);
}

kernel::Kernel build_part_sum(const Problem& p, int splits) {
  const int depth = part_sum_depth(splits), width = part_sum_units / depth;
  const auto type = kernel::make_type(accumulator(p.dtype));
  kernel::Builder builder("matmul_part_sum_" + std::to_string(depth), {part_sum_units, 1, 1});
  auto args = declare(builder, p, Sizes::argument);
  const auto parts = declare_parts(builder, args);
  const auto shared = kernel::shared_array(type.scalar, part_sum_units, "sums");
  const Val x = kernel::unit_x() & (width - 1),
            y = kernel::unit_x() >> std::countr_zero(static_cast<unsigned>(width));
  const Val element = wide(kernel::cube_x()) * width + wide(x), total = args.outputs_count();
  const Val there = kernel::min(element, total - 1);
  const kernel::Var sum(kernel::constant(type, 0));
  kernel::for_(wide(y), parts.count, depth,
               [&](Val part) { sum.set(sum.get() + args.workspace.load(part * total + there)); });
  const auto finish = [&](Val value) {
    kernel::if_(element < total, [&] {
      Val row = index_constant(0), column = element;
      if (p.has_epilogue()) {
        const Val per_batch = args.size.m * args.size.n;
        const Val batch = p.batch.empty() ? index_constant(0) : element / per_batch;
        const Val inside = element - batch * per_batch;
        args.select_batch(batch);
        row = inside / args.size.n;
        column = inside - row * args.size.n;
      }
      TileStore(args, row, column).store(index_constant(0), index_constant(0), value, {}, 0);
    });
  };
  if (depth == 1) {
    finish(sum);
    return builder.finish();
  }
  shared.store(kernel::unit_x(), sum);
  kernel::barrier();
  kernel::if_(y == 0, [&] {
    Val all = sum.get();
    for (int i = 1; i < depth; ++i) all = all + shared.load(x + i32(std::int64_t{i} * width));
    finish(all);
  });
  return builder.finish();
}

}  // namespace strata::cube::matmul
