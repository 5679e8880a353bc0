#include "flex/loss.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <fmt/format.h>

#include "flex/elementwise.hpp"
#include "flex/index_check.hpp"
#include "flex/kernels.hpp"
#include "flex/loss_kernels.hpp"
#include "flex/parallel.hpp"
#include "flex/reader.hpp"

namespace strata::flex {
namespace {

/// Rows stored as S, handed out and taken back as Compute<S>. One object per thread.
template <class S>
class Rows {
 public:
  using C = Compute<S>;

  Rows(const S* in, S* out, std::int64_t n)
      : in_(in), out_(out), n_(n), wide_(is_half<S> ? static_cast<std::size_t>(n) : 0) {}
  const C* load(std::int64_t row) {
    if constexpr (is_half<S>) {
      to_float(in_ + row * n_, wide_.data(), wide_.size());
      return wide_.data();
    } else {
      return in_ + row * n_;
    }
  }
  /// Where to compute a row of the result; `store` puts it in place.
  C* target(std::int64_t row) {
    if constexpr (is_half<S>) {
      return wide_.data();
    } else {
      return out_ + row * n_;
    }
  }
  void store(std::int64_t row) {
    if constexpr (is_half<S>) from_float(wide_.data(), out_ + row * n_, wide_.size());
  }

 private:
  const S* in_;
  S* out_;
  std::int64_t n_;
  std::vector<float> wide_;  // the row, when it must be converted
};

FlexRef as_i64(const backend::ValueRef& v) {
  return contiguous(*cast_to(flex(v), DType::i64), "cross_entropy");
}

/// The operands of cross entropy and of its gradient, made dense. T is what is computed in.
template <class T>
struct CrossEntropyRows {
  FlexRef logits, target, weights;
  std::int64_t rows, classes;
  T total = 0;  ///< of the weights

  CrossEntropyRows(backend::Inputs inputs, std::size_t weights_at)
      : logits(contiguous(flex(inputs[0]), "cross_entropy")),
        target(as_i64(inputs[1])),
        rows(target->size()) {
    classes = logits->shape.back();
    total = static_cast<T>(classes);
    if (inputs.size() <= weights_at) return;
    weights = contiguous(*cast_to(flex(inputs[weights_at]), dtype_of<T>()), "cross_entropy");
    total = static_cast<T>(loss_kernels<T>().sum(weights->as<T>(), static_cast<std::size_t>(classes)));
  }
  const T* weight() const { return weights ? weights->as<T>() : nullptr; }
  T weight_of(std::int64_t c) const { return weights ? weights->as<T>()[c] : T{1}; }

