#include "cube/arg_sort.hpp"

#include <algorithm>
#include <bit>
#include <limits>

#include "cube/emit_node.hpp"
#include "cube/index_math.hpp"
#include "cube/lines.hpp"

namespace strata::cube {
namespace {

using kernel::Buffer;
using kernel::Scalar;
using kernel::Val;
using kernel::Var;

constexpr std::int64_t greatest = std::numeric_limits<std::int64_t>::max();

struct Form {
  DType dtype{};
  bool descending = false;
  bool merge = false;  ///< else: sort chunks
  bool pairs = false;  ///< keys of 64 bits and their indices apart, else both in one i64
  bool last = false;   ///< writes the result
  int chunk = 1;       ///< elements in shared memory, a power of two
  int units_x = 1, units_y = 1;
};

/// An element on its way: `key` alone where both share an i64.
struct Item {
  Val key, index;
};

/// A memory of items.
struct Items {
  Buffer keys, indices;
  bool pairs = false;

  Item load(Val at) const { return {keys.load(at), pairs ? indices.load(at) : Val{}}; }
  void store(Val at, const Item& item) const {
    keys.store(at, item.key);
    if (pairs) indices.store(at, item.index);
  }
};

Val index64(Val v) { return kernel::convert(v, Scalar::i64); }
Val index32(Val v) { return kernel::convert(v, Scalar::i32); }

/// An integer in the order of the elements: -0 equal to 0, NaN above all.
Val key_of(Val stored, DType dtype) {
  const Val v = widen(stored, dtype);
  if (!kernel::is_float(v.scalar())) return v.scalar() == Scalar::i64 ? v : index32(v);
  const bool wide = v.scalar() == Scalar::f64;
  const auto integer = kernel::make_type(wide ? Scalar::i64 : Scalar::i32);
  const std::int64_t top = wide ? greatest : std::numeric_limits<std::int32_t>::max();
  const Val bits = kernel::bitcast(kernel::select(v == 0.0, 0.0, v), integer.scalar);
  const Val ordered = kernel::select(bits < 0, bits ^ top, bits);
  return kernel::select(kernel::is_nan(v), kernel::constant(integer, top), ordered);
}

class Recorder {
 public:
  Recorder(kernel::Builder& b, const Form& form) : form_(form) {
    const auto items = [&](bool written, std::string_view keys, std::string_view indices) {
      const auto declare = [&](std::string_view name) {
        return written ? b.write(name, Scalar::i64) : b.read(name, Scalar::i64);
      };
      Items memory{declare(keys), {}, form.pairs};
      if (form.pairs) memory.indices = declare(indices);
      return memory;
    };
    if (form.last) {
      out_ = b.write("out", Scalar::i64);
    } else {
      sorted_ = items(true, "sorted", "sorted_indices");
    }
    if (form.merge) {
      in_ = items(false, "runs", "run_indices");
    } else {
      x_ = b.read("x", form.dtype == DType::boolean ? Scalar::u8 : kernel::scalar_of(form.dtype));
    }
    const auto argument = [&](std::string_view name) { return b.scalar(name, Scalar::i64); };
    offset_ = argument("offset");
    tasks_ = argument("tasks");
    length_ = argument("length");
    count_ = argument("count");
    pieces_ = argument("pieces");
    run_ = argument("run");
    const std::int64_t elements = std::int64_t{form.chunk} * form.units_y;
    here_ = {kernel::shared_array(Scalar::i64, elements, "keys"), {}, form.pairs};
    if (form.pairs) here_.indices = kernel::shared_array(Scalar::i64, elements, "indices");
    if (form.merge) cuts_ = kernel::shared_array(Scalar::i64, 2, "cuts");
  }

  void record() {
    const Val first = index64(kernel::cube_x()) * form_.units_y;
    kernel::for_(first, tasks_, index64(kernel::cube_count_x()) * form_.units_y, [&](Val task) {
      // Units beyond the last task do it again, so that all come by the barriers.
      const Val mine = form_.units_y == 1 ? task : kernel::min(task + index64(kernel::unit_y()), tasks_ - 1);
      const Val line = mine / pieces_, piece = mine - line * pieces_;
      form_.merge ? merge_tile(line, piece) : sort_chunk(line, piece * form_.chunk);
      kernel::barrier();
    });
  }

 private:
  int unit_count() const { return form_.units_x; }

  /// a stands after b. Never equal.
  static Val after(const Item& a, const Item& b) {
    if (!a.index.present()) return a.key > b.key;
    return (a.key > b.key) | ((a.key == b.key) & (a.index > b.index));
  }

