// A cube of many units computes a tile of the product: panels of both operands go through shared arrays, in
// two buffers, so that the next ones are on their way while these are multiplied; a unit keeps rows x columns
// sums in registers. Any strides and extents: rows and columns past the end read the last ones again, steps
// of k past it are zeros.
#include <bit>

#include "cube/matmul/epilogue.hpp"
#include "cube/matmul/tile.hpp"
#include "cube/matmul/tile_kernel.hpp"

namespace strata::cube::matmul {

using kernel::Buffer;
using kernel::Scalar;
using kernel::Val;
using kernel::Var;

namespace {

constexpr int lanes = simt_lanes;
constexpr int plane_rows = 4, plane_columns = 8;  ///< the units of a plane inside their tile

/// One operand on its way to a shared array [k][lines], where a line is a row of a or a column of b. Both
/// sides move vectors: the memory's run along whichever axis is contiguous, the array's along the lines.
class Panel {
 public:
  /// `line` and `step` are the operand's strides along lines and along k; `lines` how many there are.
  Panel(const Operand& operand, Val line, Val step, Val lines, Val first_line, std::int64_t height,
        const Schedule& s, bool vectors, DType dtype, std::string_view name)
      : source_(operand.data),
        line_(line),
        step_(step),
        height_(height),
        depth_(s.kc),
        units_(s.units),
        dtype_(dtype) {
    along_k_ = !is_constant(line, 1);
    const auto widest = static_cast<std::int64_t>(16 / kernel::size_of(source_.scalar()));
    width_ = vectors ? static_cast<int>(std::min(widest, height_ * depth_ / units_)) : 1;
    shared_ = kernel::shared_array(accumulator(dtype), 2 * height_ * depth_, name);
    const std::int64_t fast = (along_k_ ? depth_ : height_) / width_;
    for (std::int64_t i = 0; i < height_ * depth_ / width_ / units_; ++i) {
      const Val q = kernel::unit_x() + i32(i * units_);
      Place place;
      const Val slow = q >> std::countr_zero(static_cast<std::uint64_t>(fast)),
                quick = (q & (fast - 1)) * width_;
      place.k = along_k_ ? quick : slow;
      place.line = along_k_ ? slow : quick;
      const Val last = along_k_ ? lines - 1 : lines - width_;
      const Val there = kernel::min(first_line + wide(place.line), last);
      place.source = operand.start + there * line + wide(place.k) * step;
      places_.push_back(place);
      staged_.emplace_back(kernel::constant(kernel::make_type(source_.scalar(), width_), 0));
    }
  }

  /// Of the block of k that begins at `k`; with `left`, only so many of its steps exist.
  void fetch(Val k, Val left) {
    for (std::size_t i = 0; i < places_.size(); ++i) {
      const auto& p = places_[i];
      const Val at = p.source + k * step_;
      const auto load = [&] {
        staged_[i].set(source_.load(at, width_, {.flags = width_ > 1 ? kernel::aligned : kernel::no_flags}));
      };
      if (!left.present()) {
        load();
        continue;
      }
      kernel::if_(wide(p.k) < left, load, [&] { staged_[i].set(kernel::constant(staged_[i].type(), 0)); });
    }
  }
  /// What was fetched, to buffer 0 or 1.
  void put(Val buffer) const {
    const Val base = buffer * (height_ * depth_);
    for (std::size_t i = 0; i < places_.size(); ++i) {
      const auto& p = places_[i];
      const Val value = to_accumulator(staged_[i].get(), dtype_);
      if (along_k_) {
        for (int j = 0; j < width_; ++j) {
          const Val k = p.k + i32(j), at = wide(k * i32(height_) + (p.line ^ shift_of(k)));
          shared_.store(base + at, width_ > 1 ? kernel::extract(value, j) : value);
        }
      } else {
        shared_.store(base + wide(p.k * i32(height_) + p.line), value,
                      {.flags = width_ > 1 ? kernel::aligned : kernel::no_flags});
      }
    }
  }
  /// `lanes` lines from `line` on (a multiple of `lanes`) of step `k` of a buffer.
  Val take(Val buffer, int k, Val line) const {
    const Val place = along_k_ ? line ^ shift_of(i32(k)) : line;
    const Val at = buffer * (height_ * depth_) + wide(place) + static_cast<std::int64_t>(k) * height_;
    return shared_.load(at, lanes, {.flags = kernel::aligned});
  }

 private:
  struct Place {
    Val k, line;  ///< inside the panel
    Val source;   ///< element of the operand, for the first block of k
  };

  /// Lines are permuted in groups of `lanes`, by the step of k, so that units that write one line's steps
  /// write to different banks.
  Val shift_of(Val k) const {
    const std::int64_t group = std::max(width_, lanes), groups = std::max<std::int64_t>(1, depth_ / group);
    return (k >> std::countr_zero(static_cast<std::uint64_t>(group))) *
           i32(std::max<std::int64_t>(lanes, 32 / groups));
  }

