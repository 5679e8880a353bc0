#include "flex/conv_onednn.hpp"

#include <list>
#include <optional>
#include <unordered_map>

#include <fmt/format.h>
#include <oneapi/dnnl/dnnl.hpp>

#include "base/hash.hpp"
#include "strata/error.hpp"

namespace strata::flex {
namespace {

using dnnl::memory;

struct Key {
  op::Conv op;
  op::TensorType x, weight, result;
  bool operator==(const Key&) const = default;
};
struct KeyHash {
  std::size_t operator()(const Key& key) const {
    base::Hasher h;
    for (const auto* d : {&key.op.stride, &key.op.padding, &key.op.dilation, &key.x.shape, &key.weight.shape,
                          &key.result.shape})
      h.add(*d);
    h.add(key.op.groups);
    h.add(key.op.transposed);
    h.add(key.x.dtype);
    return h.value();
  }
};

memory::dims dims_of(const Dims& d) { return {d.begin(), d.end()}; }
memory::data_type type_of(DType t) {
  return t == DType::f32 ? memory::data_type::f32 : memory::data_type::bf16;
}

/// The same elements in a layout of oneDNN's choice.
memory::desc any_layout(const memory::desc& d) { return {d.dims(), d.data_type(), memory::format_tag::any}; }

memory::desc dense(const op::TensorType& t) {
  return {dims_of(t.shape), type_of(t.dtype), dims_of(op::contiguous_strides(t.shape))};
}

/// [k, c / groups, ...], or with groups [groups, k / groups, c / groups, ...], read from our dense weight.
memory::desc weight_desc(const Key& key) {
  const auto& shape = key.weight.shape;
  const auto strides = op::contiguous_strides(shape);
  const auto groups = key.op.groups;
  // Ours: [out, in / groups, ...], transposed [in, out / groups, ...]; the first axis counts all groups.
  Dims extents{shape[0] / groups, shape[1]}, steps{strides[0], strides[1]};
  if (key.op.transposed) {
    std::swap(extents[0], extents[1]);
    std::swap(steps[0], steps[1]);
  }
  memory::dims d, s;
  if (groups > 1) {
    d.push_back(groups);
    s.push_back(strides[0] * (shape[0] / groups));
  }
  for (int i = 0; i < 2; ++i) {
    d.push_back(extents[i]);
    s.push_back(steps[i]);
  }
  for (int i = 2; i < shape.rank(); ++i) {
    d.push_back(shape[i]);
    s.push_back(strides[i]);
  }
  return {d, type_of(key.weight.dtype), s};
}

const dnnl::engine& engine() {
  static const auto* cpu = new dnnl::engine(dnnl::engine::kind::cpu, 0);
  return *cpu;
}

/// One operand: where the user's elements are, and where the primitive wants them.
struct Port {
  memory user, inner;
  std::optional<dnnl::reorder> reorder;

  Port(const memory::desc& given, const memory::desc& wanted, bool output)
      : user(given, engine(), nullptr), inner(user) {
    if (given == wanted) return;
    inner = memory(wanted, engine());
    reorder.emplace(output ? dnnl::reorder(inner, user) : dnnl::reorder(user, inner));
  }
};

class Convolution {
 public:
  explicit Convolution(const Key& key) : stream_(engine()) {
    const auto x = dense(key.x), weight = weight_desc(key), out = dense(key.result);
    memory::dims dilation = dims_of(key.op.dilation);
    for (auto& d : dilation) --d;  // oneDNN counts the gaps
    const auto stride = dims_of(key.op.stride), padding = dims_of(key.op.padding);
    if (key.op.transposed) {
      const dnnl::deconvolution_forward::primitive_desc pd(
          dnnl::deconvolution_forward::desc(
              dnnl::prop_kind::forward_inference, dnnl::algorithm::deconvolution_direct, any_layout(x),
              any_layout(weight), any_layout(out), stride, dilation, padding, right_padding(key)),
          engine());
      adopt(pd, dnnl::deconvolution_forward(pd), x, weight, out);
    } else {
      const dnnl::convolution_forward::primitive_desc pd(
          dnnl::convolution_forward::desc(
              dnnl::prop_kind::forward_inference, dnnl::algorithm::convolution_direct, any_layout(x),
              any_layout(weight), any_layout(out), stride, dilation, padding, padding),
          engine());
      adopt(pd, dnnl::convolution_forward(pd), x, weight, out);
    }
  }

