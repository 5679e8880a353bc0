#include "op/operation.hpp"

#include <fmt/format.h>

namespace strata::op {
namespace {

struct Arity {
  std::size_t least, most;
};

constexpr Arity none{0, 0}, one{1, 1}, two{2, 2}, three{3, 3}, four{4, 4}, one_or_two{1, 2},
    one_to_three{1, 3}, two_or_three{2, 3}, three_or_four{3, 4}, four_or_five{4, 5}, six_or_seven{6, 7},
    some{1, SIZE_MAX}, any{0, SIZE_MAX};

Arity arity(const Operation& op) {
  return std::visit(Overload{[](const Fill&) { return none; },
                             [](const Iota&) { return none; },
                             [](const Random&) { return none; },
                             [](const Binary&) { return two; },
                             [](const Compare&) { return two; },
                             [](const Matmul&) { return two; },
                             [](const Gather&) { return two; },
                             [](const SliceAssign&) { return two; },
                             [](const Conv&) { return two; },
                             [](const Where&) { return three; },
                             [](const Scatter&) { return three; },
                             [](const Norm&) { return one_to_three; },
                             [](const Linalg&) { return one_or_two; },
                             [](const Cat&) { return some; },
                             [](const Attention&) { return three_or_four; },
                             [](const AttentionGradient&) { return six_or_seven; },
                             [](const CrossEntropy&) { return two_or_three; },
                             [](const CrossEntropyGradient&) { return four_or_five; },
                             [](const Ctc&) { return four; },
                             [](const CtcGradient&) { return four; },
                             [](const CustomKernel&) { return any; },
                             [](const auto&) { return one; }},
                    op);
}

std::string_view reduce_name(ReduceKind k) {
  constexpr std::string_view names[] = {"reduce_sum", "reduce_mean", "reduce_prod", "reduce_max",
                                        "reduce_min"};
  return names[static_cast<int>(k)];
}

std::string_view cumulative_name(CumulativeKind k) {
  constexpr std::string_view names[] = {"cumsum", "cumprod", "cummax", "cummin"};
  return names[static_cast<int>(k)];
}

template <class... T>
void add_all(base::Hasher& h, const T&... fields) {
  (h.add(fields), ...);
}

std::string windows(const Dims& window, const Dims& stride, const Dims& padding, const Dims& dilation) {
  return fmt::format("window={}, stride={}, padding={}, dilation={}", window.to_string(), stride.to_string(),
                     padding.to_string(), dilation.to_string());
}

// A family and its gradient have the same fields.
std::string attention_fields(const auto& o) {
  return fmt::format("scale={}{}", o.scale, o.causal ? ", causal" : "");
}
std::string cross_entropy_fields(const auto& o) {
  return fmt::format("label_smoothing={}, ignore_index={}", o.label_smoothing, o.ignore_index);
}
std::string ctc_fields(const auto& o) {
  return fmt::format("blank={}{}", o.blank, o.zero_infinity ? ", zero_infinity" : "");
}

}  // namespace

std::string_view name_of(const Operation& op) {
  using S = std::string_view;
  return std::visit(
      Overload{[](const Fill&) -> S { return "fill"; },
               [](const Iota&) -> S { return "iota"; },
               [](const Random&) -> S { return "random"; },
               [](const Unary& o) -> S { return name_of(o.kind); },
               [](const Binary& o) -> S { return name_of(o.kind); },
               [](const Compare& o) -> S { return name_of(o.kind); },
               [](const Where&) -> S { return "where"; },
               [](const Cast&) -> S { return "cast"; },
               [](const Matmul&) -> S { return "matmul"; },
               [](const Reduce& o) -> S { return reduce_name(o.kind); },
               [](const ArgReduce& o) -> S { return o.kind == ExtremumKind::max ? "argmax" : "argmin"; },
               [](const ArgSort&) -> S { return "argsort"; },
               [](const Cumulative& o) -> S { return cumulative_name(o.kind); },
               [](const Softmax& o) -> S { return o.log ? "log_softmax" : "softmax"; },
               [](const Norm& o) -> S { return name_of(o.kind); },
               [](const Gather&) -> S { return "gather"; },
               [](const Scatter&) -> S { return "scatter"; },
               [](const SliceAssign&) -> S { return "slice_assign"; },
               [](const Conv& o) -> S { return o.transposed ? "conv_transpose" : "conv"; },
               [](const Pool& o) -> S { return name_of(o.kind); },
               [](const ArgPool&) -> S { return "arg_max_pool"; },
               [](const Linalg& o) -> S { return name_of(o.kind); },
               [](const Fft& o) -> S { return name_of(o.kind); },
               [](const Unfold&) -> S { return "unfold"; },
               [](const Reshape&) -> S { return "reshape"; },
               [](const Permute&) -> S { return "permute"; },
               [](const Expand&) -> S { return "expand"; },
               [](const Slice&) -> S { return "slice"; },
               [](const Flip&) -> S { return "flip"; },
               [](const Cat&) -> S { return "cat"; },
               [](const Attention&) -> S { return "attention"; },
               [](const AttentionGradient&) -> S { return "attention_gradient"; },
               [](const CrossEntropy&) -> S { return "cross_entropy"; },
               [](const CrossEntropyGradient&) -> S { return "cross_entropy_gradient"; },
               [](const Ctc&) -> S { return "ctc"; },
               [](const CtcGradient&) -> S { return "ctc_gradient"; },
               [](const CustomKernel& o) -> S { return o.call->kernel.name(); }},
      op);
}

std::string to_string(const Operation& op) {
  const std::string attributes = std::visit(
      Overload{
          [](const Fill& o) {
            return fmt::format("{}{}, value={}", strata::name_of(o.dtype), o.shape.to_string(),
                               o.value.to_string());
          },
          [](const Iota& o) {
            return fmt::format("{}[{}], start={}, step={}", strata::name_of(o.dtype), o.size,
                               o.start.to_string(), o.step.to_string());
          },
          [](const Random& o) {
            return fmt::format("{}{}, {}({}, {}), seed={}", strata::name_of(o.dtype), o.shape.to_string(),
                               name_of(o.distribution), o.a, o.b, o.seed);
          },
          [](const Cast& o) { return std::string(strata::name_of(o.dtype)); },
          [](const Matmul& o) {
            return o.precision == Precision::exact ? std::string()
                                                   : std::string(strata::name_of(o.precision));
          },
          [](const Reduce& o) {
            return fmt::format("axes={}{}", o.axes.to_string(), o.keep_dims ? ", keep_dims" : "");
          },
          [](const ArgReduce& o) {
            return fmt::format("axis={}{}", o.axis, o.keep_dims ? ", keep_dims" : "");
          },
          [](const ArgSort& o) {
            return fmt::format("axis={}{}{}", o.axis, o.descending ? ", descending" : "",
                               o.count < 0 ? "" : fmt::format(", count={}", o.count));
          },
          [](const Cumulative& o) { return fmt::format("axis={}", o.axis); },
          [](const Softmax& o) { return fmt::format("axis={}", o.axis); },
          [](const Norm& o) { return fmt::format("eps={}", o.eps); },
          [](const Gather& o) { return fmt::format("axis={}", o.axis); },
          [](const Scatter& o) { return fmt::format("axis={}, {}", o.axis, name_of(o.mode)); },
          [](const SliceAssign& o) {
            return fmt::format("start={}, stop={}, step={}", o.start.to_string(), o.stop.to_string(),
                               o.step.to_string());
          },
          [](const Conv& o) {
            return fmt::format("stride={}, padding={}, dilation={}, groups={}{}", o.stride.to_string(),
                               o.padding.to_string(), o.dilation.to_string(), o.groups,
                               o.extra.empty() ? "" : ", extra=" + o.extra.to_string());
          },
          [](const Pool& o) {
            return windows(o.window, o.stride, o.padding, o.dilation) + (o.ceil_mode ? ", ceil_mode" : "") +
                   (o.kind == PoolKind::mean && !o.count_padding ? ", padding not counted" : "");
          },
          [](const ArgPool& o) {
            return windows(o.window, o.stride, o.padding, o.dilation) + (o.ceil_mode ? ", ceil_mode" : "");
          },
          [](const Fft& o) { return fmt::format("axis={}, size={}", o.axis, o.size); },
          [](const Unfold& o) { return fmt::format("axis={}, size={}, step={}", o.axis, o.size, o.step); },
          [](const Reshape& o) { return o.shape.to_string(); },
          [](const Permute& o) { return o.order.to_string(); },
          [](const Expand& o) { return o.shape.to_string(); },
          [](const Slice& o) {
            return fmt::format("start={}, stop={}, step={}", o.start.to_string(), o.stop.to_string(),
                               o.step.to_string());
          },
          [](const Flip& o) { return "axes=" + o.axes.to_string(); },
          [](const Cat& o) { return fmt::format("axis={}", o.axis); },
          [](const Attention& o) { return attention_fields(o); },
          [](const AttentionGradient& o) { return attention_fields(o); },
          [](const CrossEntropy& o) { return cross_entropy_fields(o); },
          [](const CrossEntropyGradient& o) { return cross_entropy_fields(o); },
          [](const Ctc& o) { return ctc_fields(o); },
          [](const CtcGradient& o) { return ctc_fields(o); },
          [](const CustomKernel& o) {
            const auto& g = o.call->grid;
            return fmt::format("kernel, grid={}x{}x{}", g.x, g.y, g.z);
          },
          [](const auto&) { return std::string(); }},
      op);
  return attributes.empty() ? std::string(name_of(op)) : fmt::format("{}({})", name_of(op), attributes);
}

void hash_into(base::Hasher& h, const Operation& op) {
  h.add(op.index());
  const auto number = [&](const Number& n) {
    h.add(n.kind);
    h.word(n.bits);
  };
  std::visit(
      Overload{[&](const Fill& o) {
                 h.add(o.shape);
                 h.add(o.dtype);
                 number(o.value);
               },
               [&](const Iota& o) {
                 h.add(o.size);
                 h.add(o.dtype);
                 number(o.start);
                 number(o.step);
               },
               [&](const Random& o) {
                 h.add(o.shape);
                 h.add(o.dtype);
                 h.add(o.distribution);
                 h.add(o.a);
                 h.add(o.b);
                 h.word(o.seed);
               },
               [&](const Unary& o) { h.add(o.kind); },
               [&](const Binary& o) { h.add(o.kind); },
               [&](const Compare& o) { h.add(o.kind); },
               [](const Where&) {},
               [&](const Cast& o) { h.add(o.dtype); },
               [&](const Matmul& o) { h.add(o.precision); },
               [&](const Reduce& o) {
                 h.add(o.kind);
                 h.add(o.axes);
                 h.add(o.keep_dims);
               },
               [&](const ArgReduce& o) { add_all(h, o.kind, o.axis, o.keep_dims); },
               [&](const ArgSort& o) { add_all(h, o.axis, o.descending, o.count); },
               [&](const Cumulative& o) { add_all(h, o.kind, o.axis); },
               [&](const Softmax& o) { add_all(h, o.axis, o.log); },
               [&](const Norm& o) { add_all(h, o.kind, o.eps); },
               [&](const Gather& o) { h.add(o.axis); },
               [&](const Scatter& o) { add_all(h, o.axis, o.mode); },
               [&](const SliceAssign& o) { add_all(h, o.start, o.stop, o.step); },
               [&](const Conv& o) {
                 add_all(h, o.stride, o.padding, o.dilation, o.groups, o.transposed, o.extra);
               },
               [&](const Pool& o) {
                 add_all(h, o.kind, o.window, o.stride, o.padding, o.dilation, o.ceil_mode, o.count_padding);
               },
               [&](const ArgPool& o) { add_all(h, o.window, o.stride, o.padding, o.dilation, o.ceil_mode); },
               [&](const Linalg& o) { h.add(o.kind); },
               [&](const Fft& o) { add_all(h, o.kind, o.axis, o.size); },
               [&](const Unfold& o) { add_all(h, o.axis, o.size, o.step); },
               [&](const Reshape& o) { h.add(o.shape); },
               [&](const Permute& o) { h.add(o.order); },
               [&](const Expand& o) { h.add(o.shape); },
               [&](const Slice& o) {
                 h.add(o.start);
                 h.add(o.stop);
                 h.add(o.step);
               },
               [&](const Flip& o) { h.add(o.axes); },
               [&](const Cat& o) { h.add(o.axis); },
               [&](const Attention& o) { add_all(h, o.causal, o.scale); },
               [&](const AttentionGradient& o) { add_all(h, o.causal, o.scale); },
               [&](const CrossEntropy& o) { add_all(h, o.label_smoothing, o.ignore_index); },
               [&](const CrossEntropyGradient& o) { add_all(h, o.label_smoothing, o.ignore_index); },
               [&](const Ctc& o) { add_all(h, o.blank, o.zero_infinity); },
               [&](const CtcGradient& o) { add_all(h, o.blank, o.zero_infinity); },
               [&](const CustomKernel& o) {
                 for (auto word : o.call->kernel.signature().hash) h.word(word);
                 add_all(h, o.call->grid.x, o.call->grid.y, o.call->grid.z);
                 for (const auto& shape : o.call->made) h.add(shape);
                 for (auto bits : o.call->scalars) h.add(bits);
               }},
      op);
}

std::uint64_t hash_of(const Operation& op) {
  base::Hasher h;
  hash_into(h, op);
  return h.value();
}

TensorTypes infer(const Operation& op, Inputs inputs, std::string_view device) {
  const Site site{name_of(op), inputs, device};
  const auto [least, most] = arity(op);
  if (inputs.size() < least || inputs.size() > most) [[unlikely]] {
    const auto wanted = least == most      ? std::to_string(least)
                        : most == SIZE_MAX ? fmt::format("{} or more", least)
                                           : fmt::format("{} to {}", least, most);
    argument_error(site, fmt::format("takes {} inputs, got {}", wanted, inputs.size()));
  }
  return std::visit([&](const auto& o) { return infer(o, site); }, op);
}

}  // namespace strata::op
