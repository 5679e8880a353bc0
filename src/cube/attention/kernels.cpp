#include "cube/attention/kernels.hpp"

#include <algorithm>
#include <limits>
#include <optional>

#include "cube/attention/tiles.hpp"
#include "cube/emit_node.hpp"
#include "cube/index_math.hpp"
#include "kernel/functions.hpp"
#include "op/common.hpp"

namespace strata::cube::attention {
namespace {

using kernel::Buffer;
using kernel::Scalar;
using kernel::Val;
using kernel::Var;

/// A matrix for each batch and head, or group of heads. Arguments: offset, and strides of batch, head and
/// row.
struct Matrices {
  Buffer data;
  DType dtype{};
  Val offset, batch, head, row;

  Matrices() = default;
  Matrices(kernel::Builder& b, const Buffer& buffer, DType t, const std::string& name)
      : data(buffer),
        dtype(t),
        offset(b.scalar(name + "_offset", Scalar::i64)),
        batch(b.scalar(name + "_batch", Scalar::i64)),
        head(b.scalar(name + "_head", Scalar::i64)),
        row(b.scalar(name + "_row", Scalar::i64)) {}
  Rows rows(Val b, Val h, Val count, Val width) const {
    return {data, dtype, offset + b * batch + h * head, row, count, width, {}};
  }
};

Rows times(Rows rows, Val factor) {
  rows.factor = factor;
  return rows;
}

/// Records a kernel. Constructor: buffers and arguments in the order of Call::launch (attention.cpp).
class Recorder {
 public:
  Recorder(kernel::Builder& b, const KernelForm& form)
      : form_(form), scalar_(compute_scalar(form.dtype)), stored_(kernel::scalar_of(form.dtype)) {
    const bool forward = form.kind == KernelKind::forward;
    out_ = b.write(forward                                   ? "out"
                   : form.kind == KernelKind::query_gradient ? "dq"
                                                             : "dk",
                   form.split ? scalar_ : stored_);
    if (forward) sums_ = b.write("log_sum", scalar_);
    if (form.kind == KernelKind::key_gradient) second_ = b.write("dv", stored_);
    const Buffer q = b.read("q", stored_), k = b.read("k", stored_), v = b.read("v", stored_);
    if (form.mask != MaskKind::none)
      mask_ = b.read("mask", form.mask == MaskKind::boolean ? Scalar::boolean : stored_);
    Buffer g;
    if (!forward) {
      sums_ = b.read("log_sum", scalar_);
      g = b.read("g", stored_);
      delta_ = b.read("delta", scalar_);
    }
    const auto argument = [&](const char* name) { return b.scalar(name, Scalar::i64); };
    tasks_ = argument("tasks");
    tiles_of_task_ = argument("tiles");
    heads_ = argument("heads");
    groups_ = argument("groups");
    m_ = argument("m");
    n_ = argument("n");
    d_ = argument("d");
    e_ = argument("e");
    if (form.split) {
      parts_ = argument("parts");
      keys_of_part_ = argument("keys_of_part");
    }
    scale_ = kernel::convert(b.scalar("scale", Scalar::f64), scalar_);
    q_ = Matrices(b, q, form.dtype, "q");
    k_ = Matrices(b, k, form.dtype, "k");
    v_ = Matrices(b, v, form.dtype, "v");
    if (form.mask != MaskKind::none) {
      mask_offset_ = argument("mask_offset");
      for (const char* name : {"mask_batch", "mask_head", "mask_query", "mask_key"})
        mask_strides_.push_back(argument(name));
    }
    if (!forward) {
      g_ = Matrices(b, g, form.dtype, "g");
      sums_offset_ = argument("log_sum_offset");
      delta_offset_ = argument("delta_offset");
    }
    per_group_ = heads_ / groups_;
    tiles_.emplace(form.tile, scalar_, std::max(form.key_vectors, form.value_vectors));
  }

  void record() {
    const Val first = kernel::convert(kernel::cube_x(), Scalar::i64);
    kernel::for_(first, tasks_, kernel::convert(kernel::cube_count_x(), Scalar::i64), [&](Val task) {
      Val matrix = task / tiles_of_task_;
      const Val tile = task - matrix * tiles_of_task_;
      if (form_.kind == KernelKind::key_gradient) {
        batch_ = matrix / groups_;
        return key_gradient(matrix - batch_ * groups_, tile * form_.tile.tile_rows());
      }
      if (form_.split) {
        const Val all = matrix / parts_;
        part_ = matrix - all * parts_;
        matrix = all;
      }
      batch_ = matrix / heads_;
      const Val head = matrix - batch_ * heads_;
      // Later queries of a causal mask see more keys: they begin first.
      const Val query = (tiles_of_task_ - 1 - tile) * form_.tile.tile_rows();
      form_.kind == KernelKind::forward ? forward(head, query) : query_gradient(head, query);
    });
  }

