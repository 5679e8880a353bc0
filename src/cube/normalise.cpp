#include "cube/normalise.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "cube/emit_node.hpp"
#include "cube/index_math.hpp"

namespace strata::cube {
namespace {

using kernel::Buffer;
using kernel::Scalar;
using kernel::Val;
using kernel::Var;
using Kind = RowForm::Kind;

constexpr int plane = 32;
/// Bytes of a row that a unit holds in registers at most.
constexpr int most_bytes_of_unit = 256;

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

int lanes_of(const Target& target, DType t) { return target.vector_bytes / static_cast<int>(size_of(t)); }
int most_vectors(const Target& target, DType t) {
  return most_bytes_of_unit / static_cast<int>(kernel::size_of(compute_scalar(t))) / lanes_of(target, t);
}

Kind kind_of(const op::Operation& op) {
  if (const auto* softmax = std::get_if<op::Softmax>(&op))
    return softmax->log ? Kind::log_softmax : Kind::softmax;
  return std::get<op::Norm>(op).kind == op::NormKind::layer ? Kind::layer_norm : Kind::rms_norm;
}

class RowRecorder {
 public:
  RowRecorder(kernel::Builder& b, const RowForm& form) : form_(form), scalar_(compute_scalar(form.dtype)) {
    const auto stored = kernel::scalar_of(form.dtype);
    out_ = b.write("out", stored);
    x_ = b.read("x", stored);
    for (int i = 0; i < form.parameters; ++i)
      parameters_.push_back(b.read(i == 0 ? "weight" : "bias", stored));
    rows_ = b.scalar("rows", Scalar::i64);
    columns_ = b.scalar("columns", Scalar::i64);
    eps_ = kernel::convert(b.scalar("eps", Scalar::f64), scalar_);
    for (int i = 0; i <= form.parameters; ++i)
      offsets_.push_back(b.scalar("offset" + std::to_string(i), Scalar::i64));
    if (planes() > 1) shared_ = kernel::shared_array(scalar_, planes() * form.units_y, "partial");
  }

  void record() {
    const Val first = kernel::convert(kernel::cube_x(), Scalar::i64) * form_.units_y;
    const Val row = first + kernel::convert(kernel::unit_y(), Scalar::i64);
    const Val there = row < rows_;
    base_ = kernel::min(row, rows_ - 1) * columns_;  // all units of a plane come along
    read();
    form_.kind <= Kind::log_softmax ? softmax() : norm();
    for (int v = 0; v < form_.vectors; ++v) {
      const Val value = narrow(values_[index(v)], form_.dtype), at = base_ + columns_of_[index(v)];
      if (form_.full) {
        kernel::if_(there, [&] { out_.store(at, value, {.flags = flags()}); });
      } else if (form_.aligned) {
        kernel::if_(there & (columns_of_[index(v)] < columns_),
                    [&] { out_.store(at, value, {.flags = flags()}); });
      } else {
        kernel::if_(there, [&] { out_.store(at, value, {.mask = inside_[index(v)]}); });
      }
    }
  }

 private:
  static std::size_t index(int v) { return static_cast<std::size_t>(v); }
  int planes() const { return (form_.units_x + plane - 1) / plane; }
  std::uint8_t flags() const { return form_.aligned ? kernel::aligned : kernel::no_flags; }
  Val fill(double v) const { return kernel::constant(kernel::make_type(scalar_, form_.lanes), v); }

  void read() {
    for (int v = 0; v < form_.vectors; ++v) {
      const Val column = (kernel::convert(kernel::unit_x(), Scalar::i64) + v * form_.units_x) * form_.lanes;
      columns_of_.push_back(column);
      if (form_.full) continue;
      const auto left = kernel::splat(kernel::convert(columns_ - column, Scalar::i32), form_.lanes);
      inside_.push_back(kernel::lane_index(kernel::make_type(Scalar::i32, form_.lanes)) < left);
    }
    const double outside = form_.kind <= Kind::log_softmax ? -HUGE_VAL : 0;
    for (int v = 0; v < form_.vectors; ++v) values_.push_back(load(x_, base_ + offsets_[0], v, outside));
  }

