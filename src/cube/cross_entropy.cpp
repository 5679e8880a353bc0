#include "cube/cross_entropy.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <optional>

#include "cube/emit_node.hpp"
#include "cube/index_check.hpp"
#include "cube/line_units.hpp"

namespace strata::cube {
namespace {

using kernel::Buffer;
using kernel::Scalar;
using kernel::Val;
using kernel::Var;

struct Form {
  DType dtype{}, target{};
  bool gradient = false;
  bool weights = false;
  bool smooth = false;
  int lanes = 1;  ///< of one aligned load of scores
  LineUnits cube{};

  /// Loads in flight of a unit.
  int loads() const { return lanes > 1 ? 4 : 8; }
};

class Recorder {
 public:
  Recorder(kernel::Builder& b, const Form& form)
      : form_(form), scalar_(compute_scalar(form.dtype)), logits_scalar_(kernel::scalar_of(form.dtype)) {
    out_ = b.write(form.gradient ? "logits_gradient" : "loss", logits_scalar_);
    if (!form.gradient) log_sum_ = b.write("log_sum", scalar_);
    logits_ = b.read("logits", logits_scalar_);
    target_ = b.read("target", kernel::scalar_of(form.target));
    if (form.gradient) {
      log_sum_ = b.read("log_sum", scalar_);
      gradient_ = b.read("gradient", logits_scalar_);
    }
    if (form.weights) weights_ = b.read("weights", logits_scalar_);
    check_ = b.read_write("check", Scalar::i64);
    rows_ = b.scalar("rows", Scalar::i64);
    classes_ = b.scalar("classes", Scalar::i64);
    logits_offset_ = b.scalar("logits_offset", Scalar::i64);
    target_offset_ = b.scalar("target_offset", Scalar::i64);
    if (form.gradient) {
      log_sum_offset_ = b.scalar("log_sum_offset", Scalar::i64);
      gradient_offset_ = b.scalar("gradient_offset", Scalar::i64);
    }
    if (form.weights) weights_offset_ = b.scalar("weights_offset", Scalar::i64);
    ignored_ = b.scalar("ignore_index", Scalar::i64);
    smoothing_ = b.scalar("label_smoothing", Scalar::f64);
    if (!form.gradient) extrema_.emplace(form.cube, scalar_);
    if (!form.gradient || (form.weights && form.smooth)) sums_.emplace(form.cube, Scalar::f64);
  }

  void record() {
    for_each_line(form_.cube, rows_, [&](Val row) { form_.gradient ? gradient_row(row) : loss_row(row); });
  }

 private:
  static Val wide(Val v) { return v.scalar() == Scalar::f64 ? v : kernel::convert(v, Scalar::f64); }
  Val computed(Val v) const { return v.scalar() == scalar_ ? v : kernel::convert(v, scalar_); }
  Val number(double v, int lanes = 1) const { return kernel::constant(kernel::make_type(scalar_, lanes), v); }
  Val sum_of(Val v) const {
    return sums_->all(v, [](Val a, Val b) { return a + b; });
  }
  Val share() const { return smoothing_ / kernel::convert(classes_, Scalar::f64); }

  /// body(first class, vectors of scores) for the unit's part of a row, some loads at a time, then one.
  template <class Body>
  void walk(Val row, Body&& body) const {
    const std::int64_t step = std::int64_t{form_.cube.units} * form_.lanes;
    const Val base = logits_offset_ + row * classes_;
    const std::uint8_t flags = form_.lanes > 1 ? kernel::aligned : kernel::no_flags;
    const Var next(kernel::convert(kernel::unit_x(), Scalar::i64) * form_.lanes);
    const auto take = [&](int loads) {
      const Val first = next;
      std::vector<Val> scores;
      for (int k = 0; k < loads; ++k) {
        scores.push_back(logits_.load(base + (first + k * step), form_.lanes, {.flags = flags}));
      }
      for (auto& v : scores) v = widen(v, form_.dtype);
      body(first, std::span<const Val>(scores));
      next.set(first + loads * step);
    };
    const int loads = form_.loads();
    kernel::while_([&] { return next.get() + (loads - 1) * step < classes_; }, [&] { take(loads); });
    kernel::while_([&] { return next.get() < classes_; }, [&] { take(1); });
  }
  Val weights_at(Val first, int lanes) const {
    return widen(weights_.load(weights_offset_ + first, lanes), form_.dtype);
  }
  Val class_at(Val at) const { return form_.weights ? weights_at(at, 1) : number(1); }
  /// The row's class, and whether it counts; one that is no class is reported by the row's first unit.
  struct Target {
    Val index, counts;
  };
  Target target_of(Val row) const {
    const Val index = kernel::convert(target_.load(target_offset_ + row), Scalar::i64);
    const Val good = in_range(index, classes_), given = index != ignored_;
    kernel::if_(given & (!good) & (kernel::unit_x() == 0), [&] { check_.atomic_min(0, row); });
    const Val counts = given & good;
    return {kernel::select(counts, index, 0), counts};
  }

