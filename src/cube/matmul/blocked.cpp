// Register tiles under cache blocks, after K. Goto, R. van de Geijn, "Anatomy of high-performance matrix
// multiplication" (2008), with two changes that measurements asked for: a is read in place unless it is
// transposed, and a block of k is deep (1024), because writing c to a slow last-level cache costs more than a
// panel of b that streams from L2.
//
// Three families share this file. `tiled` packs nothing. `packed` packs b, and a where it pays. Both have
// constant sizes: remainders are then constants too, and at most four tile shapes appear in the code. `lean`
// takes its sizes as arguments and has one tile shape; a tile at an edge goes through a scratch tile whose
// valid part is copied.
#include "cube/matmul/kernels.hpp"
#include "cube/matmul/pack.hpp"
#include "strata/error.hpp"

namespace strata::cube::matmul {

using kernel::Val;

namespace {

class Blocked {
 public:
  Blocked(const Problem& p, const Schedule& s)
      : p_(p),
        s_(s),
        blocking_(blocking_of(p, s)),
        builder_("matmul_" + s.name()),
        args_(declare(builder_, p, s.sizes())) {}

  kernel::Kernel build() {
    set_up();
    const auto cube = kernel::convert(kernel::cube_x(), kernel::Scalar::i64);
    args_.select_batch(p_.batch.empty() ? index_constant(0)
                                        : kernel::convert(kernel::cube_y(), kernel::Scalar::i64));
    const auto part = [&](Val extent, std::int64_t known, bool split) -> std::pair<Val, Val> {
      if (!split || s_.splits == 1) return {index_constant(0), extent};
      const Val begin = cube * chunk_;
      const bool even = !lean() && known % blocking_.chunk == 0;
      return {begin, even ? chunk_ : kernel::min(chunk_, extent - begin)};
    };
    std::tie(m0_, part_m_) = part(args_.size.m, p_.m, s_.split_rows);
    std::tie(n0_, part_n_) = part(args_.size.n, p_.n, !s_.split_rows);
    if (s_.pack_a || s_.pack_b) {
      const Val number =
          kernel::convert(kernel::cube_y() * kernel::cube_count_x() + kernel::cube_x(), kernel::Scalar::i64);
      const bool alone = s_.splits == 1 && p_.batch.empty();
      work_a_ = alone ? index_constant(0) : number * work_size_;
      work_b_ = work_a_ + a_size_;
    }
    each_block(part_n_, nc_, [&](Val jc, Val nc) { column_block(jc, nc); });
    return builder_.finish();
  }

 private:
  bool lean() const { return s_.family == Family::lean; }

  void set_up() {
    if (s_.pack_a || s_.pack_b) args_.workspace = builder_.read_write("work", accumulator(p_.dtype));
    const auto size = [&](const char* name, std::int64_t v) {
      return lean() ? builder_.scalar(name, kernel::Scalar::i64) : index_constant(v);
    };
    chunk_ = size("chunk", blocking_.chunk);
    kc_ = size("kc", blocking_.kc);
    mc_ = size("mc", blocking_.mc);
    nc_ = size("nc", blocking_.nc);
    a_pitch_ = size("a_pitch", blocking_.a_pitch);
    b_depth_ = size("b_depth", blocking_.b_depth);
    a_size_ = size("a_elements", blocking_.a_elements);
    work_size_ = size("work_elements", blocking_.elements());
    if (lean())
      scratch_ = kernel::local_array(accumulator(p_.dtype), std::int64_t{s_.rows} * s_.columns(), "scratch");
  }

  /// body(begin, size) for blocks of `block` in [0, total); sizes are constants where they can be.
  template <class Body>
  void each_block(Val total, Val block, Body&& body) {
    const auto t = constant_of(total), b = constant_of(block);
    if (t && b && *t <= *b) return body(index_constant(0), total);
    const bool even = t && b && *t % *b == 0;
    kernel::for_(0, total, block, [&](Val at) { body(at, even ? block : kernel::min(block, total - at)); });
  }

  void column_block(Val jc, Val nc) {
    if (is_constant(args_.size.k, 0)) return depth_block(jc, nc, index_constant(0), index_constant(0));
    each_block(args_.size.k, kc_, [&](Val pc, Val kc) { depth_block(jc, nc, pc, kc); });
  }

