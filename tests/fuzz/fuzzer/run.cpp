#include "fuzz/fuzzer/run.hpp"

#include <algorithm>
#include <latch>
#include <thread>

#include <fmt/format.h>

#include "bridge/bridge.hpp"
#include "strata/error.hpp"

namespace strata::fuzz {
namespace {

/// "ShapeError: [add] ...": the most derived type of strata's errors that applies.
std::string describe(const std::exception_ptr& caught) {
  try {
    std::rethrow_exception(caught);
  } catch (const ShapeError& e) {
    return std::string("ShapeError: ") + e.what();
  } catch (const DTypeError& e) {
    return std::string("DTypeError: ") + e.what();
  } catch (const IndexError& e) {
    return std::string("IndexError: ") + e.what();
  } catch (const MatrixError& e) {
    return std::string("MatrixError: ") + e.what();
  } catch (const DeviceError& e) {
    return std::string("DeviceError: ") + e.what();
  } catch (const ArgumentError& e) {
    return std::string("ArgumentError: ") + e.what();
  } catch (const UserError& e) {
    return std::string("UserError: ") + e.what();
  } catch (const RuntimeError& e) {
    return std::string("RuntimeError: ") + e.what();
  } catch (const InternalError& e) {
    return std::string("InternalError: ") + e.what();
  } catch (const std::exception& e) {
    return std::string("std::exception: ") + e.what();
  }
}

/// One body at work on one backend.
class BodyRun {
 public:
  BodyRun(backend::Backend& backend, std::vector<ValueRef> inputs, std::size_t number)
      : backend_(backend), inputs_(std::move(inputs)), prefix_("body " + std::to_string(number) + ", ") {}

  void run(const Body& body) {
    for (std::size_t i = 0; i < body.actions.size(); ++i) {
      const auto& action = body.actions[i];
      switch (action.kind) {
        case Action::Kind::execute:
          execute(action, i);
          break;
        case Action::Kind::drop:
          at(action.value) = {};
          break;
        case Action::Kind::read:
          if (at(action.value))
            read(at(action.value), label(action.value) + " read by action " + std::to_string(i));
          break;
      }
    }
  }

  /// d (sum of w * y over the held results y) / d leaf, with weights that tell elements apart.
  void differentiate(const std::vector<ValueRef>& leaves) {
    const auto first = outputs.size();
    std::string what = prefix_ + "backward";
    try {
      ValueRef loss;
      for (const auto& y : results_) {
        if (!y || !is_float(y->dtype) || !autodiff::is_tracked(y)) continue;
        const auto term = weighted_sum(y);
        loss = loss ? bridge::add(loss, term) : term;
      }
      results_.clear();
      if (!loss) return;
      const auto gradients = autodiff::backward(loss);
      loss = {};
      for (std::size_t i = 0; i < leaves.size(); ++i) {
        if (!is_float(leaves[i]->dtype)) continue;
        what = prefix_ + "gradient of in" + std::to_string(i);
        if (const auto g = gradients.find(leaves[i])) read(g, what);
      }
    } catch (...) {
      outputs.push_back({what, {}, {}, describe(std::current_exception())});
    }
    for (auto i = first; i < outputs.size(); ++i) outputs[i].backward = true;
  }

  Outputs outputs;

 private:
  ValueRef& at(ValueId id) {
    return is_input(id) ? inputs_[input_index(id)] : results_[static_cast<std::size_t>(id)];
  }
  std::string label(ValueId id) const {
    return prefix_ + (is_input(id) ? "in" + std::to_string(input_index(id)) : "v" + std::to_string(id));
  }

  void execute(const Action& action, std::size_t number) {
    std::vector<ValueRef> operands;
    for (auto id : action.operands) {
      operands.push_back(at(id));
      if (!operands.back()) return results_.emplace_back(), void();  // made by a refused call
    }
    ValueRef result;
    try {
      result = backend_.execute(action.op, operands)[0];
    } catch (...) {
      const auto name = std::string(op::name_of(action.op));
      outputs.push_back({prefix_ + name + " of action " + std::to_string(number),
                         {},
                         {},
                         describe(std::current_exception())});
    }
    results_.push_back(std::move(result));
  }