  /// f(row, its class) for each row that is not ignored, `skip(row)` for the others, on several threads.
  template <class Op, class Make, class F, class Skip>
  void for_each_row(const Op& op, const backend::Inputs& inputs, Make&& make, F&& f, Skip&& skip) const {
    IndexCheck check(classes);
    const auto* targets = target->as<std::int64_t>();
    const auto bytes = 2 * logits->size() * static_cast<std::int64_t>(sizeof(T));
    parallel_or_throw(rows, std::max<std::int64_t>(block / std::max<std::int64_t>(classes, 1), 1), bytes,
                      [&](std::int64_t begin, std::int64_t end) {
                        auto io = make();
                        for (auto row = begin; row < end; ++row) {
                          const auto c = targets[row];
                          if (c == op.ignore_index) {
                            skip(io, row);
                          } else if (check.good(c, row)) {
                            f(io, row, c);
                          }
                        }
                      });
    check.throw_if_bad(op::name_of(op::Operation(op)), flex(inputs[0]), flex(inputs[1]),
                       logits->shape.rank() - 1, [&](std::int64_t i) { return targets[i]; });
  }
};

template <class S>
backend::Values cross_entropy(const op::CrossEntropy& op, backend::Inputs inputs,
                              const op::TensorTypes& types) {
  using T = Compute<S>;
  auto& home = flex(inputs[0]).backend;
  auto loss = FlexValue::make(home, types[0], "cross_entropy"),
       log_sum = FlexValue::make(home, types[1], "cross_entropy");
  if (loss->size() > 0) {
    const CrossEntropyRows<T> in(inputs, 2);
    const auto n = static_cast<std::size_t>(in.classes);
    const auto& kernels = loss_kernels<T>();
    const double smooth = op.label_smoothing,
                 share = smooth / static_cast<double>(std::max(in.classes, std::int64_t{1}));
    const auto measure = [&](auto& io, std::int64_t row, T* largest, double* logarithm) {
      const T* x = io.load(row);
      kernels.log_sum(x, n, largest, logarithm);
      log_sum->as<T>()[row] = static_cast<T>(static_cast<double>(*largest) + *logarithm);
      return x;
    };
    in.for_each_row(
        op, inputs, [&] { return Rows<S>(in.logits->template as<S>(), nullptr, in.classes); },
        [&](auto& io, std::int64_t row, std::int64_t c) {
          T largest;
          double logarithm;
          const T* x = measure(io, row, &largest, &logarithm);
          double value = (1 - smooth) * static_cast<double>(in.weight_of(c)) *
                         (logarithm - (static_cast<double>(x[c]) - static_cast<double>(largest)));
          if (share > 0) {
            value += share * (static_cast<double>(in.total) * logarithm -
                              kernels.weighted(x, in.weight(), largest, n));
          }
          loss->as<S>()[row] = static_cast<S>(static_cast<T>(value));
        },
        [&](auto& io, std::int64_t row) {
          T largest;
          double logarithm;
          measure(io, row, &largest, &logarithm);
          loss->as<S>()[row] = static_cast<S>(T{0});
        });
  }
  backend::Values values{backend::ValueRef(std::move(loss))};
  values.push_back(std::move(log_sum));
  return values;
}

template <class S>
void cross_entropy_gradient(const op::CrossEntropyGradient& op, backend::Inputs inputs, FlexValue& out) {
  using T = Compute<S>;
  const CrossEntropyRows<T> in(inputs, 4);
  const auto log_sum = contiguous(flex(inputs[2]), "cross_entropy_gradient"),
             gradient = contiguous(*cast_to(flex(inputs[3]), dtype_of<T>()), "cross_entropy_gradient");
  const auto n = static_cast<std::size_t>(in.classes);
  const T smooth = static_cast<T>(op.label_smoothing), share = smooth / static_cast<T>(in.classes);
  in.for_each_row(
      op, inputs, [&] { return Rows<S>(in.logits->template as<S>(), out.as<S>(), in.classes); },
      [&](auto& io, std::int64_t row, std::int64_t c) {
        const T g = gradient->template as<T>()[row], at_target = (1 - smooth) * in.weight_of(c);
        T* result = io.target(row);
        // Without smoothing nothing is multiplied by 0: weights may be infinite.
        loss_kernels<T>().gradient(io.load(row), in.weight(), log_sum->template as<T>()[row],
                                   share > 0 ? g * (at_target + share * in.total) : g * at_target,
                                   share > 0 ? g * share : T{0}, result, n);
        result[c] -= g * at_target;
        io.store(row);
      },
      [&](auto& io, std::int64_t row) {
        std::fill_n(io.target(row), n, T{0});
        io.store(row);
      });
}

/// Calls f<S>() for the float dtype.
template <class F>
auto visit_float(DType t, F&& f) {
  switch (t) {
    case DType::f64:
      return f.template operator()<double>();
    case DType::f16:
      return f.template operator()<Float16>();
    case DType::bf16:
      return f.template operator()<BFloat16>();
    default:
      return f.template operator()<float>();
  }
}

// ---- CTC

constexpr double impossible = -std::numeric_limits<double>::infinity();

/// log(exp(a) + exp(b)); NaN if one is.
double log_add(double a, double b) {
  if (a == impossible) return b;
  if (b == impossible) return a;
  return a > b ? a + std::log1p(std::exp(b - a)) : b + std::log1p(std::exp(a - b));
}

/// The sequences of one call, in f64 and i64.
struct Sequences {
  FlexRef log_probs, targets, input_lengths, target_lengths;
  std::int64_t time, batch, classes, longest, blank;