  void run(const std::byte* x, const std::byte* weight, std::byte* out) {
    x_->user.set_data_handle(const_cast<std::byte*>(x));
    weight_->user.set_data_handle(const_cast<std::byte*>(weight));
    out_->user.set_data_handle(out);
    for (auto* port : {&*x_, &*weight_}) {
      if (port->reorder) {
        port->reorder->execute(stream_, port->user, port->inner);
      } else {
        port->inner.set_data_handle(port->user.get_data_handle());
      }
    }
    if (!out_->reorder) out_->inner.set_data_handle(out);
    primitive_.execute(
        stream_,
        {{DNNL_ARG_SRC, x_->inner}, {DNNL_ARG_WEIGHTS, weight_->inner}, {DNNL_ARG_DST, out_->inner}});
    if (out_->reorder) out_->reorder->execute(stream_, out_->inner, out_->user);
    stream_.wait();
  }

 private:
  /// A transposed result may be longer than the padding says.
  static memory::dims right_padding(const Key& key) {
    auto padding = dims_of(key.op.padding);
    for (std::size_t i = 0; i < padding.size() && !key.op.extra.empty(); ++i) {
      padding[i] -= key.op.extra[static_cast<int>(i)];
    }
    return padding;
  }

  template <class Descriptor>
  void adopt(const Descriptor& pd, dnnl::primitive primitive, const memory::desc& x,
             const memory::desc& weight, const memory::desc& out) {
    primitive_ = std::move(primitive);
    x_.emplace(x, pd.src_desc(), false);
    weight_.emplace(weight, pd.weights_desc(), false);
    out_.emplace(out, pd.dst_desc(), true);
  }

  dnnl::stream stream_;
  dnnl::primitive primitive_;
  std::optional<Port> x_, weight_, out_;
};

/// The convolutions this thread computed last: making a primitive costs more than a small convolution.
class ConvolutionCache {
 public:
  static constexpr std::size_t capacity = 16;

  Convolution& get(const Key& key) {
    if (const auto found = index_.find(key); found != index_.end()) {
      entries_.splice(entries_.begin(), entries_, found->second);
      return entries_.front().second;
    }
    entries_.emplace_front(std::piecewise_construct, std::tuple(key), std::tuple(key));
    index_.emplace(key, entries_.begin());
    if (entries_.size() > capacity) {
      index_.erase(entries_.back().first);
      entries_.pop_back();
    }
    return entries_.front().second;
  }

 private:
  using Entry = std::pair<const Key, Convolution>;
  std::list<Entry> entries_;  // most recently used first
  std::unordered_map<Key, std::list<Entry>::iterator, KeyHash> index_;
};

}  // namespace

bool onednn_conv(const op::Conv& op, const op::TensorType& x, const op::TensorType& weight,
                 const op::TensorType& result, const std::byte* x_data, const std::byte* weight_data,
                 std::byte* out) try {
  thread_local ConvolutionCache cache;
  cache.get({op, x, weight, result}).run(x_data, weight_data, out);
  return true;
} catch (const dnnl::error& e) {
  if (e.status == dnnl_unimplemented || e.status == dnnl_invalid_arguments) return false;
  const auto what = fmt::format("[conv] oneDNN failed for {} and weight {}: {} (status {})", x.to_string(),
                                weight.to_string(), e.what(), static_cast<int>(e.status));
  if (e.status == dnnl_out_of_memory) throw OutOfMemoryError(what);
  throw RuntimeError(what);
}

}  // namespace strata::flex