  void loss_row(Val row) const {
    const double infinity = std::numeric_limits<double>::infinity();
    const Var top(number(-infinity)), sum(kernel::constant(kernel::make_type(Scalar::f64), 0));
    const Var smoothed(sum.get()), total(sum.get());
    const int lanes = form_.lanes;
    const std::int64_t step = std::int64_t{form_.cube.units} * lanes;
    walk(row, [&](Val first, std::span<const Val> scores) {
      Val most = scores[0];
      for (const Val& v : scores.subspan(1)) most = kernel::max(most, v);
      if (lanes > 1) most = kernel::reduce_max(most);
      const Val before = top, now = kernel::max(before, most);
      const Val shift = kernel::select(now == number(-infinity), number(0), now);  // no -inf - -inf
      Val part;
      for (const Val& v : scores) {
        const Val e = kernel::exp(v - kernel::splat(shift, lanes));
        part = part.present() ? part + e : e;
      }
      if (lanes > 1) part = kernel::reduce_add(part);
      sum.set(sum.get() * wide(kernel::exp(before - shift)) + wide(part));
      top.set(now);
      if (!form_.smooth) return;
      for (std::size_t k = 0; k < scores.size(); ++k) {
        const Val w =
            form_.weights ? weights_at(first + static_cast<std::int64_t>(k) * step, lanes) : number(1, lanes);
        const Val terms = wide(w) * wide(scores[k]);
        smoothed.set(smoothed.get() + (lanes > 1 ? kernel::reduce_add(terms) : terms));
        total.set(total.get() + (lanes > 1 ? kernel::reduce_add(wide(w)) : wide(w)));
      }
    });
    const Val largest = extrema_->all(top, [](Val a, Val b) { return kernel::max(a, b); });
    const Val logarithm = kernel::log(sum_of(sum.get() * wide(kernel::exp(top - largest))));
    const Val all_weights = form_.smooth ? sum_of(total) : Val{},
              all_terms = form_.smooth ? sum_of(smoothed) : Val{};
    const Target target = target_of(row);
    kernel::if_(kernel::unit_x() == 0, [&] {
      log_sum_.store(row, computed(wide(largest) + logarithm));
      const Val score = widen(logits_.load(logits_offset_ + row * classes_ + target.index), form_.dtype);
      Val loss = wide(class_at(target.index)) * (logarithm - (wide(score) - wide(largest)));
      if (form_.smooth) {
        const Val rest = all_weights * logarithm - (all_terms - all_weights * wide(largest));
        loss = (1.0 - smoothing_) * loss + share() * rest;
      }
      const Val zero = kernel::constant(kernel::make_type(Scalar::f64), 0);
      out_.store(row, narrow(computed(kernel::select(target.counts, loss, zero)), form_.dtype));
    });
  }

  void gradient_row(Val row) const {
    const int lanes = form_.lanes;
    const std::int64_t step = std::int64_t{form_.cube.units} * lanes;
    Val total = kernel::convert(classes_, Scalar::f64);
    if (form_.weights && form_.smooth) {
      const Var mine(kernel::constant(kernel::make_type(Scalar::f64), 0));
      kernel::for_(kernel::convert(kernel::unit_x(), Scalar::i64), classes_, form_.cube.units,
                   [&](Val c) { mine.set(mine.get() + wide(weights_at(c, 1))); });
      total = sum_of(mine);
    }
    const Target target = target_of(row);
    const Val log_sum = log_sum_.load(log_sum_offset_ + row);
    const Val g = widen(gradient_.load(gradient_offset_ + row), form_.dtype);
    Val at_target = class_at(target.index), scale = at_target, rest;
    if (form_.smooth) {
      at_target = computed(1.0 - smoothing_) * at_target;
      scale = at_target + computed(share() * total);
      rest = g * computed(share());
    }
    scale = g * scale;
    at_target = g * at_target;
    const Val base = row * classes_;
    const std::uint8_t flags = lanes > 1 ? kernel::aligned : kernel::no_flags;
    walk(row, [&](Val first, std::span<const Val> scores) {
      for (std::size_t k = 0; k < scores.size(); ++k) {
        const Val at = first + static_cast<std::int64_t>(k) * step;
        Val v = kernel::exp(scores[k] - kernel::splat(log_sum, lanes)) * kernel::splat(scale, lanes);
        if (form_.smooth) {
          v = v - kernel::splat(rest, lanes) * (form_.weights ? weights_at(at, lanes) : number(1, lanes));
        }
        Val classes = kernel::splat(at, lanes);
        if (lanes > 1) classes = classes + kernel::lane_index(kernel::make_type(Scalar::i64, lanes));
        v = kernel::select(classes == kernel::splat(target.index, lanes), v - kernel::splat(at_target, lanes),
                           v);
        v = kernel::select(kernel::splat(target.counts, lanes), v, number(0, lanes));
        out_.store(base + at, narrow(v, form_.dtype), {.flags = flags});
      }
    });
  }