  Buffer source_, shared_;
  Val line_, step_;
  std::int64_t height_, depth_;
  int units_;
  DType dtype_;
  bool along_k_ = false;
  int width_ = 1;
  std::vector<Place> places_;
  std::vector<Var> staged_;
};

class Simt : TileKernel {
 public:
  using TileKernel::TileKernel;

  kernel::Kernel build() {
    Panel a(args_.a, args_.a.row, args_.a.col, args_.size.m, tile_.row, s_.mc, s_, s_.vector_a, p_.dtype,
            "a_panel");
    Panel b(args_.b, args_.b.col, args_.b.row, args_.size.n, tile_.column, s_.nc, s_, s_.vector_b, p_.dtype,
            "b_panel");
    place_unit();
    const auto zero = kernel::constant(kernel::make_type(accumulator(p_.dtype), lanes), 0);
    for (int i = 0; i < s_.rows * s_.vectors; ++i) sums_.emplace_back(zero);

    const Val block = index_constant(s_.kc), rest = (end_ - begin_) % block, whole = end_ - rest;
    const auto fetch = [&](Val k) {
      kernel::if_(
          k < whole,
          [&] {
            a.fetch(k, {});
            b.fetch(k, {});
          },
          [&] {
            a.fetch(k, rest);
            b.fetch(k, rest);
          });
    };
    fetch(begin_);
    a.put(index_constant(0));
    b.put(index_constant(0));
    kernel::barrier();
    const Var buffer(index_constant(0));
    kernel::for_(begin_, end_, s_.kc, [&](Val k) {
      const Val next = k + block, now = buffer.get(), other = 1 - now;
      kernel::if_(next < end_, [&] { fetch(next); });
      multiply(a, b, now);
      kernel::if_(next < end_, [&] {
        a.put(other);
        b.put(other);
      });
      kernel::barrier();
      buffer.set(other);
    });
    store();
    return builder_.finish();
  }

 private:
  static_assert(plane_rows == 4 && plane_columns == 8);
  /// Units of a plane stand 4 x 8; each has every plane_rows-th quadruple of rows, every plane_columns-th of
  /// columns.
  void place_unit() {
    const Val lane = kernel::unit_x() & 31, plane = kernel::unit_x() >> 5;
    const std::int64_t height = s_.rows * plane_rows, width = s_.columns() * plane_columns;
    const Val planes_across = i32(s_.nc / width);
    row_ = plane / planes_across * i32(height) + (lane >> 3) * lanes;
    column_ = plane % planes_across * i32(width) + (lane & 7) * lanes;
  }
  Val row_of(int group) const { return row_ + i32(group * plane_rows * lanes); }
  Val column_of(int vector) const { return column_ + i32(vector * plane_columns * lanes); }

  void multiply(const Panel& a, const Panel& b, Val buffer) {
    for (int k = 0; k < static_cast<int>(s_.kc); ++k) {
      std::vector<Val> left, right;
      for (int g = 0; g < s_.rows / lanes; ++g) left.push_back(a.take(buffer, k, row_of(g)));
      for (int v = 0; v < s_.vectors; ++v) right.push_back(b.take(buffer, k, column_of(v)));
      for (int i = 0; i < s_.rows; ++i) {
        const Val x =
            kernel::splat(kernel::extract(left[static_cast<std::size_t>(i / lanes)], i % lanes), lanes);
        for (int v = 0; v < s_.vectors; ++v) {
          const auto& sum = sums_[static_cast<std::size_t>(i * s_.vectors + v)];
          sum = multiply_add(x, right[static_cast<std::size_t>(v)], sum);
        }
      }
    }
  }

  void store() {
    TileStore out(args_, tile_.row, tile_.column);
    const Val rows = args_.size.m - tile_.row, columns = args_.size.n - tile_.column;
    const auto write = [&](bool whole) {
      for (int i = 0; i < s_.rows; ++i) {
        const Val row = wide(row_of(i / lanes) + i32(i % lanes));
        const auto line = [&] {
          for (int v = 0; v < s_.vectors; ++v) {
            const Val column = wide(column_of(v));
            const Val sum = sums_[static_cast<std::size_t>(i * s_.vectors + v)];
            if (whole) {
              out.store(row, column, sum, {}, s_.vector_out ? kernel::aligned : kernel::no_flags);
              continue;
            }
            out.store(row, column, sum, lanes_inside(columns, column, lanes), 0);
          }
        };
        whole ? line() : kernel::if_(row < rows, line);
      }
    };
    kernel::if_((rows >= s_.mc) & (columns >= s_.nc), [&] { write(true); }, [&] { write(false); });
  }

  Val row_, column_;  ///< of the unit inside the tile
  Accumulators sums_;
};

}  // namespace

kernel::Kernel build_simt(const Problem& problem, const Schedule& schedule) {
  return Simt(problem, schedule).build();
}

}  // namespace strata::cube::matmul
