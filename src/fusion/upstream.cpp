#include "fusion/upstream.hpp"

#include <algorithm>

#include "base/detached.hpp"
#include "op/operation.hpp"
#include "trace/span.hpp"

namespace strata::fusion {
namespace {

using State = FusionValue::State;

enum class Role { constant, elementwise, matmul, alone };

Role role_of(const op::Operation& op) {
  return std::visit(op::Overload{[](const op::Fill&) { return Role::constant; },
                                 [](const op::Matmul&) { return Role::matmul; },
                                 [](const op::Iota&) { return Role::elementwise; },
                                 [](const op::Random&) { return Role::elementwise; },
                                 [](const op::Unary&) { return Role::elementwise; },
                                 [](const op::Binary&) { return Role::elementwise; },
                                 [](const op::Compare&) { return Role::elementwise; },
                                 [](const op::Where&) { return Role::elementwise; },
                                 [](const op::Cast&) { return Role::elementwise; },
                                 [](const op::Reduce&) { return Role::alone; },
                                 [](const op::ArgReduce&) { return Role::alone; },
                                 [](const op::ArgSort&) { return Role::alone; },
                                 [](const op::Cumulative&) { return Role::alone; },
                                 [](const op::Softmax&) { return Role::alone; },
                                 [](const op::Norm&) { return Role::alone; },
                                 [](const op::Gather&) { return Role::alone; },
                                 [](const op::Scatter&) { return Role::alone; },
                                 [](const op::SliceAssign&) { return Role::alone; },
                                 [](const op::Conv&) { return Role::alone; },
                                 [](const op::Pool&) { return Role::alone; },
                                 [](const op::ArgPool&) { return Role::alone; },
                                 [](const op::Linalg&) { return Role::alone; },
                                 [](const op::Fft&) { return Role::alone; },
                                 [](const op::Unfold&) { return Role::alone; },
                                 [](const op::Reshape&) { return Role::alone; },
                                 [](const op::Permute&) { return Role::alone; },
                                 [](const op::Expand&) { return Role::alone; },
                                 [](const op::Slice&) { return Role::alone; },
                                 [](const op::Flip&) { return Role::alone; },
                                 [](const op::Cat&) { return Role::alone; },
                                 [](const op::Attention&) { return Role::alone; },
                                 [](const op::AttentionGradient&) { return Role::alone; },
                                 [](const op::CrossEntropy&) { return Role::alone; },
                                 [](const op::CrossEntropyGradient&) { return Role::alone; },
                                 [](const op::Ctc&) { return Role::alone; },
                                 [](const op::CtcGradient&) { return Role::alone; },
                                 [](const op::CustomKernel&) { return Role::alone; }},
                    op);
}

/// Passes a device future's outcome on when it is there.
template <class T>
base::Detached forward(Future<T> from, Promise<T> to) {
  try {
    if constexpr (std::is_void_v<T>) {
      co_await std::move(from);
      to.set_value();
    } else {
      to.set_value(co_await std::move(from));
    }
  } catch (...) {
    to.set_exception(std::current_exception());
  }
}

}  // namespace

void Upstream::accept(const FusionRef& v) noexcept {
  try {
    accept_or_throw(v);
  } catch (...) {
    v->fail(std::current_exception());
  }
}

void Upstream::accept_or_throw(const FusionRef& v) {
  for (const auto& in : v->operands.view()) {
    if (in->state == State::pending && in->stream != v->stream) flush(in->stream);
    if (in->state == State::failed) return v->fail(in->error);
  }
  switch (role_of(v->op)) {
    case Role::constant:
      v->state = State::constant;
      return;
    case Role::elementwise: {
      auto& stream = open_[v->stream];
      if (!admits(stream, *v)) flush(v->stream);
      for (const auto& in : v->operands.view()) {  // the flush may have failed
        if (in->state == State::failed) return v->fail(in->error);
      }
      append(open_[v->stream], v);
      break;
    }
    case Role::matmul: {
      flush(v->stream);
      for (const auto& in : v->operands.view()) {
        if (in->state == State::failed) return v->fail(in->error);
        materialise(*in);
      }
      append(open_[v->stream], v);
      break;
    }
    case Role::alone: {
      std::vector<backend::ValueRef> inputs;
      for (const auto& in : v->operands.view()) {
        if (in->state == State::pending) flush(in->stream);
        if (in->state == State::failed) return v->fail(in->error);
        inputs.push_back(materialise(*in));
      }
      v->succeed_all(inner_.execute(v->op, inputs));
      return;
    }
  }
  if (!fuse_) flush(v->stream);
}

bool Upstream::admits(const Stream& stream, const FusionValue& v) const {
  if (stream.nodes.empty()) return true;
  if (stream.nodes.size() >= max_block_nodes || stream.inputs.size() + 3 > max_block_inputs) return false;
  return stream.nodes.front()->shape == v.shape;
}

void Upstream::append(Stream& stream, const FusionRef& v) {
  v->state = State::pending;
  v->position = static_cast<int>(stream.nodes.size());
  stream.nodes.push_back(v);
  for (const auto& in : v->operands.view()) {
    if (in->state == State::ready && std::ranges::find(stream.inputs, in.get()) == stream.inputs.end()) {
      stream.inputs.push_back(in.get());
    }
  }
}

void Upstream::flush(std::uint32_t id) {
  const auto found = open_.find(id);
  if (found == open_.end()) return;
  const auto nodes = std::move(found->second.nodes);
  open_.erase(found);
  if (nodes.empty()) return;
  trace::Span span("fusion", "fuse");
  span.field("ops", nodes.size());
  try {
    run(nodes);
  } catch (...) {
    for (const auto& v : nodes) {
      if (v->state == State::pending) v->fail(std::current_exception());
    }
  }
}

void Upstream::run(std::span<const FusionRef> nodes) {
  // Who can still reach a value: all its references less ours and those of its users inside the block.
  std::vector<std::uint32_t> internal(nodes.size(), 1);
  for (const auto& v : nodes) {
    for (const auto& in : v->operands.view()) {
      if (in->state == State::pending) ++internal[static_cast<std::size_t>(in->position)];
    }
  }
  std::vector<bool> written(nodes.size()), live(nodes.size());
  for (std::size_t i = nodes.size(); i-- > 0;) {
    written[i] = nodes[i]->reference_count() > internal[i];
    live[i] = live[i] || written[i];
    if (!live[i]) continue;
    for (const auto& in : nodes[i]->operands.view()) {
      if (in->state == State::pending) live[static_cast<std::size_t>(in->position)] = true;
    }
  }
  // A matmul kernel writes one tensor: when its block must write more, the product is made first and read
  // back.
  const bool matmul = std::holds_alternative<op::Matmul>(nodes.front()->op) && live.front();
  if (matmul && std::ranges::count(written, true) > 1) {
    run_block(nodes.first(1), {true}, {true});
    for (std::size_t i = 1; i < nodes.size(); ++i) nodes[i]->position = static_cast<int>(i) - 1;
    run_block(nodes.subspan(1), {live.begin() + 1, live.end()}, {written.begin() + 1, written.end()});
  } else {
    run_block(nodes, live, written);
  }
  for (const auto& v : nodes) {
    if (v->state == State::pending) v->discard();
  }
}

void Upstream::run_block(std::span<const FusionRef> nodes, const std::vector<bool>& live,
                         const std::vector<bool>& written) {
  cube::Block block;
  std::vector<backend::ValueRef> inputs;
  std::vector<const FusionValue*> input_of, constant_of;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (!live[i]) continue;
    for (const auto& in : nodes[i]->operands.view()) {
      auto& known = in->state == State::constant ? constant_of : input_of;
      if (in->state == State::pending || std::ranges::find(known, in.get()) != known.end()) continue;
      known.push_back(in.get());
      if (in->state == State::ready) {
        inputs.push_back(in->data);
        block.inputs.push_back({in->dtype, in->shape});
      }
    }
  }
  // Value numbers: inputs, then nodes. A leading matmul must stay node 0, so constants follow it.
  std::vector<int> number(nodes.size(), -1);
  const auto add = [&](const FusionValue& v) {
    block.nodes.push_back({v.op, {}, {v.dtype, v.shape}});
    return block.value_count() - 1;
  };
  const auto index_in = [](const std::vector<const FusionValue*>& list, const FusionValue* v) {
    return static_cast<int>(std::ranges::find(list, v) - list.begin());
  };
  const int input_count = static_cast<int>(block.inputs.size());
  const bool matmul_first = live.front() && std::holds_alternative<op::Matmul>(nodes.front()->op);
  const int first_constant = input_count + (matmul_first ? 1 : 0);
  const auto append_node = [&](std::size_t i) {
    number[i] = add(*nodes[i]);
    for (const auto& in : nodes[i]->operands.view()) {
      const int operand = in->state == State::pending    ? number[static_cast<std::size_t>(in->position)]
                          : in->state == State::constant ? first_constant + index_in(constant_of, in.get())
                                                         : index_in(input_of, in.get());
      block.nodes.back().operands.push_back(operand);
    }
  };
  if (matmul_first) append_node(0);
  for (const auto* c : constant_of) add(*c);
  for (std::size_t i = matmul_first ? 1 : 0; i < nodes.size(); ++i) {
    if (live[i]) append_node(i);
  }
  std::vector<std::size_t> outputs;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (!written[i]) continue;
    outputs.push_back(i);
    block.outputs.push_back(number[i]);
  }
  if (outputs.empty()) return;
  auto results = inner_.execute_block(block, inputs);
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    nodes[outputs[k]]->succeed(
        backend::Ref<cube::CubeValue>(static_cast<cube::CubeValue*>(results[k].get())));
  }
}