 private:
  const Tiles& tiles() const { return *tiles_; }
  int rows() const { return form_.tile.rows; }
  int columns() const { return form_.tile.columns; }
  Val number(double x) const { return kernel::constant(kernel::make_type(scalar_), x); }
  Val nothing() const { return number(-std::numeric_limits<double>::infinity()); }
  Val is_nothing(Val x) const { return x == nothing(); }

  /// Keys that queries before `end` may look at.
  Val seen_before(Val end) const {
    return form_.causal ? kernel::min(kernel::max(end + n_ - m_, 0), n_) : n_;
  }

  /// How many keys a query may look at; none where there is no such query.
  Val open_keys(Val query) const {
    const Val keys = form_.causal ? kernel::min(kernel::max(query + n_ - m_ + 1, 0), n_) : n_;
    return kernel::select(query < m_, keys, 0);
  }
  /// Of `count` entries those below `extent` that lie from `first` on; i32.
  static Val part_of(Val count, Val first, int extent) {
    return narrow_index(kernel::min(kernel::max(count - first, 0), extent));
  }
  static Val narrow_index(Val i) { return kernel::convert(i, Scalar::i32); }

  /// A score after the mask: -infinity where the query may not look.
  Val masked(Val score, Val open, Val head, Val query, Val key) const {
    if (form_.mask != MaskKind::none) {
      const Val at = mask_offset_ + batch_ * mask_strides_[0] + head * mask_strides_[1] +
                     query * mask_strides_[2] + key * mask_strides_[3];
      const Val entry = mask_.load(kernel::select(open, at, mask_offset_));
      if (form_.mask == MaskKind::boolean) {
        open = open & entry;
      } else {
        score = score + kernel::convert(entry, scalar_);
      }
    }
    return kernel::select(open, score, nothing());
  }

  static Val reduce(Val v, Val (*over_lanes)(Val)) { return v.lanes() == 1 ? v : over_lanes(v); }

  /// What the softmax of a row has seen so far: the largest score, and this unit's part of the denominator.
  struct Seen {
    Var top, sum;
  };
  /// Scores of a query against keys from `key` on become weights, relative to the largest score so far.
  /// Returns the factor of what was weighed before.
  Val take_in(Val& scores, const Seen& seen, Val head, Val query, Val key) const {
    const Val open = part_of(open_keys(query), key, form_.tile.tile_columns());
    for (int j = 0; j < columns(); ++j) {
      const Val score = masked(kernel::extract(scores, j), narrow_index(tiles().column(j)) < open, head,
                               query, key + tiles().column(j));
      scores = kernel::insert(scores, score, j);
    }
    const Val top = kernel::max(seen.top, tiles().row_max(reduce(scores, kernel::reduce_max)));
    const Val base = kernel::select(is_nothing(top), 0, top);  // nothing was seen yet
    scores = kernel::exp_below_zero(scores - kernel::splat(base, columns()));
    const Val factor = kernel::exp_below_zero(seen.top - base);
    seen.sum = kernel::fma(seen.sum, factor, reduce(scores, kernel::reduce_add));
    seen.top = top;
    return factor;
  }

