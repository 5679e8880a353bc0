#include "cube/matmul/problem.hpp"

#include <fmt/format.h>

#include "cube/emit_node.hpp"

namespace strata::cube::matmul {

namespace {

/// Strides of `view` along the axes of `space`, the last two apart.
Walk walk_of(const op::View& view, const Shape& space) {
  Walk w;
  w.offset = view.offset;
  const int lead = space.rank() - view.shape.rank();
  for (int i = 0; i < space.rank(); ++i) {
    const std::int64_t stride = i < lead || view.shape[i - lead] == 1 ? 0 : view.strides[i - lead];
    if (i < space.rank() - 2)
      w.batch.push_back(stride);
    else if (i == space.rank() - 2)
      w.row = stride;
    else
      w.col = stride;
  }
  return w;
}

std::vector<Walk*> walks_of(Problem& p) {
  std::vector<Walk*> all{&p.a, &p.b};
  for (auto& e : p.extras) all.push_back(&e.walk);
  for (auto& w : p.positions) all.push_back(&w);
  return all;
}

/// Drops batch axes of extent 1 and merges neighbours that every operand walks as one.
void merge_batch(Problem& p) {
  const auto all = walks_of(p);
  Shape batch;
  std::vector<Strides> merged(all.size());
  for (int axis = 0; axis < p.batch.rank(); ++axis) {
    const auto extent = p.batch[axis];
    if (extent == 1) continue;
    bool joins = !batch.empty();
    for (std::size_t i = 0; joins && i < all.size(); ++i)
      joins = merged[i].back() == all[i]->batch[axis] * extent;
    if (joins)
      batch[batch.rank() - 1] *= extent;
    else
      batch.push_back(extent);
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (joins)
        merged[i][merged[i].rank() - 1] = all[i]->batch[axis];
      else
        merged[i].push_back(all[i]->batch[axis]);
    }
  }
  p.batch = batch;
  for (std::size_t i = 0; i < all.size(); ++i) all[i]->batch = merged[i];
}

/// A batch axis that b does not depend on is more rows of a.
void fold_batch_into_rows(Problem& p) {
  const auto all = walks_of(p);
  while (!p.batch.empty() && p.b.batch.back() == 0) {
    for (const auto* w : all) {
      if (w != &p.b && p.m != 1 && w->batch.back() != w->row * p.m) return;
    }
    for (auto* w : all) {
      if (w != &p.b && p.m == 1) w->row = w->batch.back();
      w->batch = Strides(std::span(w->batch.begin(), static_cast<std::size_t>(w->batch.rank() - 1)));
    }
    p.m *= p.batch.back();
    p.batch = Shape(std::span(p.batch.begin(), static_cast<std::size_t>(p.batch.rank() - 1)));
  }
}

/// (a b)^T = b^T a^T: with n = 1 the result has the same elements in the same order.
void column_to_row(Problem& p) {
  if (p.n != 1 || p.m == 1) return;
  std::swap(p.m, p.n);
  std::swap(p.a, p.b);
  std::swap(p.a_value, p.b_value);
  std::swap(p.a.row, p.a.col);
  std::swap(p.b.row, p.b.col);
  for (auto& e : p.extras) std::swap(e.walk.row, e.walk.col);
  for (auto& w : p.positions) std::swap(w.row, w.col);
}

/// Row-major numbering of a node's own shape, walked in the space of the product.
Walk position_of(const Node& node, const Shape& space) {
  return walk_of({node.type.shape, op::contiguous_strides(node.type.shape), 0}, space);
}

void hash_walk(KernelKeyHasher& h, const Walk& w, bool exact) {
  // Strides of 0 and 1 are constants of every kernel: they decide how it loads.
  const auto stride = [&](std::int64_t s) { h.add(exact || s == 0 || s == 1 ? s : std::int64_t{2}); };
  stride(w.row);
  stride(w.col);
  for (const auto s : w.batch) stride(s);
}

std::string_view layout_name(const Walk& w) {
  if (w.col == 1) return w.row == 0 ? "r" : "n";
  return w.row == 1 ? "t" : "s";
}

}  // namespace

double Problem::bytes() const {
  const auto size = static_cast<double>(size_of(dtype));
  const auto distinct = [&](const Walk& w) {
    double count = 1;
    for (int i = 0; i < batch.rank(); ++i) count *= w.batch[i] == 0 ? 1.0 : static_cast<double>(batch[i]);
    return count;
  };
  double total = size * static_cast<double>(k) *
                 (static_cast<double>(m) * distinct(a) + static_cast<double>(n) * distinct(b));
  for (std::size_t i = 0; i < block->outputs.size(); ++i) {
    total += static_cast<double>(size_of(output_type(i))) * static_cast<double>(outputs());
  }
  return total;
}