  void read(const ValueRef& value, std::string what) {
    Output out{std::move(what), {}, {}, {}};
    try {
      out.data = value->backend.read(value);
      const auto bottom = &value->backend == &backend_ && is_autodiff() ? autodiff::inner(value) : value;
      if (const auto* bounded = dynamic_cast<BoundedBackend*>(&bottom->backend))
        out.errors = bounded->errors(bottom);
    } catch (...) {
      out.error = describe(std::current_exception());
    }
    outputs.push_back(std::move(out));
  }
  bool is_autodiff() const { return dynamic_cast<autodiff::Autodiff*>(&backend_) != nullptr; }

  static ValueRef weighted_sum(const ValueRef& y) {
    // Multiples of 1/64 are exact however they are computed.
    const auto weights = bridge::iota(y->backend, y->shape.product(), DType::f64, 0.5, 1.0 / 64);
    const auto terms = bridge::mul(bridge::cast(y, DType::f64), bridge::reshape(weights, y->shape));
    return bridge::reduce_all(op::ReduceKind::sum, terms);
  }

  backend::Backend& backend_;
  std::vector<ValueRef> inputs_, results_;
  const std::string prefix_;
};

template <class T>
bool same(T a, T b) {
  if constexpr (std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16>) {
    return same(static_cast<float>(a), static_cast<float>(b));
  } else {
    return a == b || (a != a && b != b);
  }
}

/// The indices of elements that differ by more than their bound.
std::vector<std::size_t> differing(const Output& expected, const TensorData& actual, Verdict& verdict) {
  std::vector<std::size_t> out;
  visit_dtype(actual.dtype(), [&]<class T>() {
    const auto want = expected.data.as<T>(), got = actual.as<T>();
    for (std::size_t i = 0; i < want.size(); ++i) {
      const double e = expected.errors.empty() ? 0 : expected.errors[i];
      if (e == undetermined) {
        ++verdict.excluded;
        continue;
      }
      ++verdict.compared;
      if (same(want[i], got[i])) continue;
      if constexpr (is_float(dtype_of<T>())) {
        using Wide = std::conditional_t<std::is_same_v<T, double>, double, float>;
        if (std::abs(static_cast<Real>(static_cast<Wide>(want[i])) - static_cast<Wide>(got[i])) <= e)
          continue;
      }
      out.push_back(i);
    }
  });
  return out;
}

Outputs forward(Outputs outputs) {
  std::erase_if(outputs, [](const Output& o) { return o.backward; });
  return outputs;
}

std::string first_word(const std::string& text) { return text.substr(0, text.find(':')); }

std::string show(const Output& o) {
  if (!o.error.empty()) return o.error;
  constexpr std::int64_t few = 64;
  const auto type = op::TensorType{o.data.dtype(), o.data.shape()}.to_string();
  return o.data.size() <= few ? type + " " + o.data.to_string(9) : type;
}

std::string difference(const Output& expected, const Output& actual, Verdict& verdict) {
  std::string detail;
  if (!expected.error.empty() || !actual.error.empty()) {
    if (first_word(expected.error) == first_word(actual.error)) return {};
    detail = "one of them fails, or with another type of error";
  } else if (expected.data.dtype() != actual.data.dtype() || expected.data.shape() != actual.data.shape()) {
    detail = "types differ";
  } else {
    const auto where = differing(expected, actual.data, verdict);
    if (where.empty()) return {};
    const auto i = where.front();
    const auto bound = expected.errors.empty() ? 0 : expected.errors[i];
    detail = fmt::format("{} elements differ; element {}: {} against {}, allowed difference {}", where.size(),
                         i, expected.data.to_doubles()[i], actual.data.to_doubles()[i], bound);
  }
  return fmt::format("{}: {}\n  reference: {}\n  here:      {}", expected.label, detail, show(expected),
                     show(actual));
}

}  // namespace

Stack::Stack(std::string name, backend::Backend& backend, bool autodiff)
    : name_(std::move(name)), backend_(backend) {
  if (!autodiff) return;
  for (auto c : {Checkpointing::disabled, Checkpointing::balanced})
    with_gradients_[c == Checkpointing::balanced] = std::make_unique<autodiff::Autodiff>(backend, c);
}

Outputs Stack::run(const Program& program) {
  auto* ad = with_gradients_[program.checkpointing == Checkpointing::balanced].get();
  auto& backend = ad ? static_cast<backend::Backend&>(*ad) : backend_;
  std::vector<ValueRef> inputs;
  for (const auto& data : program.inputs) {
    inputs.push_back(backend.from_data(data));
    if (ad && is_float(data.dtype())) inputs.back() = autodiff::track(inputs.back());
  }
  // Only the bodies hold the inputs from here on, so that a drop is one; leaves stay for the gradients.
  std::vector<BodyRun> runs;
  for (std::size_t i = 0; i < program.bodies.size(); ++i) runs.emplace_back(backend, inputs, i);
  const auto leaves = ad ? inputs : std::vector<ValueRef>{};
  inputs.clear();
  const auto work = [&](std::size_t i) {
    runs[i].run(program.bodies[i]);
    if (ad) runs[i].differentiate(leaves);
  };
  if (runs.size() == 1) {
    work(0);
  } else {
    std::latch start(static_cast<std::ptrdiff_t>(runs.size()));
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < runs.size(); ++i) {
      threads.emplace_back([&, i] {
        start.arrive_and_wait();
        work(i);
      });
    }
  }
  Outputs all;
  for (auto& run : runs) std::ranges::move(run.outputs, std::back_inserter(all));
  return all;
}