  /// Vector v of the row that begins at `base`, in the compute type.
  Val load(const Buffer& from, Val base, int v, double outside) const {
    const Val at = base + columns_of_[index(v)];
    if (form_.full) return widen(from.load(at, form_.lanes, {.flags = flags()}), form_.dtype);
    if (form_.aligned) {
      const Var value(fill(outside));
      kernel::if_(columns_of_[index(v)] < columns_,
                  [&] { value.set(widen(from.load(at, form_.lanes, {.flags = flags()}), form_.dtype)); });
      return value;
    }
    const Val stored = from.load(at, form_.lanes, {.mask = inside_[index(v)]});
    return kernel::select(inside_[index(v)], widen(stored, form_.dtype), fill(outside));
  }

  /// One value for the row, the same in all its units.
  Val reduce_row(const std::vector<Val>& vectors, bool maximum) const {
    const auto combine = [&](Val a, Val b) { return maximum ? kernel::max(a, b) : a + b; };
    std::vector<Val> level = vectors;
    while (level.size() > 1) {
      std::vector<Val> next;
      for (std::size_t i = 0; i + 1 < level.size(); i += 2) next.push_back(combine(level[i], level[i + 1]));
      if (level.size() % 2 == 1) next.push_back(level.back());
      level = std::move(next);
    }
    Val mine = level[0];
    if (form_.lanes > 1) mine = maximum ? kernel::reduce_max(mine) : kernel::reduce_add(mine);
    for (int step = std::min(form_.units_x, plane) / 2; step > 0; step /= 2) {
      mine = combine(mine,
                     kernel::plane_shuffle_xor(mine, kernel::constant(kernel::make_type(Scalar::i32), step)));
    }
    if (planes() == 1) return mine;
    const Val first = kernel::unit_y() * planes();
    kernel::barrier();  // what the reduction before left has been read
    kernel::if_(kernel::unit_x() % plane == 0,
                [&] { shared_.store(first + kernel::unit_x() / plane, mine); });
    kernel::barrier();
    Val all = shared_.load(first);
    for (int p = 1; p < planes(); ++p) all = combine(all, shared_.load(first + p));
    return all;
  }
  Val spread(Val v) const { return form_.lanes > 1 ? kernel::splat(v, form_.lanes) : v; }

  void softmax() {
    const Val most = spread(reduce_row(values_, true));
    std::vector<Val> powers;
    for (auto& v : values_) {
      v = v - most;
      powers.push_back(kernel::exp(v));
    }
    const Val sum = reduce_row(powers, false);
    if (form_.kind == Kind::log_softmax) {
      const Val logarithm = spread(kernel::log(sum));
      for (auto& v : values_) v = v - logarithm;
    } else {
      const Val share = spread(1.0 / sum);
      for (std::size_t i = 0; i < values_.size(); ++i) values_[i] = powers[i] * share;
    }
  }

  void norm() {
    const Val count = kernel::convert(columns_, scalar_);
    if (form_.kind == Kind::layer_norm) {
      const Val mean = spread(reduce_row(values_, false) / count);
      for (int v = 0; v < form_.vectors; ++v) {
        const Val centred = values_[index(v)] - mean;
        values_[index(v)] = form_.full ? centred : kernel::select(inside_[index(v)], centred, fill(0));
      }
    }
    std::vector<Val> squares;
    for (const auto& v : values_) squares.push_back(v * v);
    const Val scale = spread(1.0 / kernel::sqrt(reduce_row(squares, false) / count + eps_));
    for (int v = 0; v < form_.vectors; ++v) {
      Val& y = values_[index(v)];
      y = y * scale;
      if (form_.parameters > 0) y = y * load(parameters_[0], offsets_[1], v, 0);
      if (form_.parameters > 1) y = y + load(parameters_[1], offsets_[2], v, 0);
    }
  }

