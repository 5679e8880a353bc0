#include "cube/conv.hpp"
#include "cube/emit_node.hpp"
#include "cube/grid.hpp"

namespace strata::cube::window {
namespace {

using kernel::Buffer;
using kernel::Scalar;
using kernel::Val;
using kernel::Var;
using Point = WindowAxes::Point;

Val wide(Val v) { return kernel::convert(v, Scalar::i64); }

/// Records a convolution. Constructor: arguments in the order of launch_sums.
class ConvRecorder {
 public:
  ConvRecorder(kernel::Builder& b, const ConvForm& form)
      : form_(form),
        sum_type_(kernel::make_type(compute_scalar(form.in))),
        out_(b.write("out", kernel::scalar_of(form.out))),
        x_(b.read(form.fold ? "products" : "x", kernel::scalar_of(form.in))),
        weight_(form.fold ? Buffer() : b.read("weight", kernel::scalar_of(form.in))),
        total_(b.scalar("total", form.window.index)),
        in_channels_(b.scalar("in_channels", form.window.index)),
        out_channels_(b.scalar("out_channels", form.window.index)),
        groups_(b.scalar("groups", form.window.index)),
        out_offset_(b.scalar("out_offset", Scalar::i64)),
        x_offset_(b.scalar("x_offset", Scalar::i64)),
        weight_offset_(b.scalar("weight_offset", Scalar::i64)),
        axes_(b, form.window) {
    if (form.whole_cube) shared_ = kernel::shared_array(sum_type_.scalar, form.units, "partial");
  }

  void record() {
    if (form_.whole_cube) return record_cubes();
    for_each_element(total_, [&](Val at) {
      const auto e = element(at);
      const Var sum(kernel::constant(sum_type_, 0));
      kernel::for_(axes_.index(0), form_.fold ? axes_.index(1) : in_channels_, axes_.index(1),
                   [&](Val c) { axes_.for_each_tap([&](const Point& k) { add(sum, e, c, k); }); });
      store(at, sum);
    });
  }

 private:
  struct Element {
    Val plane;      ///< [n, k]
    Val x, weight;  ///< of the first channel that counts
    Point at;
  };

  Element element(Val position) const {
    Digits digits(position);
    const Point at = axes_.out_point(digits);
    const Val plane = digits.rest(), k = digits.next(out_channels_), group = digits.next(groups_),
              n = digits.rest();
    const Val first = (n * groups_ + group) * in_channels_;
    const Val weight = form_.transposed ? group * in_channels_ * out_channels_ + k
                                        : (group * out_channels_ + k) * in_channels_;
    return {plane, first, weight, at};
  }

  void add(const Var& sum, const Element& e, Val c, const Point& k) const {
    const auto source = form_.transposed ? axes_.transposed_source(e.at, k) : axes_.source(e.at, k);
    const Val tap = axes_.tap_number(k);
    if (form_.fold) {
      const Val product = x_.load(wide((e.plane * axes_.taps() + tap) * axes_.in_size() + source.position));
      sum += kernel::select(source.inside, product, 0);
      return;
    }
    const Val x = widen(x_.load(wide((e.x + c) * axes_.in_size() + source.position) + x_offset_), form_.in);
    const Val row = e.weight + (form_.transposed ? c * out_channels_ : c);
    const Val w = widen(weight_.load(wide(row * axes_.taps() + tap) + weight_offset_), form_.in);
    if (form_.transposed) {  // where nothing was multiplied, an infinite weight leaves no trace
      sum = kernel::select(source.inside, kernel::fma(x, w, sum), sum.get());
    } else {  // padding takes part
      sum = kernel::fma(kernel::select(source.inside, x, 0), w, sum);
    }
  }

  void store(Val at, Val sum) const { out_.store(wide(at) + out_offset_, narrow(sum, form_.out)); }

