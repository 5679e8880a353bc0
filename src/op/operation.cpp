#include "op/operation.hpp"

#include <fmt/format.h>

namespace strata::op {
namespace {

int arity(const Operation& op) {
  return std::visit(Overload{[](const Fill&) { return 0; }, [](const Iota&) { return 0; },
                             [](const Random&) { return 0; }, [](const Binary&) { return 2; },
                             [](const Compare&) { return 2; }, [](const Matmul&) { return 2; },
                             [](const Where&) { return 3; }, [](const Cat&) { return -1; },  // one or more
                             [](const auto&) { return 1; }},
                    op);
}

std::string_view reduce_name(ReduceKind k) {
  constexpr std::string_view names[] = {"reduce_sum", "reduce_mean", "reduce_prod", "reduce_max",
                                        "reduce_min"};
  return names[static_cast<int>(k)];
}

}  // namespace

std::string_view name_of(const Operation& op) {
  using S = std::string_view;
  return std::visit(
      Overload{
          [](const Fill&) -> S { return "fill"; }, [](const Iota&) -> S { return "iota"; },
          [](const Random&) -> S { return "random"; }, [](const Unary& o) -> S { return name_of(o.kind); },
          [](const Binary& o) -> S { return name_of(o.kind); },
          [](const Compare& o) -> S { return name_of(o.kind); }, [](const Where&) -> S { return "where"; },
          [](const Cast&) -> S { return "cast"; }, [](const Matmul&) -> S { return "matmul"; },
          [](const Reduce& o) -> S { return reduce_name(o.kind); },
          [](const Reshape&) -> S { return "reshape"; }, [](const Permute&) -> S { return "permute"; },
          [](const Expand&) -> S { return "expand"; }, [](const Slice&) -> S { return "slice"; },
          [](const Flip&) -> S { return "flip"; }, [](const Cat&) -> S { return "cat"; }},
      op);
}

std::string to_string(const Operation& op) {
  const std::string attributes = std::visit(
      Overload{[](const Fill& o) {
                 return fmt::format("{}{}, value={}", strata::name_of(o.dtype), o.shape.to_string(),
                                    o.value.to_string());
               },
               [](const Iota& o) {
                 return fmt::format("{}[{}], start={}, step={}", strata::name_of(o.dtype), o.size,
                                    o.start.to_string(), o.step.to_string());
               },
               [](const Random& o) {
                 return fmt::format("{}{}, {}({}, {}), seed={}", strata::name_of(o.dtype),
                                    o.shape.to_string(), name_of(o.distribution), o.a, o.b, o.seed);
               },
               [](const Cast& o) { return std::string(strata::name_of(o.dtype)); },
               [](const Reduce& o) {
                 return fmt::format("axes={}{}", o.axes.to_string(), o.keep_dims ? ", keep_dims" : "");
               },
               [](const Reshape& o) { return o.shape.to_string(); },
               [](const Permute& o) { return o.order.to_string(); },
               [](const Expand& o) { return o.shape.to_string(); },
               [](const Slice& o) {
                 return fmt::format("start={}, stop={}, step={}", o.start.to_string(), o.stop.to_string(),
                                    o.step.to_string());
               },
               [](const Flip& o) { return "axes=" + o.axes.to_string(); },
               [](const Cat& o) { return fmt::format("axis={}", o.axis); },
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
  std::visit(Overload{[&](const Fill& o) {
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
                      [&](const Unary& o) { h.add(o.kind); }, [&](const Binary& o) { h.add(o.kind); },
                      [&](const Compare& o) { h.add(o.kind); }, [](const Where&) {},
                      [&](const Cast& o) { h.add(o.dtype); }, [](const Matmul&) {},
                      [&](const Reduce& o) {
                        h.add(o.kind);
                        h.add(o.axes);
                        h.add(o.keep_dims);
                      },
                      [&](const Reshape& o) { h.add(o.shape); }, [&](const Permute& o) { h.add(o.order); },
                      [&](const Expand& o) { h.add(o.shape); },
                      [&](const Slice& o) {
                        h.add(o.start);
                        h.add(o.stop);
                        h.add(o.step);
                      },
                      [&](const Flip& o) { h.add(o.axes); }, [&](const Cat& o) { h.add(o.axis); }},
             op);
}

std::uint64_t hash_of(const Operation& op) {
  base::Hasher h;
  hash_into(h, op);
  return h.value();
}

TensorTypes infer(const Operation& op, Inputs inputs, std::string_view device) {
  const Site site{name_of(op), inputs, device};
  const int wanted = arity(op);
  if (wanted < 0 ? inputs.empty() : inputs.size() != static_cast<std::size_t>(wanted)) [[unlikely]] {
    argument_error(site, fmt::format("takes {} inputs, got {}",
                                     wanted < 0 ? "one or more" : std::to_string(wanted), inputs.size()));
  }
  return std::visit([&](const auto& o) { return infer(o, site); }, op);
}

}  // namespace strata::op