  void depth_block(Val jc, Val nc, Val pc, Val kc) {
    jc_ = jc;
    pc_ = pc;
    kc_now_ = kc;
    first_ = pc == 0;
    last_ = pc + kc >= args_.size.k;
    if (s_.pack_b) {
      each_panel(nc, s_.columns(), p_.n, [&](Val j, Val width) {
        pack_columns(s_, p_.dtype, args_.b, args_.b.at(pc, n0_ + jc + j), kc, width, args_.workspace,
                     panel(j));
      });
    }
    each_block(part_m_, mc_, [&](Val ic, Val mc) {
      ic_ = ic;
      if (s_.pack_a) pack_rows_of_a(mc);
      each_panel(nc, s_.columns(), p_.n, [&](Val j, Val width) {
        each_panel(mc, s_.rows, p_.m, [&](Val i, Val height) { tile(i, height, j, width); });
      });
    });
  }

  void pack_rows_of_a(Val mc) {
    const auto& a = args_.a;
    if (!packs_in_strips(a)) {
      pack_rows(s_, p_.dtype, a, a.at(m0_ + ic_, pc_), mc, kc_now_, a_pitch_, args_.workspace, work_a_);
      return;
    }
    each_panel(mc, s_.rows, p_.m, [&](Val i, Val height) {
      pack_strip(s_, p_.dtype, a, a.at(m0_ + ic_ + i, pc_), height, kc_now_, args_.workspace,
                 work_a_ + i * a_pitch_);
    });
  }

  /// body(begin, width) for pieces of `piece` in [0, total). With constant sizes the last, narrower piece is
  /// apart and its width a constant: blocks and chunks are whole pieces, so only the end of the extent has
  /// one.
  template <class Body>
  void each_panel(Val total, std::int64_t piece, std::int64_t extent, Body&& body) {
    if (lean()) {
      kernel::for_(0, total, piece,
                   [&](Val at) { body(at, kernel::min(index_constant(piece), total - at)); });
      return;
    }
    const Val whole = total - total % piece;
    kernel::for_(0, whole, piece, [&](Val at) { body(at, index_constant(piece)); });
    if (extent % piece != 0) kernel::if_(whole < total, [&] { body(whole, index_constant(extent % piece)); });
  }

  Val panel(Val j) const { return work_b_ + j * b_depth_; }

  TileOperand a_of(Val i) const {
    const auto& a = args_.a;
    if (!s_.pack_a) return {a.data, a.at(m0_ + ic_ + i, pc_), a.row, a.col};
    const Val base = work_a_ + i * a_pitch_;
    if (packs_in_strips(a)) return {args_.workspace, base, index_constant(1), index_constant(s_.rows)};
    return {args_.workspace, base, a_pitch_, index_constant(1)};
  }

  TileOperand b_of(Val j) const {
    const auto& b = args_.b;
    if (!s_.pack_b) return {b.data, b.at(pc_, n0_ + jc_ + j), {}, b.row};
    return {args_.workspace, panel(j), {}, index_constant(s_.columns())};
  }

  Accumulators zeros(const TileShape& shape) const {
    Accumulators acc;
    const auto zero = kernel::constant(kernel::make_type(accumulator(p_.dtype), s_.lanes), 0);
    for (int i = 0; i < shape.rows * shape.vectors; ++i) acc.emplace_back(zero);
    return acc;
  }

  /// Calls f(row, vector, accumulator, mask).
  template <class F>
  static void each_vector(const TileShape& shape, const Accumulators& acc, F&& f) {
    for (int i = 0; i < shape.rows; ++i) {
      for (int v = 0; v < shape.vectors; ++v) {
        f(i, v, acc[static_cast<std::size_t>(i * shape.vectors + v)],
          v + 1 == shape.vectors ? shape.last_mask : Val{});
      }
    }
  }