const backend::Ref<cube::CubeValue>& Upstream::materialise(FusionValue& v) {
  if (v.state == State::constant) {
    auto out = inner_.execute(v.op, {});
    v.succeed(backend::Ref<cube::CubeValue>(static_cast<cube::CubeValue*>(out[0].get())));
  }
  STRATA_CHECK(v.state == State::ready);
  return v.data;
}

void Upstream::upload(const FusionRef& v, const TensorData& data) noexcept {
  try {
    auto out = inner_.from_data(data);
    v->succeed(backend::Ref<cube::CubeValue>(static_cast<cube::CubeValue*>(out.get())));
  } catch (...) {
    v->fail(std::current_exception());
  }
}

void Upstream::read(std::span<Read> reads) noexcept {
  trace::Span span("fusion", "drain");
  for (const auto& [v, result] : reads) {
    if (v->state == State::pending) flush(v->stream);
  }
  for (auto& [v, result] : reads) {
    try {
      if (v->state == State::failed) {
        result.set_exception(v->error);
      } else {
        forward(inner_.into_data(materialise(*v)), std::move(result));
      }
    } catch (...) {
      result.set_exception(std::current_exception());
    }
  }
}

void Upstream::lend(const FusionRef& v, Promise<runtime::Lent> result) noexcept {
  try {
    if (v->state == State::pending) flush(v->stream);
    if (v->state == State::failed) return result.set_exception(v->error);
    forward(inner_.lend(materialise(*v)), std::move(result));
  } catch (...) {
    result.set_exception(std::current_exception());
  }
}

void Upstream::receive(const FusionRef& v, const runtime::Lent& source) noexcept {
  try {
    auto out = inner_.from_lent({v->dtype, v->shape}, source);
    v->succeed(backend::Ref<cube::CubeValue>(static_cast<cube::CubeValue*>(out.get())));
  } catch (...) {
    v->fail(std::current_exception());
  }
}

void Upstream::sync(std::uint32_t stream, Promise<void> result) noexcept {
  trace::Span span("fusion", "drain");
  try {
    flush(stream);
    forward(inner_.client().sync_async(), std::move(result));
  } catch (...) {
    result.set_exception(std::current_exception());
  }
}

}  // namespace strata::fusion
