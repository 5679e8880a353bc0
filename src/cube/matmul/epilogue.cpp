#include "cube/matmul/epilogue.hpp"

namespace strata::cube::matmul {

using kernel::Val;

std::optional<std::int64_t> constant_of(Val v) { return kernel::Builder::current().bits_of(v); }
bool is_constant(Val v, std::int64_t value) { return constant_of(v) == value; }
Val index_constant(std::int64_t v) { return kernel::constant(kernel::make_type(kernel::Scalar::i64), v); }

TileStore::TileStore(const Arguments& args, Val row, Val col) : args_(args) {
  out_ = args.output_start + row * args.size.n + col;
  for (const auto& e : args.extras) extras_.push_back(e.at(row, col));
  for (std::size_t i = 0; i < args.positions.size(); ++i) {
    const bool wanted = needs_position(args.problem->block->nodes[i]);
    positions_.push_back(wanted ? args.positions[i].at(row, col) : Val{});
  }
}

Val TileStore::load(std::size_t extra, Val i, Val j, int lanes, Val mask) {
  const auto& e = args_.extras[extra];
  const Val index = extras_[extra] + (i * e.row + j * e.col);
  if (lanes == 1) {
    // One masked element: the caller branches around it, so the mask never stands here.
    return e.data.load(index);
  }
  if (is_constant(e.col, 0)) return kernel::splat(e.data.load(index), lanes);
  if (is_constant(e.col, 1)) return e.data.load(index, lanes, {.mask = mask});
  const Val steps = kernel::lane_index(kernel::make_type(kernel::Scalar::i64, lanes)) * e.col;
  return e.data.gather(steps + index, mask);
}

void TileStore::store(Val i, Val j, Val product, Val mask, std::uint8_t flags) {
  if (args_.partial_start.present()) {
    args_.workspace.store(args_.partial_start + out_index(i, j), product,
                          {.mask = mask, .other = {}, .flags = flags});
    return;
  }
  const auto& p = *args_.problem;
  const int lanes = product.lanes();
  std::vector<Val> values(static_cast<std::size_t>(p.block->value_count()));
  for (std::size_t e = 0; e < p.extras.size(); ++e) {
    values[static_cast<std::size_t>(p.extras[e].value)] =
        widen(load(e, i, j, lanes, mask), p.extras[e].dtype);
  }
  // The product rounds to its dtype before anything else sees it, as it does when it stands alone.
  const auto compute = compute_scalar(p.dtype);
  Val rounded = product.scalar() == compute ? product : kernel::convert(product, compute);
  if (p.has_epilogue()) rounded = widen(narrow(rounded, p.dtype), p.dtype);
  const auto inputs = p.block->inputs.size();
  values[inputs] = rounded;
  for (std::size_t number = 1; number < p.block->nodes.size(); ++number) {
    const auto& node = p.block->nodes[number];
    std::vector<Val> operands;
    std::vector<DType> types;
    for (const auto v : node.operands) {
      operands.push_back(values[static_cast<std::size_t>(v)]);
      types.push_back(p.block->type(v).dtype);
    }
    Val position;
    if (needs_position(node)) {
      const auto& o = args_.positions[number];
      position = positions_[number] + (i * o.row + j * o.col);
      if (lanes > 1)
        position = kernel::lane_index(kernel::make_type(kernel::Scalar::i64, lanes)) * o.col + position;
    }
    values[inputs + number] = emit_node(node, operands, types, args_.nodes[number], position, lanes);
  }
  for (std::size_t o = 0; o < args_.outputs.size(); ++o) {
    const auto v = p.block->outputs[o];
    const Val stored = narrow(values[static_cast<std::size_t>(v)], p.block->type(v).dtype);
    args_.outputs[o].store(out_index(i, j), stored, {.mask = mask, .other = {}, .flags = flags});
  }
}

void TileStore::store_partial(int output, Val i, Val j, Val sum, Val mask) {
  args_.outputs[static_cast<std::size_t>(output)].store(out_index(i, j), sum, {.mask = mask});
}

Val TileStore::load_partial(int output, Val i, Val j, int lanes, Val mask) {
  return args_.outputs[static_cast<std::size_t>(output)].load(out_index(i, j), lanes, {.mask = mask});
}

}  // namespace strata::cube::matmul
