#include "cube/matmul/arguments.hpp"

#include <fmt/format.h>

namespace strata::cube::matmul {

namespace {

using kernel::Scalar;
using kernel::Val;

/// Where a size belongs; a name only when a kernel is recorded.
struct SizeName {
  std::string_view owner;
  int number;  ///< of the owner, or -1
  std::string_view what;
  int axis;  ///< or -1
  std::string text() const {
    std::string s(owner);
    if (number >= 0) s += std::to_string(number);
    s += what;
    return axis >= 0 ? s + std::to_string(axis) : s;
  }
};

/// Calls f(name, value, constant) for every extent, stride and offset in their one order.
template <class F>
void each_size(const Problem& p, Sizes sizes, F&& f) {
  const bool fixed = sizes == Sizes::constant;
  f(SizeName{"m", -1, "", -1}, p.m, fixed);
  f(SizeName{"n", -1, "", -1}, p.n, fixed);
  f(SizeName{"k", -1, "", -1}, p.k, fixed);
  for (int i = 0; i < p.batch.rank(); ++i) f(SizeName{"batch", -1, "", i}, p.batch[i], fixed);
  const auto walk = [&](std::string_view owner, int number, const Walk& w) {
    const auto constant = [&](std::int64_t s) { return fixed || s == 0 || s == 1; };
    f(SizeName{owner, number, "_row", -1}, w.row, constant(w.row));
    f(SizeName{owner, number, "_col", -1}, w.col, constant(w.col));
    for (int i = 0; i < w.batch.rank(); ++i)
      f(SizeName{owner, number, "_batch", i}, w.batch[i], constant(w.batch[i]));
    f(SizeName{owner, number, "_offset", -1}, w.offset, false);
  };
  walk("a", -1, p.a);
  walk("b", -1, p.b);
  for (const auto& e : p.extras) walk("in", e.value, e.walk);
  for (std::size_t i = 0; i < p.positions.size(); ++i) {
    if (needs_position(p.block->nodes[i])) walk("position", static_cast<int>(i), p.positions[i]);
  }
}

}  // namespace

std::vector<std::int64_t> scalars_of(const Problem& p, Sizes sizes) {
  std::vector<std::int64_t> out;
  out.reserve(24);
  each_size(p, sizes, [&](const SizeName&, std::int64_t value, bool constant) {
    if (!constant) out.push_back(value);
  });
  for (const auto& node : p.block->nodes) append_arguments(node, out);
  return out;
}

Arguments declare(kernel::Builder& builder, const Problem& p, Sizes sizes) {
  Arguments args;
  args.problem = &p;
  args.a.data = builder.read("a", kernel::scalar_of(p.dtype));
  args.b.data = builder.read("b", kernel::scalar_of(p.dtype));
  for (const auto& e : p.extras) {
    args.extras.push_back(
        {builder.read(fmt::format("in{}", e.value), kernel::scalar_of(e.dtype)), {}, {}, {}});
  }
  for (std::size_t i = 0; i < p.block->outputs.size(); ++i) {
    args.outputs.push_back(builder.read_write(fmt::format("out{}", i), kernel::scalar_of(p.output_type(i))));
  }
  std::vector<Val> values;
  each_size(p, sizes, [&](const SizeName& name, std::int64_t value, bool constant) {
    values.push_back(constant ? kernel::constant(kernel::make_type(Scalar::i64), value)
                              : builder.scalar(name.text(), Scalar::i64));
  });
  std::size_t next = 0;
  args.size = {values[0], values[1], values[2]};
  next = 3;
  for (int i = 0; i < p.batch.rank(); ++i) args.batch.push_back(values[next++]);
  const auto walk = [&](Operand& o) {
    o.row = values[next++];
    o.col = values[next++];
    auto& strides = args.batch_strides.emplace_back();
    for (int i = 0; i < p.batch.rank(); ++i) strides.push_back(values[next++]);
    o.start = values[next++];
  };
  walk(args.a);
  walk(args.b);
  for (auto& e : args.extras) walk(e);
  args.positions.resize(p.positions.size());
  for (std::size_t i = 0; i < p.positions.size(); ++i) {
    if (needs_position(p.block->nodes[i]))
      walk(args.positions[i]);
    else
      args.batch_strides.emplace_back();
  }
  int number = 0;
  for (const auto& node : p.block->nodes) args.nodes.push_back(declare_arguments(builder, node, number++));
  args.output_start = kernel::constant(kernel::make_type(Scalar::i64), 0);
  return args;
}

Parts declare_parts(kernel::Builder& builder, Arguments& args) {
  args.workspace = builder.read_write("parts", accumulator(args.problem->dtype));
  const Val depth = builder.scalar("part_depth", Scalar::i64);
  return {depth, builder.scalar("part_count", Scalar::i64)};
}

Val Arguments::outputs_count() const {
  Val count = size.m * size.n;
  for (const auto e : batch) count = count * e;
  return count;
}

void Arguments::select_batch(Val index) {
  std::vector<Operand*> all{&a, &b};
  for (auto& e : extras) all.push_back(&e);
  for (auto& e : positions) all.push_back(&e);
  output_start = index * (size.m * size.n);
  Val rest = index;
  for (std::size_t axis = batch.size(); axis-- > 0;) {
    const Val digit = axis == 0 ? rest : rest % batch[axis];
    if (axis != 0) rest = rest / batch[axis];
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (!batch_strides[i].empty()) all[i]->start = all[i]->start + digit * batch_strides[i][axis];
    }
  }
}

}  // namespace strata::cube::matmul