Problem describe(const Block& block, std::span<const op::View> views) {
  Problem p;
  p.block = &block;
  const auto& product = block.nodes.front();
  const auto lhs = product.operands[0], rhs = product.operands[1];
  const Shape& space = product.type.shape;
  const int rank = space.rank();
  p.dtype = product.type.dtype;
  if (p.dtype == DType::f32) p.precision = std::get<op::Matmul>(product.op).precision;
  p.m = space[rank - 2];
  p.n = space[rank - 1];
  p.k = views[static_cast<std::size_t>(lhs)].shape.back();
  p.batch = Shape(std::span(space.begin(), static_cast<std::size_t>(rank - 2)));

  const auto operand = [&](int value, std::int64_t rows, std::int64_t cols) {
    Shape s = p.batch;
    s.push_back(rows);
    s.push_back(cols);
    return walk_of(views[static_cast<std::size_t>(value)], s);
  };
  p.a_value = lhs;
  p.b_value = rhs;
  p.a = operand(lhs, p.m, p.k);
  p.b = operand(rhs, p.k, p.n);

  std::vector<bool> used(block.inputs.size(), false);
  for (std::size_t i = 1; i < block.nodes.size(); ++i) {
    for (const auto v : block.nodes[i].operands) {
      const auto number = static_cast<std::size_t>(v);
      if (number >= used.size() || used[number]) continue;
      used[number] = true;
      p.extras.push_back({v, block.inputs[number].dtype, walk_of(views[number], space)});
    }
  }
  for (const auto& node : block.nodes) {
    Walk w;
    w.batch = Strides::filled(p.batch.rank(), 0);
    p.positions.push_back(needs_position(node) ? position_of(node, space) : w);
  }
  merge_batch(p);
  fold_batch_into_rows(p);
  column_to_row(p);
  if (p.n == 1) p.b.col = 1;  // one column is contiguous
  return p;
}

kernel::Scalar accumulator(DType t) {
  switch (t) {
    case DType::f16:
    case DType::bf16:
      return kernel::Scalar::f32;
    case DType::u8:
      return kernel::Scalar::i32;  // the low 8 bits are what wrapping asks for
    default:
      return kernel::scalar_of(t);
  }
}

int partial_output(const Problem& p) {
  for (std::size_t i = 0; i < p.block->outputs.size(); ++i) {
    if (kernel::scalar_of(p.output_type(i)) == accumulator(p.dtype)) return static_cast<int>(i);
  }
  return -1;
}

void hash_into(KernelKeyHasher& h, const Problem& p, bool exact) {
  h.add(p.dtype);
  if (exact) {
    h.add(p.m);
    h.add(p.n);
    h.add(p.k);
    for (const auto e : p.batch) h.add(e);
  }
  h.add(p.batch.rank());
  hash_walk(h, p.a, exact);
  hash_walk(h, p.b, exact);
  for (const auto& e : p.extras) {
    h.add(e.value);
    h.add(e.dtype);
    hash_walk(h, e.walk, exact);
  }
  for (std::size_t i = 1; i < p.block->nodes.size(); ++i) {
    const auto& node = p.block->nodes[i];
    // Values of Fill, Iota and Random are arguments of the kernel.
    std::visit(
        [&]<class Op>(const Op& o) {
          h.add(node.op.index());
          if constexpr (std::is_same_v<Op, op::Unary> || std::is_same_v<Op, op::Binary> ||
                        std::is_same_v<Op, op::Compare>) {
            h.add(o.kind);
          } else if constexpr (std::is_same_v<Op, op::Random>) {
            h.add(o.distribution);
          }
        },
        node.op);
    h.add(node.type.dtype);
    for (const auto v : node.operands) h.add(v);
    if (needs_position(node)) hash_walk(h, p.positions[i], exact);
  }
  for (const auto v : p.block->outputs) h.add(v);
  h.add(p.block->inputs.size());
}

std::string to_string(const Problem& p) {
  const auto precision =
      p.precision == Precision::exact ? std::string() : fmt::format(" {}", name_of(p.precision));
  std::string text = fmt::format("matmul {}{} {}x{}x{} {}{}", name_of(p.dtype), precision, p.m, p.k, p.n,
                                 layout_name(p.a), layout_name(p.b));
  if (!p.batch.empty()) text += fmt::format(" batch {}", p.batch.to_string());
  if (p.has_epilogue()) {
    KernelKeyHasher h("epilogue");
    hash_into(h, p, false);
    text += " then";
    for (std::size_t i = 1; i < p.block->nodes.size(); ++i)
      text += fmt::format(" {}", op::name_of(p.block->nodes[i].op));
    text += fmt::format(" #{:08x}", static_cast<std::uint32_t>(h.key().low));
  }
  return text;
}

}  // namespace strata::cube::matmul