  void tile(Val i, Val height, Val j, Val width) {
    TileStore out(args_, m0_ + ic_ + i, n0_ + jc_ + j);
    if (lean()) return lean_tile(out, i, height, j, width);
    const auto columns = *constant_of(width);
    TileShape shape;
    shape.rows = static_cast<int>(*constant_of(height));
    shape.vectors = static_cast<int>((columns + s_.lanes - 1) / s_.lanes);
    shape.last_mask =
        lanes_below(s_.lanes, index_constant(columns - std::int64_t{shape.vectors - 1} * s_.lanes));
    const auto acc = zeros(shape);
    const auto at = [&](int v) { return index_constant(std::int64_t{v} * s_.lanes); };
    kernel::if_(!first_, [&] {
      each_vector(shape, acc, [&](int r, int v, const kernel::Var& sum, Val mask) {
        sum = out.load_partial(partial_output(p_), index_constant(r), at(v), s_.lanes, mask);
      });
    });
    auto loads = shape;
    if (s_.pack_b) loads.last_mask = {};  // a panel is whole, with zeros past the end
    accumulate(s_, p_.dtype, loads, a_of(i), b_of(j), kc_now_, acc);
    const std::uint8_t flags = s_.non_temporal ? kernel::non_temporal : kernel::no_flags;
    const auto finish = [&] {
      each_vector(shape, acc, [&](int r, int v, const kernel::Var& sum, Val mask) {
        out.store(index_constant(r), at(v), sum, mask, mask.present() ? std::uint8_t{0} : flags);
      });
    };
    if (single_block() || !p_.has_epilogue()) return finish();
    kernel::if_(last_, finish, [&] {
      each_vector(shape, acc, [&](int r, int v, const kernel::Var& sum, Val mask) {
        out.store_partial(partial_output(p_), index_constant(r), at(v), sum, mask);
      });
    });
  }

  bool single_block() const { return !lean() && blocking_.kc >= p_.k; }

  /// A whole tile is computed whatever its valid part: rows past the end repeat the last one, columns past
  /// the end are zeros of the panel. A whole tile is then stored as it is; of others the valid part, through
  /// scratch memory.
  void lean_tile(TileStore& out, Val i, Val height, Val j, Val width) {
    TileShape shape;
    shape.rows = s_.rows;
    shape.vectors = s_.vectors;
    if (!s_.pack_a) shape.last_row = height - 1;
    const auto acc = zeros(shape);
    accumulate(s_, p_.dtype, shape, a_of(i), b_of(j), kc_now_, acc);
    const auto columns = static_cast<std::int64_t>(s_.columns());
    const auto whole = (height == s_.rows) & (width == columns);
    kernel::if_(
        whole,
        [&] {
          each_vector(shape, acc, [&](int r, int v, const kernel::Var& sum, Val) {
            lean_store(out, index_constant(r), index_constant(std::int64_t{v} * s_.lanes), sum, {});
          });
        },
        [&] {
          each_vector(shape, acc, [&](int r, int v, const kernel::Var& sum, Val) {
            scratch_.store(index_constant(r * columns + std::int64_t{v} * s_.lanes), sum);
          });
          kernel::for_(0, height, 1, [&](Val r) {
            kernel::for_(0, width, s_.lanes, [&](Val c) {
              lean_store(out, r, c, scratch_.load(r * columns + c, s_.lanes),
                         lanes_below(s_.lanes, width - c));
            });
          });
        });
  }

  void lean_store(TileStore& out, Val r, Val c, Val sum, Val mask) {
    const int partial = partial_output(p_);
    if (partial < 0) return out.store(r, c, sum, mask, 0);  // launched with k in one block
    const kernel::Var total(sum);
    kernel::if_(!first_, [&] { total += out.load_partial(partial, r, c, s_.lanes, mask); });
    if (!p_.has_epilogue()) return out.store(r, c, total, mask, 0);
    kernel::if_(
        last_, [&] { out.store(r, c, total, mask, 0); },
        [&] { out.store_partial(partial, r, c, total, mask); });
  }

  const Problem& p_;
  const Schedule& s_;
  const Blocking blocking_;
  kernel::Builder builder_;
  Arguments args_;
  kernel::Buffer scratch_;
  Val chunk_, kc_, mc_, nc_, a_pitch_, b_depth_, a_size_, work_size_;
  Val m0_, n0_, part_m_, part_n_, work_a_, work_b_;
  Val jc_, pc_, ic_, kc_now_, first_, last_;
};

}  // namespace

kernel::Kernel build_blocked(const Problem& problem, const Schedule& schedule) {
  if (const auto why = unsuitable(problem, schedule); !why.empty()) {
    throw CompileError("matmul_" + schedule.name() + ": " + why);
  }
  return Blocked(problem, schedule).build();
}

}  // namespace strata::cube::matmul