/// Errors that come from elements: a device that computes at once throws them from the call, a lazy one from
/// the read if there is one. Nothing of such a program is compared.
bool depends_on_data(const Output& o) {
  return o.error.starts_with("IndexError") || o.error.starts_with("MatrixError");
}

Verdict compare(const std::string& stack, const Outputs& expected, const Outputs& actual) {
  Verdict verdict;
  if (std::ranges::any_of(expected, depends_on_data)) return verdict;
  const auto find = [](const Outputs& in, const std::string& label) {
    return std::ranges::find(in, label, &Output::label);
  };
  const auto complain = [&](const std::string& text) { verdict.mismatch = Mismatch{stack, text}; };
  for (const auto& want : expected) {
    const auto got = find(actual, want.label);
    if (got != actual.end()) {
      const auto text = difference(want, *got, verdict);
      if (!text.empty()) complain(text);
    } else {
      complain(want.label + " is missing; reference: " + show(want));
    }
    if (verdict.mismatch) return verdict;
  }
  for (const auto& got : actual) {
    if (find(expected, got.label) == expected.end()) {
      complain(got.label + " is not in the reference: " + show(got));
      return verdict;
    }
  }
  return verdict;
}

Verdict& operator+=(Verdict& total, const Verdict& one) {
  total.compared += one.compared;
  total.excluded += one.excluded;
  if (!total.mismatch) total.mismatch = one.mismatch;
  return total;
}

Rig::Rig(backend::Backend& reference)
    : bounded_(reference),
      plain_("reference", bounded_, false),
      with_gradients_("autodiff over the reference", bounded_, true) {}

void Rig::add(std::string name, backend::Backend& backend, bool autodiff) {
  stacks_.push_back({std::make_unique<Stack>(std::move(name), backend, autodiff)});
}

Verdict Rig::check(const Program& program, std::size_t turn) {
  Verdict total;
  std::optional<Outputs> plain, gradients;
  for (auto& held : stacks_) {
    if (turn % held.every != 0) continue;
    auto& expected = held.stack->has_gradients() ? gradients : plain;
    if (!expected) expected = (held.stack->has_gradients() ? with_gradients_ : plain_).run(program);
    total += compare(held.stack->name(), *expected, held.stack->run(program));
    if (total.mismatch) break;
  }
  if (plain && gradients && !total.mismatch)
    total += compare(with_gradients_.name(), *plain, forward(*gradients));
  return total;
}

Verdict Rig::check_on(const std::string& stack, const Program& program) {
  if (stack == with_gradients_.name())
    return compare(stack, plain_.run(program), forward(with_gradients_.run(program)));
  const auto held = std::ranges::find_if(stacks_, [&](const Held& h) { return h.stack->name() == stack; });
  STRATA_CHECK(held != stacks_.end());
  auto& reference = held->stack->has_gradients() ? with_gradients_ : plain_;
  const auto expected = reference.run(program);
  Verdict verdict;
  for (int attempt = 0; attempt < (program.bodies.size() > 1 ? 8 : 1) && !verdict.mismatch; ++attempt)
    verdict = compare(stack, expected, held->stack->run(program));
  return verdict;
}

}  // namespace strata::fuzz