  Sequences(backend::Inputs inputs, std::int64_t blank_class, std::string_view op)
      : log_probs(contiguous(*cast_to(flex(inputs[0]), DType::f64), op)),
        targets(as_i64(inputs[1])),
        input_lengths(as_i64(inputs[2])),
        target_lengths(as_i64(inputs[3])),
        time(log_probs->shape[0]),
        batch(log_probs->shape[1]),
        classes(log_probs->shape[2]),
        longest(targets->shape[1]),
        blank(blank_class) {
    check(op, inputs);
  }
  std::int64_t steps(std::int64_t sample) const { return input_lengths->as<std::int64_t>()[sample]; }
  std::int64_t labels(std::int64_t sample) const { return target_lengths->as<std::int64_t>()[sample]; }
  /// Class of state s: blanks lie around and between the targets.
  std::int64_t label(std::int64_t sample, std::int64_t s) const {
    return s % 2 ? targets->as<std::int64_t>()[sample * longest + s / 2] : blank;
  }
  /// Whether a path may go from state s - 2 to s.
  bool skips(std::int64_t sample, std::int64_t s) const {
    return s % 2 == 1 && s >= 3 && label(sample, s) != label(sample, s - 2);
  }
  const double* row(std::int64_t t, std::int64_t sample) const {
    return log_probs->as<double>() + (t * batch + sample) * classes;
  }
  std::int64_t work() const { return time * batch * (2 * longest + 1) * 64; }

