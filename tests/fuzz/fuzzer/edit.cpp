#include "fuzz/fuzzer/edit.hpp"

#include <cstring>

namespace strata::fuzz {
namespace {

template <class F>
void for_each_id(Body& body, F f) {
  for (auto& action : body.actions) {
    if (action.kind == Action::Kind::execute) {
      for (auto& id : action.operands) f(id);
    } else {
      f(action.value);
    }
  }
}

bool same_types(const Program& a, const Program& b) {
  for (std::size_t i = 0; i < a.bodies.size(); ++i) {
    const Types before(a, a.bodies[i]), after(b, b.bodies[i]);
    for (std::size_t k = 0; k < before.size(); ++k) {
      const auto id = static_cast<ValueId>(k);
      if (before.of(id).has_value() != after.of(id).has_value()) return false;
    }
  }
  return true;
}

}  // namespace

std::size_t action_of(const Body& body, ValueId id) {
  std::size_t at = 0;
  for (ValueId made = -1; at < body.actions.size(); ++at) {
    made += body.actions[at].kind == Action::Kind::execute;
    if (made == id) break;
  }
  return at;
}

std::size_t uses(const Body& body, ValueId id) {
  std::size_t n = 0;
  for_each_id(const_cast<Body&>(body), [&](ValueId used) { n += used == id; });
  return n;
}

Edited without_body(const Program& program, std::size_t body) {
  if (program.bodies.size() < 2) return std::nullopt;
  auto out = program;
  out.bodies.erase(out.bodies.begin() + static_cast<std::ptrdiff_t>(body));
  return out;
}

Edited without_action(const Program& program, std::size_t body, std::size_t action) {
  auto out = program;
  auto& actions = out.bodies[body].actions;
  if (actions[action].kind == Action::Kind::execute) return std::nullopt;
  actions.erase(actions.begin() + static_cast<std::ptrdiff_t>(action));
  return out;
}

Edited without_operation(const Program& program, std::size_t body, ValueId id) {
  if (uses(program.bodies[body], id) != 0) return std::nullopt;
  auto out = program;
  auto& b = out.bodies[body];
  b.actions.erase(b.actions.begin() + static_cast<std::ptrdiff_t>(action_of(b, id)));
  for_each_id(b, [&](ValueId& used) { used -= used > id; });
  return out;
}

Edited with_replaced(const Program& program, std::size_t body, ValueId id, ValueId instead) {
  auto out = program;
  auto& actions = out.bodies[body].actions;
  // `instead` may have been released by now: its drops go too, and so do those of `id`.
  std::erase_if(actions, [&](const Action& a) {
    return a.kind == Action::Kind::drop && (a.value == id || a.value == instead);
  });
  for_each_id(out.bodies[body], [&](ValueId& used) { used = used == id ? instead : used; });
  return without_operation(out, body, id);
}

Edited with_constant(const Program& program, std::size_t body, ValueId id, const TensorData& data) {
  auto out = program;
  out.inputs.push_back(data);
  return with_replaced(out, body, id, ~(static_cast<ValueId>(out.inputs.size()) - 1));
}

Edited without_unused_inputs(const Program& program) {
  auto out = program;
  for (std::size_t i = out.inputs.size(); i-- > 0;) {
    const auto id = ~static_cast<ValueId>(i);
    bool used = false;
    for (const auto& body : out.bodies) used |= uses(body, id) != 0;
    if (used) continue;
    out.inputs.erase(out.inputs.begin() + static_cast<std::ptrdiff_t>(i));
    for (auto& body : out.bodies) for_each_id(body, [&](ValueId& other) { other += other < id; });
  }
  return out.inputs.size() < program.inputs.size() ? Edited(out) : std::nullopt;
}

Edited with_extents(const Program& program, Resize resize, End kept) {
  auto out = program;
  for (auto& data : out.inputs) {
    Shape shape = data.shape();
    resize(shape);
    if (shape != data.shape()) data = cut(data, shape, kept);
  }
  for (auto& body : out.bodies) {
    for (auto& action : body.actions) {
      if (action.kind == Action::Kind::execute) family_of(action.op).resize(action.op, resize);
    }
  }
  return same_types(program, out) ? Edited(out) : std::nullopt;
}

Edited with_input(const Program& program, std::size_t input, const TensorData& data) {
  const auto& old = program.inputs[input];
  if (old.byte_size() == 0 || std::memcmp(old.bytes(), data.bytes(), old.byte_size()) == 0)
    return std::nullopt;
  auto out = program;
  out.inputs[input] = data;
  return out;
}

TensorData cut(const TensorData& data, const Shape& shape, End kept) {
  const auto size = size_of(data.dtype());
  const auto bytes = TensorData::allocate(static_cast<std::size_t>(shape.product()) * size);
  const auto from = op::contiguous_strides(data.shape());
  for (std::int64_t i = 0; i < shape.product(); ++i) {
    std::int64_t at = 0, rest = i;
    for (int axis = shape.rank() - 1; axis >= 0; --axis) {
      const auto skipped = kept == End::last ? data.shape()[axis] - shape[axis] : 0;
      at += (rest % shape[axis] + skipped) * from[axis];
      rest /= shape[axis];
    }
    std::memcpy(bytes.get() + static_cast<std::size_t>(i) * size,
                data.bytes() + static_cast<std::size_t>(at) * size, size);
  }
  return {data.dtype(), shape, bytes};
}

TensorData plain(const TensorData& like, Plain from) {
  std::vector<double> values(static_cast<std::size_t>(like.size()));
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = from == Plain::zeros ? 0 : from == Plain::ones ? 1 : static_cast<double>(i % 100 + 1);
  return TensorData::from<double>(std::span<const double>(values), like.shape()).convert(like.dtype());
}

TensorData with_one(const TensorData& data, std::size_t i) {
  const auto bytes = TensorData::allocate(data.byte_size());
  std::memcpy(bytes.get(), data.bytes(), data.byte_size());
  visit_dtype(data.dtype(), [&]<class T>() { reinterpret_cast<T*>(bytes.get())[i] = static_cast<T>(1.0f); });
  return {data.dtype(), data.shape(), bytes};
}

}  // namespace strata::fuzz