  void forward(Val head, Val first) {
    const Val group = head / per_group_;
    const auto q = times(q_.rows(batch_, head, m_, d_), scale_), k = k_.rows(batch_, group, n_, d_),
               v = v_.rows(batch_, group, n_, e_);
    const int vectors = form_.value_vectors;
    const auto out = tiles().zeros(vectors);
    std::vector<Seen> seen;
    for (int i = 0; i < rows(); ++i) seen.push_back({Var(nothing()), Var(number(0))});
    Val begin = index_constant(0), end = seen_before(kernel::min(first + form_.tile.tile_rows(), m_));
    Val matrix = batch_ * heads_ + head;  // of the results
    if (form_.split) {
      matrix = matrix * parts_ + part_;
      begin = part_ * keys_of_part_;
      end = kernel::min(begin + keys_of_part_, end);
    }
    kernel::for_(begin, end, form_.tile.tile_columns(), [&](Val key) {
      auto scores = tiles().scores(q, first, k, key);
      for (int i = 0; i < rows(); ++i) {
        const auto row = static_cast<std::size_t>(i);
        const Val factor = take_in(scores[row], seen[row], head, first + tiles().row(i), key);
        for (int w = 0; w < vectors; ++w)
          out[static_cast<std::size_t>(i * vectors + w)] *= kernel::splat(factor, TileForm::lanes);
      }
      tiles().keep(scores);
      tiles().accumulate(out, vectors, v, key);
    });
    std::vector<Val> factors;
    for (int i = 0; i < rows(); ++i) {
      const auto& row = seen[static_cast<std::size_t>(i)];
      const Val sum = tiles().row_sum(row.sum), none = sum == 0, query = first + tiles().row(i);
      factors.push_back(kernel::select(none, 0, 1.0 / sum));
      kernel::if_((query < m_) & (tiles().column(0) == 0), [&] {
        sums_.store(matrix * m_ + query, kernel::select(none, nothing(), row.top + kernel::log(sum)));
      });
    }
    auto to = result(out_, matrix * m_ * e_, m_, e_);
    if (form_.split) to.dtype = op::wide(form_.dtype);
    tiles().store(out, vectors, factors, to, first);
  }

  Rows result(const Buffer& buffer, Val base, Val count, Val width) const {
    return {buffer, form_.dtype, base, width, count, width, {}};
  }

  /// What is known of a query; log_sum and delta of another one where there is no such query.
  struct Row {
    Val log_sum, delta, keys;
  };
  Row row_of(Val head, Val query) const {
    const Val at = (batch_ * heads_ + head) * m_ + kernel::min(query, m_ - 1);
    const Val log_sum = sums_.load(at + sums_offset_);
    // exp(score - infinity): a query that looks nowhere has no weights.
    return {kernel::select(is_nothing(log_sum), -log_sum, log_sum), delta_.load(at + delta_offset_),
            open_keys(query)};
  }

  /// Scores and products of g and v become weights and gradients of the scores. The tile has queries along
  /// its rows, or with `along_columns` the other way round.
  struct Slopes {
    std::vector<Val> weights, slopes;
  };
  Slopes weigh(Val head, const std::vector<Val>& scores, const std::vector<Val>& products,
               const std::vector<Row>& queries, bool along_columns, Val first_row, Val first_column) const {
    const Val first_key = along_columns ? first_row : first_column;
    const int extent = along_columns ? form_.tile.tile_rows() : form_.tile.tile_columns();
    std::vector<Val> open;
    for (const auto& query : queries) open.push_back(part_of(query.keys, first_key, extent));
    Slopes result;
    for (int i = 0; i < rows(); ++i) {
      const Val row = tiles().row(i), score_row = scores[static_cast<std::size_t>(i)],
                product_row = products[static_cast<std::size_t>(i)];
      Val weights = score_row, slopes = score_row;
      for (int j = 0; j < columns(); ++j) {
        const Val column = tiles().column(j);
        const auto at = static_cast<std::size_t>(along_columns ? j : i);
        const Val query = along_columns ? first_column + column : first_row + row,
                  key = along_columns ? row : column;
        const Val score =
            masked(kernel::extract(score_row, j), narrow_index(key) < open[at], head, query, first_key + key);
        const Val weight = kernel::exp_below_zero(score - queries[at].log_sum);
        const Val slope = weight * (kernel::extract(product_row, j) - queries[at].delta);
        weights = kernel::insert(weights, weight, j);
        slopes = kernel::insert(slopes, kernel::select(is_nothing(score), 0, slope), j);
      }
      result.weights.push_back(weights);
      result.slopes.push_back(slopes);
    }
    return result;
  }

  void query_gradient(Val head, Val first) {
    const Val group = head / per_group_;
    const auto q = times(q_.rows(batch_, head, m_, d_), scale_), k = k_.rows(batch_, group, n_, d_),
               v = v_.rows(batch_, group, n_, e_), g = g_.rows(batch_, head, m_, e_);
    const int vectors = form_.key_vectors;
    const auto out = tiles().zeros(vectors);
    std::vector<Row> queries;
    for (int i = 0; i < rows(); ++i) queries.push_back(row_of(head, first + tiles().row(i)));
    kernel::for_(index_constant(0), seen_before(kernel::min(first + form_.tile.tile_rows(), m_)),
                 form_.tile.tile_columns(), [&](Val key) {
                   const auto scores = tiles().scores(q, first, k, key);
                   const auto products = tiles().scores(g, first, v, key);
                   const auto w = weigh(head, scores, products, queries, false, first, key);
                   tiles().keep(w.slopes);
                   tiles().accumulate(out, vectors, k, key);
                 });
    const std::vector<Val> factors(static_cast<std::size_t>(rows()), scale_);
    tiles().store(out, vectors, factors, result(out_, (batch_ * heads_ + head) * m_ * d_, m_, d_), first);
  }