 private:
  void require(std::string_view op, const backend::Inputs& inputs, std::string_view what, std::int64_t value,
               std::int64_t sample, std::int64_t last) const {
    if (value >= 0 && value <= last) return;
    throw IndexError(fmt::format("[{}] {} {} of sample {} is not in 0..{} (inputs: {}, {}; device: {})", op,
                                 what, value, sample, last, flex(inputs[0]).type().to_string(),
                                 flex(inputs[1]).type().to_string(), flex(inputs[0]).backend.name()));
  }
  void check(std::string_view op, const backend::Inputs& inputs) const {
    for (std::int64_t i = 0; i < batch; ++i) {
      require(op, inputs, "input length", steps(i), i, time);
      require(op, inputs, "target length", labels(i), i, longest);
      for (std::int64_t k = 0; k < labels(i); ++k)
        require(op, inputs, "target", label(i, 2 * k + 1), i, classes - 1);
    }
  }
};

/// alpha[t][s]: the logarithm of the probability of all beginnings of paths that are in state s at time t.
/// Returns that of all paths. `alpha` has room for every step of the sample, or for two when `all` is false.
double forward(const Sequences& in, std::int64_t sample, std::vector<double>& alpha, bool all) {
  const auto states = 2 * in.labels(sample) + 1, steps = in.steps(sample);
  if (steps == 0) return states == 1 ? 0 : impossible;
  const auto at = [&](std::int64_t t) { return alpha.data() + (all ? t : t % 2) * states; };
  std::fill_n(at(0), states, impossible);
  for (std::int64_t s = 0; s < std::min<std::int64_t>(states, 2); ++s)
    at(0)[s] = in.row(0, sample)[in.label(sample, s)];
  for (std::int64_t t = 1; t < steps; ++t) {
    const double *before = at(t - 1), *log_probs = in.row(t, sample);
    for (std::int64_t s = 0; s < states; ++s) {
      double sum = before[s];
      if (s >= 1) sum = log_add(sum, before[s - 1]);
      if (in.skips(sample, s)) sum = log_add(sum, before[s - 2]);
      at(t)[s] = sum + log_probs[in.label(sample, s)];
    }
  }
  const double* last = at(steps - 1);
  return states == 1 ? last[0] : log_add(last[states - 1], last[states - 2]);
}

/// Fills the sample's part of `out`, which is zero, from alpha and the mirrored recursion.
void add_posteriors(const Sequences& in, std::int64_t sample, const std::vector<double>& alpha, double whole,
                    double* out) {
  const auto states = 2 * in.labels(sample) + 1, steps = in.steps(sample);
  std::vector<double> after(static_cast<std::size_t>(states), impossible), now = after;
  for (auto t = steps - 1; t >= 0; --t) {
    const double* log_probs = in.row(t, sample);
    double* gradient = out + (t * in.batch + sample) * in.classes;
    for (std::int64_t s = 0; s < states; ++s) {  // now[s]: the rest of the path, this step left out
      double sum = t == steps - 1 && s >= states - 2 ? 0 : impossible;
      if (t < steps - 1) {
        sum = after[static_cast<std::size_t>(s)];
        if (s + 1 < states) sum = log_add(sum, after[static_cast<std::size_t>(s) + 1]);
        if (s + 2 < states && in.skips(sample, s + 2))
          sum = log_add(sum, after[static_cast<std::size_t>(s) + 2]);
      }
      now[static_cast<std::size_t>(s)] = sum;
      const auto begin = alpha[static_cast<std::size_t>(t * states + s)];
      gradient[in.label(sample, s)] -= std::exp(begin + sum - whole);
    }
    for (std::int64_t s = 0; s < states; ++s) {
      after[static_cast<std::size_t>(s)] = now[static_cast<std::size_t>(s)] + log_probs[in.label(sample, s)];
    }
  }
}

}  // namespace

backend::Values run(const op::CrossEntropy& op, backend::Inputs inputs, const op::TensorTypes& types) {
  return visit_float(types[0].dtype, [&]<class S>() { return cross_entropy<S>(op, inputs, types); });
}

FlexRef run(const op::CrossEntropyGradient& op, backend::Inputs inputs, const op::TensorType& type) {
  auto out = FlexValue::make(flex(inputs[0]).backend, type, "cross_entropy_gradient");
  if (out->size() > 0) {
    visit_float(type.dtype, [&]<class S>() { cross_entropy_gradient<S>(op, inputs, *out); });
  }
  return out;
}

FlexRef run(const op::Ctc& op, backend::Inputs inputs, const op::TensorType& type) {
  const Sequences in(inputs, op.blank, "ctc");
  auto out = FlexValue::make(flex(inputs[0]).backend, {DType::f64, type.shape}, "ctc");
  parallel_or_throw(in.batch, 1, in.work(), [&](std::int64_t begin, std::int64_t end) {
    std::vector<double> alpha(static_cast<std::size_t>(2 * (2 * in.longest + 1)));
    for (auto sample = begin; sample < end; ++sample) {
      const double loss = -forward(in, sample, alpha, false);
      out->as<double>()[sample] = op.zero_infinity && std::isinf(loss) ? 0 : loss;
    }
  });
  return cast_to(*out, type.dtype);
}

FlexRef run(const op::CtcGradient& op, backend::Inputs inputs, const op::TensorType& type) {
  const Sequences in(inputs, op.blank, "ctc_gradient");
  auto out = FlexValue::make(flex(inputs[0]).backend, {DType::f64, type.shape}, "ctc_gradient");
  std::fill_n(out->as<double>(), out->size(), 0.0);
  parallel_or_throw(in.batch, 1, 2 * in.work(), [&](std::int64_t begin, std::int64_t end) {
    std::vector<double> alpha(static_cast<std::size_t>(in.time * (2 * in.longest + 1)));
    for (auto sample = begin; sample < end; ++sample) {
      const double whole = forward(in, sample, alpha, true);
      if (whole != impossible) {
        add_posteriors(in, sample, alpha, whole, out->as<double>());
      } else if (!op.zero_infinity) {
        for (std::int64_t t = 0; t < in.steps(sample); ++t) {
          std::fill_n(out->as<double>() + (t * in.batch + sample) * in.classes, in.classes,
                      std::numeric_limits<double>::quiet_NaN());
        }
      }
    }
  });
  return cast_to(*out, type.dtype);
}

}  // namespace strata::flex