  void write(Val line, Val position, const Item& item) const {
    if (!form_.last) return sorted_.store(line * length_ + position, item);
    kernel::if_(position < count_, [&] {
      out_.store(line * count_ + position, form_.pairs ? item.index : item.key & 0xffffffff);
    });
  }

  // --- chunks

  Item item_of(Val line, Val position) const {
    const Val inside = position < length_;
    const Val at = line * length_ + kernel::min(position, length_ - 1);
    Val key = key_of(x_.load(offset_ + at), form_.dtype);
    if (form_.descending) key = ~key;
    if (!form_.pairs) return {kernel::select(inside, (index64(key) << 32) | position, greatest), {}};
    return {kernel::select(inside, index64(key), greatest), kernel::select(inside, position, greatest)};
  }

  void sort_chunk(Val line, Val begin) const {
    const Val unit = kernel::unit_x();
    const Val base = kernel::unit_y() * form_.chunk;
    const auto for_each = [&](int count, auto&& body) {
      kernel::for_(unit, kernel::constant(kernel::make_type(Scalar::i32), count),
                   kernel::constant(kernel::make_type(Scalar::i32), unit_count()), body);
    };
    for_each(form_.chunk, [&](Val i) { here_.store(base + i, item_of(line, begin + index64(i))); });
    kernel::barrier();
    const int levels = std::bit_width(static_cast<unsigned>(form_.chunk)) - 1;
    const auto number = [](int v) { return kernel::constant(kernel::make_type(Scalar::i32), v); };
    kernel::for_(number(1), number(levels + 1), number(1), [&](Val level) {
      kernel::for_(number(0), level, number(1), [&](Val step) {
        const Val size = number(1) << level, distance = number(1) << (level - 1 - step);
        for_each(form_.chunk / 2, [&](Val pair) {
          const Val low = pair * 2 - (pair & (distance - 1));
          const Val at = base + low, other = at + distance;
          const Item a = here_.load(at), b = here_.load(other);
          const Val ascending = (low & size) == 0;
          kernel::if_(after(a, b) == ascending, [&] {
            here_.store(at, b);
            here_.store(other, a);
          });
        });
        kernel::barrier();
      });
    });
    for_each(form_.chunk, [&](Val i) {
      const Val position = begin + index64(i);
      kernel::if_(position < length_, [&] { write(line, position, here_.load(base + i)); });
    });
  }

  // --- merges

  /// The first of [low, high) for which `holds` no longer does.
  template <class Holds>
  static Val first_not(Val low, Val high, Holds&& holds) {
    const Var from(low), to(high);
    kernel::while_([&] { return from.get() < to.get(); },
                   [&] {
                     const Val middle = (from.get() + to.get()) >> 1;
                     const Val yes = holds(middle);
                     from.set(kernel::select(yes, middle + 1, from));
                     to.set(kernel::select(yes, to, middle));
                   });
    return from;
  }

  void merge_tile(Val line, Val tile) const {
    const Val row = line * length_, start = tile * form_.chunk;
    const Val first = start / (run_ * 2) * (run_ * 2);  // of two neighbouring runs
    const Val second = kernel::min(first + run_, length_), end = kernel::min(first + run_ * 2, length_);
    const Val left = second - first, right = end - second;
    const Val low = start - first, high = kernel::min(low + form_.chunk, end - first);
    // How many of the first run stand before the tile's begin, and before its end.
    kernel::if_(kernel::unit_x() < 2, [&] {
      const Val diagonal = kernel::select(kernel::unit_x() == 0, low, high);
      const Val cut = first_not(kernel::max(diagonal - right, 0), kernel::min(diagonal, left), [&](Val i) {
        return in_.keys.load(row + first + i) <= in_.keys.load(row + second + (diagonal - 1 - i));
      });
      cuts_.store(kernel::unit_x(), cut);
    });
    kernel::barrier();
    const Val left_begin = cuts_.load(0), left_size = index32(cuts_.load(1) - left_begin);
    const Val size = index32(high - low);
    const Val from_left = row + first + left_begin, from_right = row + second + (low - left_begin);
    const auto for_each = [&](auto&& body) {
      kernel::for_(kernel::unit_x(), size, kernel::constant(kernel::make_type(Scalar::i32), unit_count()),
                   body);
    };
    for_each([&](Val i) {
      const Val at =
          kernel::select(i < left_size, from_left + index64(i), from_right + index64(i - left_size));
      here_.store(i, in_.load(at));
    });
    kernel::barrier();
    for_each([&](Val i) {
      const Item item = here_.load(i);
      const Val in_left = i < left_size;  // of equal keys those of the first run come first
      const Val none = kernel::constant(kernel::make_type(Scalar::i32), 0);
      const Val before = first_not(kernel::select(in_left, left_size, none),
                                   kernel::select(in_left, size, left_size), [&](Val j) {
                                     const Val other = here_.keys.load(j);
                                     return (other < item.key) | ((!in_left) & (other == item.key));
                                   });
      // `before` counts from the other run's begin in the tile; `i` from its own.
      write(line, start + index64(i + before - left_size), item);
    });
  }

