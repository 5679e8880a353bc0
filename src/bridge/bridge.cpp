#include "bridge/bridge.hpp"

#include <algorithm>

namespace strata::bridge {
namespace {

ValueRef run(const op::Operation& op, std::initializer_list<ValueRef> inputs) {
  return std::move(backend::execute(op, {inputs.begin(), inputs.size()})[0]);
}
ValueRef run1(const op::Operation& op, const ValueRef& x) {
  return std::move(x->backend.execute(op, {&x, 1})[0]);
}

}  // namespace

int normalise_axis(int axis, int rank, std::string_view op) {
  const int normal = axis < 0 ? axis + rank : axis;
  if (normal < 0 || normal >= rank) {
    throw ShapeError("[" + std::string(op) + "] axis " + std::to_string(axis) + " is not an axis of a rank " +
                     std::to_string(rank) + " tensor");
  }
  return normal;
}

ValueRef fill(Backend& backend, const Shape& shape, DType dtype, Number value) {
  return std::move(backend.execute(op::Fill{shape, dtype, value}, {})[0]);
}
ValueRef scalar_like(const ValueRef& x, Number value) { return fill(x->backend, {}, x->dtype, value); }
ValueRef zeros_like(const ValueRef& x) { return fill(x->backend, x->shape, x->dtype, 0); }
ValueRef iota(Backend& backend, std::int64_t size, DType dtype, Number start, Number step) {
  return std::move(backend.execute(op::Iota{size, dtype, start, step}, {})[0]);
}
ValueRef random(Backend& backend, const op::Random& description) {
  return std::move(backend.execute(description, {})[0]);
}

ValueRef unary(UnaryKind kind, const ValueRef& x) { return run1(op::Unary{kind}, x); }
ValueRef binary(BinaryKind kind, const ValueRef& a, const ValueRef& b) {
  return run(op::Binary{kind}, {a, b});
}
ValueRef binary(BinaryKind kind, const ValueRef& a, Number b) { return binary(kind, a, scalar_like(a, b)); }
ValueRef binary(BinaryKind kind, Number a, const ValueRef& b) { return binary(kind, scalar_like(b, a), b); }
ValueRef compare(CompareKind kind, const ValueRef& a, const ValueRef& b) {
  return run(op::Compare{kind}, {a, b});
}
ValueRef compare(CompareKind kind, const ValueRef& a, Number b) {
  return compare(kind, a, scalar_like(a, b));
}
ValueRef where(const ValueRef& condition, const ValueRef& if_true, const ValueRef& if_false) {
  return run(op::Where{}, {condition, if_true, if_false});
}
ValueRef cast(const ValueRef& x, DType dtype) { return x->dtype == dtype ? x : run1(op::Cast{dtype}, x); }

ValueRef matmul(const ValueRef& a, const ValueRef& b, Precision precision) {
  return run(op::Matmul{a->dtype == DType::f32 ? precision : Precision::exact}, {a, b});
}
ValueRef reduce(ReduceKind kind, const ValueRef& x, const Axes& axes, bool keep_dims) {
  // Of bools they are any and all, which have a value over nothing.
  const bool any = kind == ReduceKind::max, all = kind == ReduceKind::min;
  const auto is_empty = [&](std::int64_t axis) {
    return axis < x->shape.rank() && x->shape[static_cast<int>(axis)] == 0;
  };
  if (x->dtype == DType::boolean && (any || all) && std::any_of(axes.begin(), axes.end(), is_empty)) {
    Shape shape;
    for (int i = 0; i < x->shape.rank(); ++i) {
      if (!axes.contains(i)) {
        shape.push_back(x->shape[i]);
      } else if (keep_dims) {
        shape.push_back(1);
      }
    }
    return fill(x->backend, shape, DType::boolean, all);
  }
  return run1(op::Reduce{kind, axes, keep_dims}, x);
}
ValueRef reduce_all(ReduceKind kind, const ValueRef& x) {
  Axes axes;
  for (int i = 0; i < x->shape.rank(); ++i) axes.push_back(i);
  return reduce(kind, x, axes, false);
}

ValueRef reshape(const ValueRef& x, Shape shape) {
  std::int64_t known = 1;
  int unknown = -1;
  for (int i = 0; i < shape.rank(); ++i) {
    if (shape[i] != -1) {
      known *= shape[i];
    } else if (std::exchange(unknown, i) != -1) {
      throw ShapeError("[reshape] more than one extent of " + shape.to_string() + " is -1");
    }
  }
  if (unknown >= 0) {
    if (known == 0 || x->shape.product() % known != 0) {
      throw ShapeError("[reshape] cannot infer the -1 in " + shape.to_string() + " for a tensor of shape " +
                       x->shape.to_string());
    }
    shape[unknown] = x->shape.product() / known;
  }
  return shape == x->shape ? x : run1(op::Reshape{shape}, x);
}
ValueRef permute(const ValueRef& x, const Axes& order) { return run1(op::Permute{order}, x); }
ValueRef transpose(const ValueRef& x, int axis_a, int axis_b) {
  const int rank = x->shape.rank();
  Axes order = Axes::filled(rank, 0);
  for (int i = 0; i < rank; ++i) order[i] = i;
  std::swap(order[normalise_axis(axis_a, rank, "transpose")],
            order[normalise_axis(axis_b, rank, "transpose")]);
  return permute(x, order);
}
ValueRef expand(const ValueRef& x, const Shape& shape) {
  return shape == x->shape ? x : run1(op::Expand{shape}, x);
}
ValueRef slice(const ValueRef& x, const Dims& start, const Dims& stop, const Dims& step) {
  return run1(op::Slice{start, stop, step}, x);
}
ValueRef flip(const ValueRef& x, const Axes& axes) { return run1(op::Flip{axes}, x); }
ValueRef cat(const std::vector<ValueRef>& xs, int axis) {
  if (xs.empty()) throw ArgumentError("[cat] needs at least one tensor");
  return std::move(backend::execute(op::Cat{normalise_axis(axis, xs[0]->shape.rank(), "cat")}, xs)[0]);
}

ValueRef arg_reduce(op::ExtremumKind kind, const ValueRef& x, int axis, bool keep_dims) {
  return run1(op::ArgReduce{kind, normalise_axis(axis, x->shape.rank(), "arg_reduce"), keep_dims}, x);
}
ValueRef argsort(const ValueRef& x, int axis, bool descending, std::int64_t count) {
  return run1(op::ArgSort{normalise_axis(axis, x->shape.rank(), "argsort"), descending, count}, x);
}
ValueRef cumulative(op::CumulativeKind kind, const ValueRef& x, int axis) {
  return run1(op::Cumulative{kind, normalise_axis(axis, x->shape.rank(), "cumulative")}, x);
}
ValueRef softmax(const ValueRef& x, int axis, bool log) {
  return run1(op::Softmax{normalise_axis(axis, x->shape.rank(), "softmax"), log}, x);
}
ValueRef norm(op::NormKind kind, const ValueRef& x, const std::vector<ValueRef>& parameters, double eps) {
  std::vector<ValueRef> inputs{x};
  inputs.insert(inputs.end(), parameters.begin(), parameters.end());
  return std::move(backend::execute(op::Norm{kind, eps}, inputs)[0]);
}

ValueRef gather(const ValueRef& x, int axis, const ValueRef& index) {
  return run(op::Gather{normalise_axis(axis, x->shape.rank(), "gather")}, {x, index});
}
ValueRef scatter(const ValueRef& x, int axis, const ValueRef& index, const ValueRef& source,
                 op::ScatterMode mode) {
  return run(op::Scatter{normalise_axis(axis, x->shape.rank(), "scatter"), mode}, {x, index, source});
}

namespace {

/// An index of one axis, seen as one that has the extents of x on the others.
ValueRef along(const ValueRef& x, int axis, const ValueRef& index, std::string_view op) {
  if (index->shape.rank() != 1) {
    throw ShapeError("[" + std::string(op) + "] the index must have rank 1, not shape " +
                     index->shape.to_string());
  }
  Shape column = Shape::filled(x->shape.rank() - axis, 1), full = x->shape;
  column[0] = full[axis] = index->shape[0];
  return expand(reshape(index, column), full);
}

}  // namespace

ValueRef select(const ValueRef& x, int axis, const ValueRef& index) {
  axis = normalise_axis(axis, x->shape.rank(), "select");
  return gather(x, axis, along(x, axis, index, "select"));
}
ValueRef select_assign(const ValueRef& x, int axis, const ValueRef& index, const ValueRef& source,
                       op::ScatterMode mode) {
  axis = normalise_axis(axis, x->shape.rank(), "select_assign");
  return scatter(x, axis, along(x, axis, index, "select_assign"), source, mode);
}
ValueRef slice_assign(const ValueRef& x, const Dims& start, const Dims& stop, const Dims& step,
                      const ValueRef& source) {
  return run(op::SliceAssign{start, stop, step}, {x, source});
}
ValueRef pad(const ValueRef& x, const Dims& before, const Dims& after, Number value) {
  Shape shape = x->shape;
  Dims stop = x->shape;
  bool good = before.rank() == shape.rank() && after.rank() == shape.rank();
  for (int i = 0; good && i < shape.rank(); ++i) {
    good = before[i] >= 0 && after[i] >= 0 && !__builtin_add_overflow(shape[i], before[i], &stop[i]) &&
           !__builtin_add_overflow(stop[i], after[i], &shape[i]);
  }
  if (!good) {
    throw ShapeError("[pad] before " + before.to_string() + " and after " + after.to_string() +
                     " need one entry of at least 0 for each axis of " + x->shape.to_string());
  }
  if (shape == x->shape) return x;
  const auto around = expand(scalar_like(x, value), shape);
  return slice_assign(around, before, stop, Dims::filled(shape.rank(), 1), x);
}
ValueRef unfold(const ValueRef& x, int axis, std::int64_t size, std::int64_t step) {
  return run1(op::Unfold{normalise_axis(axis, x->shape.rank(), "unfold"), size, step}, x);
}

ValueRef conv(const op::Conv& op, const ValueRef& x, const ValueRef& weight) { return run(op, {x, weight}); }
ValueRef pool(const op::Pool& op, const ValueRef& x) { return run1(op, x); }
ValueRef arg_pool(const op::ArgPool& op, const ValueRef& x) { return run1(op, x); }

backend::Values linalg(op::LinalgKind kind, const std::vector<ValueRef>& operands) {
  return backend::execute(op::Linalg{kind}, operands);
}
ValueRef fft(op::FftKind kind, const ValueRef& x, int axis, std::int64_t size) {
  const int rank = x->shape.rank() - (kind == op::FftKind::rfft ? 0 : 1);
  return run1(op::Fft{kind, normalise_axis(axis, rank, op::name_of(kind)), size}, x);
}

backend::Values attention(const op::Attention& op, const ValueRef& q, const ValueRef& k, const ValueRef& v,
                          const ValueRef& mask) {
  std::vector<ValueRef> inputs{q, k, v};
  if (mask) inputs.push_back(mask);
  return backend::execute(op, inputs);
}
backend::Values cross_entropy(const op::CrossEntropy& op, const ValueRef& logits, const ValueRef& target,
                              const ValueRef& weights) {
  std::vector<ValueRef> inputs{logits, target};
  if (weights) inputs.push_back(weights);
  return backend::execute(op, inputs);
}
ValueRef ctc(const op::Ctc& op, const ValueRef& log_probs, const ValueRef& targets,
             const ValueRef& input_lengths, const ValueRef& target_lengths) {
  return run(op, {log_probs, targets, input_lengths, target_lengths});
}

ValueRef sum_to(const ValueRef& x, const Shape& shape) {
  if (x->shape == shape) return x;
  const int lead = x->shape.rank() - shape.rank();
  Axes axes;
  for (int i = 0; i < x->shape.rank(); ++i) {
    if (i < lead || (shape[i - lead] == 1 && x->shape[i] != 1)) axes.push_back(i);
  }
  return reshape(reduce(ReduceKind::sum, x, axes, false), shape);
}

}  // namespace strata::bridge