  const RowForm& form_;
  const Scalar scalar_;
  Buffer out_, x_, shared_;
  std::vector<Buffer> parameters_;
  Val rows_, columns_, eps_, base_;
  std::vector<Val> offsets_;                       ///< of the inputs
  std::vector<Val> columns_of_, inside_, values_;  ///< one a vector of the unit
};

KernelKey key_of(const RowForm& form) {
  KernelKeyHasher h("rows");
  h.add(form.kind);
  h.add(form.dtype);
  for (int v : {form.parameters, form.lanes, form.vectors, form.units_x, form.units_y}) h.add(v);
  h.add(form.aligned);
  h.add(form.full);
  return h.key();
}

std::string name_of(const RowForm& form) {
  constexpr const char* names[] = {"softmax", "log_softmax", "layer_norm", "rms_norm"};
  return std::string(names[static_cast<int>(form.kind)]) + "_rows_" +
         std::string(strata::name_of(form.dtype));
}

}  // namespace

bool has_row_kernel(const Target& target, const op::Operation& op, const op::TensorType& x) {
  if (target.units == 1) return false;
  const auto* softmax = std::get_if<op::Softmax>(&op);
  if (!softmax && !std::holds_alternative<op::Norm>(op)) return false;
  if (softmax && softmax->axis + 1 != x.shape.rank()) return false;
  return x.shape.back() <=
         std::int64_t{target.units} * lanes_of(target, x.dtype) * most_vectors(target, x.dtype);
}

RowForm plan_rows(const Target& target, const op::Operation& op, const op::TensorType& x, int parameters) {
  constexpr int vectors_worth_a_unit = 4;
  RowForm form;
  form.kind = kind_of(op);
  form.dtype = x.dtype;
  form.parameters = parameters;
  form.lanes = lanes_of(target, x.dtype);
  const std::int64_t n = x.shape.back();
  const auto vectors = static_cast<std::uint64_t>(ceil_div(n, form.lanes));
  form.units_x = static_cast<int>(
      std::min<std::uint64_t>(std::bit_ceil((vectors + vectors_worth_a_unit - 1) / vectors_worth_a_unit),
                              static_cast<std::uint64_t>(target.units)));
  form.units_y = target.units / form.units_x;
  form.vectors = static_cast<int>(
      std::bit_ceil(static_cast<std::uint64_t>(ceil_div(static_cast<std::int64_t>(vectors), form.units_x))));
  form.aligned = n % form.lanes == 0;
  form.full = n == std::int64_t{form.units_x} * form.vectors * form.lanes;
  return form;
}

kernel::Kernel build_rows(const RowForm& form) {
  kernel::Builder builder(
      name_of(form), {static_cast<std::uint32_t>(form.units_x), static_cast<std::uint32_t>(form.units_y), 1});
  RowRecorder(builder, form).record();
  return builder.finish();
}

backend::Values execute_rows(CubeBackend& backend, const op::Operation& op, backend::Inputs inputs) {
  const op::TensorType type = backend::type_of(*inputs[0]);
  const auto out = backend.allocate(type);
  if (type.shape.product() == 0) return backend::Values(out);
  const std::int64_t columns = type.shape.back(), rows = type.shape.product() / columns;
  std::vector<CubeRef> operands;
  std::vector<runtime::BufferRef> buffers{out->buffer};
  const auto* norm = std::get_if<op::Norm>(&op);
  std::vector<std::int64_t> scalars{rows, columns, std::bit_cast<std::int64_t>(norm ? norm->eps : 0.0)};
  auto form = plan_rows(backend.target(), op, type, static_cast<int>(inputs.size()) - 1);
  for (const auto& input : inputs) {
    operands.push_back(backend.contiguous(CubeRef(static_cast<CubeValue*>(input.get()))));
    buffers.push_back(operands.back()->buffer);
    scalars.push_back(operands.back()->offset);
    form.aligned = form.aligned && operands.back()->offset % form.lanes == 0;
  }
  const auto& program = backend.kernels().get(key_of(form), [&] { return build_rows(form); });
  const std::int64_t cubes = ceil_div(rows, form.units_y);
  backend.launch(program, {static_cast<std::uint32_t>(cubes), 1, 1}, buffers, scalars);
  return backend::Values(out);
}

}  // namespace strata::cube