  const Form& form_;
  Buffer out_, x_, cuts_;
  Items sorted_, in_, here_;
  Val offset_, tasks_, length_, count_, pieces_, run_;
};

kernel::Kernel build(const Form& form) {
  std::string name = form.merge ? "arg_sort_merge" : "arg_sort_chunks";
  if (form.last) name += "_last";
  kernel::Builder builder(
      name + '_' + std::string(name_of(form.dtype)),
      {static_cast<std::uint32_t>(form.units_x), static_cast<std::uint32_t>(form.units_y), 1});
  Recorder(builder, form).record();
  return builder.finish();
}

KernelKey kernel_key(const Form& form) {
  KernelKeyHasher h("arg_sort");
  h.add(form.dtype);
  for (bool v : {form.descending, form.merge, form.pairs, form.last}) h.add(v);
  for (int v : {form.chunk, form.units_x, form.units_y}) h.add(v);
  return h.key();
}

/// The items of all lines between two passes.
struct Pass {
  CubeRef keys, indices;
};

}  // namespace

CubeRef arg_sort(CubeBackend& backend, const op::ArgSort& op, const CubeRef& input,
                 const op::TensorType& type) {
  const auto length = input->shape[op.axis], count = type.shape[op.axis];
  const auto result = axis_last({type.shape, op::contiguous_strides(type.shape), 0}, op.axis).shape;
  const auto out = backend.allocate({DType::i64, result});
  const auto back = [&] { return backend.view(*out, axis_back(out->view(), op.axis)); };
  if (type.shape.product() == 0) return back();
  const auto x = backend.contiguous(backend.view(*input, axis_last(input->view(), op.axis)));
  const auto lines = type.shape.product() / count;

  const auto& target = backend.target();
  Form form{input->dtype, op.descending};
  form.pairs = size_of(input->dtype) == 8 || length > std::numeric_limits<std::int32_t>::max();
  constexpr int items_a_unit = 16;  // 32 KiB of shared memory at 256 units
  const int most = target.units * (form.pairs ? items_a_unit / 2 : items_a_unit);
  const auto wanted = std::bit_ceil(static_cast<std::uint64_t>(length));
  form.chunk = static_cast<int>(std::min<std::uint64_t>(wanted, static_cast<std::uint64_t>(most)));
  form.units_x = std::clamp(form.chunk / 2, 1, target.units);
  form.units_y = target.units / form.units_x;

  Pass from;
  const auto make_pass = [&] {
    const op::TensorType items{DType::i64, {lines, length}};
    return Pass{backend.allocate(items), form.pairs ? backend.allocate(items) : CubeRef()};
  };
  const auto launch = [&](std::int64_t pieces, std::int64_t run, bool last) {
    form.last = last;
    const Pass to = last ? Pass{out, {}} : make_pass();
    std::vector<runtime::BufferRef> buffers{to.keys->buffer};
    if (to.indices) buffers.push_back(to.indices->buffer);
    buffers.push_back(form.merge ? from.keys->buffer : x->buffer);
    if (form.merge && form.pairs) buffers.push_back(from.indices->buffer);
    const std::int64_t scalars[] = {x->offset, lines * pieces, length, count, pieces, run};
    const auto cubes = std::min(ceil_div(lines * pieces, form.units_y), most_cubes);
    backend.launch(backend.kernels().get(kernel_key(form), [&] { return build(form); }),
                   {static_cast<std::uint32_t>(cubes), 1, 1}, buffers, scalars);
    from = to;
  };
  launch(ceil_div(length, form.chunk), form.chunk, form.chunk >= length);
  form.merge = true;
  form.dtype = form.pairs ? DType::i64 : DType::i32;  // of the keys: what they came from is past
  form.descending = false;
  for (std::int64_t run = form.chunk; run < length; run *= 2) {
    form.chunk = target.units * items_a_unit / 2;
    launch(ceil_div(length, form.chunk), run, run * 2 >= length);
  }
  return back();
}

}  // namespace strata::cube
