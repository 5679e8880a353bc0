#include "cube/matmul/tile_kernel.hpp"

#include "cube/matmul/epilogue.hpp"
#include "strata/error.hpp"

namespace strata::cube::matmul {

using kernel::Scalar;
using kernel::Val;

namespace {

const Schedule& suitable(const Problem& p, const Schedule& s) {
  if (const auto why = unsuitable(p, s); !why.empty())
    throw CompileError("matmul_" + s.kernel_name() + ": " + why);
  return s;
}

}  // namespace

TileKernel::TileKernel(const Problem& p, const Schedule& s)
    : p_(p),
      s_(suitable(p, s)),
      builder_("matmul_" + s.kernel_name(), {static_cast<std::uint32_t>(s.units), 1, 1}),
      args_(declare(builder_, p, Sizes::argument)) {
  builder_.set_resident_cubes(static_cast<std::uint32_t>(s.resident));
  begin_ = index_constant(0);
  end_ = args_.size.k;
  if (s.splits > 1) {
    const auto parts = declare_parts(builder_, args_);
    const Val number = wide(kernel::cube_y());
    args_.partial_start = number * args_.outputs_count();
    begin_ = number * parts.depth;
    end_ = kernel::min(begin_ + parts.depth, args_.size.k);
  }
  tile_ = s.family == Family::gemv ? strip_of_cube(args_, s.nc) : tile_of_cube(args_, s.mc, s.nc);
  if (!p.batch.empty()) args_.select_batch(tile_.batch);
}

Val i32(std::int64_t v) { return kernel::constant(kernel::make_type(Scalar::i32), v); }
Val wide(Val v) { return kernel::convert(v, Scalar::i64); }

Val lanes_inside(Val columns, Val column, int lanes) {
  const Val left =
      kernel::convert(kernel::max(kernel::min(columns - column, lanes), index_constant(0)), Scalar::i32);
  return kernel::lane_index(kernel::make_type(Scalar::i32, lanes)) < kernel::splat(left, lanes);
}

}  // namespace strata::cube::matmul