  void record_cubes() {
    const Scalar index = form_.window.index;
    const Val unit = kernel::unit_x(), all = in_channels_ * axes_.taps();
    kernel::for_(kernel::convert(kernel::cube_x(), index), total_,
                 kernel::convert(kernel::cube_count_x(), index), [&](Val at) {
                   const auto e = element(at);
                   const Var sum(kernel::constant(sum_type_, 0));
                   kernel::for_(kernel::convert(unit, index), all, axes_.index(form_.units), [&](Val term) {
                     Digits digits(term);
                     const Point k = axes_.window_point(digits);
                     add(sum, e, digits.rest(), k);
                   });
                   shared_.store(unit, sum);
                   kernel::barrier();
                   for (int half = form_.units / 2; half > 0; half /= 2) {
                     kernel::if_(unit < half, [&] {
                       shared_.store(unit, shared_.load(unit) + shared_.load(unit + half));
                     });
                     kernel::barrier();
                   }
                   kernel::if_(unit == 0, [&] { store(at, shared_.load(0)); });
                   kernel::barrier();  // before the next element's sums
                 });
  }

  const ConvForm form_;
  const kernel::Type sum_type_;
  const Buffer out_, x_, weight_;
  Buffer shared_;
  const Val total_, in_channels_, out_channels_, groups_, out_offset_, x_offset_, weight_offset_;
  const WindowAxes axes_;
};

/// Booleans do not occur; halves are moved as they are.
class UnfoldRecorder {
 public:
  UnfoldRecorder(kernel::Builder& b, const UnfoldForm& form)
      : out_(b.write("out", kernel::scalar_of(form.dtype))),
        x_(b.read("x", kernel::scalar_of(form.dtype))),
        total_(b.scalar("total", form.window.index)),
        rows_(b.scalar("rows", form.window.index)),
        first_(b.scalar("first", form.window.index)),
        columns_(b.scalar("columns", form.window.index)),
        group_step_(b.scalar("group_step", form.window.index)),
        row_step_(b.scalar("row_step", form.window.index)),
        column_step_(b.scalar("column_step", form.window.index)),
        offset_(b.scalar("offset", Scalar::i64)),
        axes_(b, form.window) {}

  void record() {
    for_each_element(total_, [&](Val at) {
      Digits digits(at);
      const Val column = digits.next(columns_), line = digits.rest();
      const Val row = digits.next(rows_), group = digits.rest();
      Digits place(column + first_);
      const Point o = axes_.out_point(place);
      const Val from = group * group_step_ + row * row_step_ + place.rest() * column_step_;
      axes_.for_each_tap([&](const Point& k) {
        const auto source = axes_.source(o, k);
        const Val v = x_.load(wide(from + source.position) + offset_);
        const Val to = (line * axes_.taps() + axes_.tap_number(k)) * columns_ + column;
        out_.store(wide(to), kernel::select(source.inside, v, kernel::constant(v.type, 0)));
      });
    });
  }

 private:
  const Buffer out_, x_;
  const Val total_, rows_, first_, columns_, group_step_, row_step_, column_step_, offset_;
  const WindowAxes axes_;
};

}  // namespace

KernelKey conv_key(const ConvForm& form) {
  KernelKeyHasher h("conv");
  h.add(form.transposed);
  h.add(form.fold);
  h.add(form.whole_cube);
  h.add(form.in);
  h.add(form.out);
  h.add(form.units);
  hash_into(h, form.window);
  return h.key();
}

kernel::Kernel build_conv(const ConvForm& form) {
  std::string name = form.fold ? "conv_fold" : form.transposed ? "conv_transposed" : "conv";
  if (form.whole_cube) name += "_by_cubes";
  kernel::Builder builder(name + '_' + std::string(name_of(form.out)),
                          {static_cast<std::uint32_t>(form.units), 1, 1});
  ConvRecorder(builder, form).record();
  return builder.finish();
}

KernelKey unfold_key(const UnfoldForm& form) {
  KernelKeyHasher h("conv_unfold");
  h.add(form.dtype);
  h.add(form.units);
  hash_into(h, form.window);
  return h.key();
}

kernel::Kernel build_unfold(const UnfoldForm& form) {
  kernel::Builder builder("conv_unfold_" + std::string(name_of(form.dtype)),
                          {static_cast<std::uint32_t>(form.units), 1, 1});
  UnfoldRecorder(builder, form).record();
  return builder.finish();
}

}  // namespace strata::cube::window