  const Form& form_;
  const Scalar scalar_, logits_scalar_;
  Buffer out_, log_sum_, logits_, target_, gradient_, weights_, check_;
  Val rows_, classes_, logits_offset_, target_offset_, log_sum_offset_, gradient_offset_, weights_offset_;
  Val ignored_, smoothing_;
  std::optional<LineReduction> extrema_, sums_;
};

kernel::Kernel build(const Form& form) {
  const auto name = std::string(form.gradient ? "cross_entropy_gradient_" : "cross_entropy_") +
                    std::string(name_of(form.dtype));
  kernel::Builder builder(name, form.cube.cube_dim());
  Recorder(builder, form).record();
  return builder.finish();
}

KernelKey key_of(const Form& form) {
  KernelKeyHasher h("cross_entropy");
  h.add(form.dtype);
  h.add(form.target);
  for (bool v : {form.gradient, form.weights, form.smooth}) h.add(v);
  for (int v : {form.lanes, form.cube.units, form.cube.lines}) h.add(v);
  return h.key();
}

template <class Op>
void launch(CubeBackend& backend, const Op& op, backend::Inputs inputs,
            std::vector<runtime::BufferRef> buffers) {
  constexpr bool gradient = std::is_same_v<Op, op::CrossEntropyGradient>;
  constexpr std::size_t weights_at = gradient ? 4 : 2;
  std::vector<CubeRef> operands;
  for (const auto& v : inputs) {
    operands.push_back(backend.contiguous(CubeRef(static_cast<CubeValue*>(v.get()))));
    buffers.push_back(operands.back()->buffer);
  }
  const auto& logits = *operands[0];
  const auto classes = logits.shape.back(), rows = logits.shape.product() / classes;
  Form form{logits.dtype, operands[1]->dtype, gradient, inputs.size() > weights_at, op.label_smoothing > 0};
  const int lanes = backend.target().vector_bytes / static_cast<int>(size_of(form.dtype));
  if (classes % lanes == 0 && logits.offset % lanes == 0) form.lanes = lanes;
  form.cube = line_units(backend.target(), ceil_div(classes, std::int64_t{form.lanes} * form.loads()));

  std::vector<std::int64_t> scalars{rows, classes};
  for (const auto& v : operands) scalars.push_back(v->offset);
  scalars.push_back(op.ignore_index);
  scalars.push_back(std::bit_cast<std::int64_t>(op.label_smoothing));
  backend.launch(backend.kernels().get(key_of(form), [&] { return build(form); }),
                 {static_cast<std::uint32_t>(std::min(ceil_div(rows, form.cube.lines), most_cubes)), 1, 1},
                 buffers, scalars,
                 index_check(backend, op::name_of(op::Operation(op)), logits.shape.rank() - 1,
                             backend::type_of(logits), operands[1]));
}

}  // namespace

backend::Values cross_entropy(CubeBackend& backend, const op::CrossEntropy& op, backend::Inputs inputs,
                              const op::TensorTypes& types) {
  const auto loss = backend.allocate(types[0]), log_sum = backend.allocate(types[1]);
  launch(backend, op, inputs, {loss->buffer, log_sum->buffer});
  backend::Values values{backend::ValueRef(loss)};
  values.push_back(log_sum);
  return values;
}

CubeRef cross_entropy_gradient(CubeBackend& backend, const op::CrossEntropyGradient& op,
                               backend::Inputs inputs, const op::TensorType& type) {
  auto out = backend.allocate(type);
  launch(backend, op, inputs, {out->buffer});
  return out;
}

}  // namespace strata::cube