  void key_gradient(Val group, Val first) {
    const auto k = k_.rows(batch_, group, n_, d_), v = v_.rows(batch_, group, n_, e_);
    const auto dk = tiles().zeros(form_.key_vectors), dv = tiles().zeros(form_.value_vectors);
    const int width = form_.tile.tile_columns();
    Val begin = index_constant(0);  // the first query that may look at one of these keys, down to a tile
    if (form_.causal) begin = kernel::max(first + m_ - n_, 0) / width * width;
    kernel::for_(group * per_group_, (group + 1) * per_group_, 1, [&](Val head) {
      const auto q = q_.rows(batch_, head, m_, d_), g = g_.rows(batch_, head, m_, e_);
      kernel::for_(begin, m_, width, [&](Val query) {
        const auto scores = tiles().scores(k, first, times(q, scale_), query);
        const auto products = tiles().scores(v, first, g, query);
        std::vector<Row> queries;
        for (int j = 0; j < columns(); ++j) queries.push_back(row_of(head, query + tiles().column(j)));
        const auto w = weigh(head, scores, products, queries, true, first, query);
        tiles().keep(w.weights);
        tiles().accumulate(dv, form_.value_vectors, g, query);
        kernel::barrier();  // all are through with the weights
        tiles().keep(w.slopes);
        tiles().accumulate(dk, form_.key_vectors, q, query);
      });
    });
    const Val matrix = (batch_ * groups_ + group) * n_;
    const auto size = static_cast<std::size_t>(rows());
    tiles().store(dk, form_.key_vectors, std::vector<Val>(size, scale_), result(out_, matrix * d_, n_, d_),
                  first);
    tiles().store(dv, form_.value_vectors, std::vector<Val>(size, number(1)),
                  result(second_, matrix * e_, n_, e_), first);
  }

  const KernelForm form_;
  const Scalar scalar_, stored_;  ///< of the arithmetic, and of q, k, v and the results
  Buffer out_, second_, sums_, mask_, delta_;
  Val tasks_, tiles_of_task_, heads_, groups_, m_, n_, d_, e_, scale_, mask_offset_, sums_offset_,
      delta_offset_, per_group_, parts_, keys_of_part_;
  Matrices q_, k_, v_, g_;
  std::vector<Val> mask_strides_;
  std::optional<Tiles> tiles_;
  Val batch_, part_;  ///< of the task
};

std::string name_of(const KernelForm& form) {
  constexpr const char* names[] = {"attention", "attention_query_gradient", "attention_key_gradient"};
  std::string name = names[static_cast<int>(form.kind)];
  if (form.causal) name += "_causal";
  if (form.split) name += "_partial";
  return name + '_' + std::string(strata::name_of(form.dtype));
}

}  // namespace

TileForm tile_form(const Target& target, DType dtype, std::int64_t rows) {
  TileForm form;
  while (4 * form.side * form.side <= target.units) form.side *= 2;
  if (dtype == DType::f64) form.columns = 2;  // of twice the bytes
  if (dtype == DType::f64) form.depth = 16;
  form.depth = std::min(form.depth, form.units());
  constexpr int fewest = 2;  // rows of a unit
  if (rows <= fewest * form.side) form.rows = fewest;
  return form;
}

KernelKey kernel_key(const KernelForm& form) {
  KernelKeyHasher h("attention");
  h.add(form.kind);
  h.add(form.mask);
  h.add(form.causal);
  h.add(form.split);
  h.add(form.dtype);
  for (int v : {form.tile.side, form.tile.rows, form.tile.columns, form.tile.depth, form.tile.loaded,
                form.key_vectors, form.value_vectors})
    h.add(v);
  return h.key();
}

kernel::Kernel build(const KernelForm& form) {
  kernel::Builder builder(name_of(form), {static_cast<std::uint32_t>(form.tile.units()), 1, 1});
  Recorder(builder, form).record();
  return builder.finish();
}

}  // namespace strata::cube::attention
