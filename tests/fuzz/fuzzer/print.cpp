#include "fuzz/fuzzer/print.hpp"

#include <cmath>

#include "fuzz/fuzzer/literals.hpp"
#include "fuzz/fuzzer/rules.hpp"

namespace strata::fuzz {
namespace {

std::string name(ValueId id) {
  return is_input(id) ? fmt::format("in{}", input_index(id)) : fmt::format("v{}", id);
}

template <class T>
std::string element(T v) {
  if constexpr (std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16>) {
    return fmt::format("{}({})", std::is_same_v<T, Float16> ? "Float16" : "BFloat16",
                       element(static_cast<float>(v)));
  } else if constexpr (std::is_same_v<T, bool>) {
    return literal(v);
  } else if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(v)) return "NAN";
    if (std::isinf(v)) return v < 0 ? "-INFINITY" : "INFINITY";
    auto text = fmt::format("{}", v);
    if (text.find_first_of(".e") == std::string::npos) text += ".0";
    return std::is_same_v<T, float> ? text + "f" : text;
  } else {
    return literal(op::Number(static_cast<std::int64_t>(v)));
  }
}
template <>
std::string element(std::uint8_t v) {
  return fmt::format("{}", v);
}
template <>
std::string element(std::int32_t v) {
  return v == std::numeric_limits<std::int32_t>::min() ? "std::numeric_limits<std::int32_t>::min()"
                                                       : fmt::format("{}", v);
}

std::string to_string(const Action& action, ValueId& made) {
  if (action.kind == Action::Kind::drop) return "drop " + name(action.value);
  if (action.kind == Action::Kind::read) return "read " + name(action.value);
  std::string operands;
  for (auto id : action.operands) operands += (operands.empty() ? "" : ", ") + name(id);
  return fmt::format("{} = {} of ({})", name(made++), op::to_string(action.op), operands);
}

std::string_view cpp_name(DType t) {
  constexpr std::string_view names[] = {"double",       "float",        "Float16",      "BFloat16",
                                        "std::int64_t", "std::int32_t", "std::uint8_t", "bool"};
  return names[static_cast<int>(t)];
}

std::string input_line(std::size_t i, const TensorData& data) {
  std::string elements;
  visit_dtype(data.dtype(), [&]<class T>() {
    for (auto v : data.as<T>()) elements += (elements.empty() ? "" : ", ") + element<T>(v);
  });
  return fmt::format("  const auto in{} = TensorData::from<{}>({{{}}}, {});\n", i, cpp_name(data.dtype()),
                     elements, literal(data.shape()));
}

std::string action_lines(const Body& body, const std::string& indent) {
  std::string out;
  ValueId next = 0;
  for (const auto& action : body.actions) {
    switch (action.kind) {
      case Action::Kind::execute: {
        std::string operands;
        for (auto id : action.operands) operands += (operands.empty() ? "" : ", ") + name(id);
        out += fmt::format("{}auto {} = run({}, {{{}}});\n", indent, name(next++),
                           family_of(action.op).literal(action.op), operands);
        break;
      }
      case Action::Kind::drop:
        out += fmt::format("{}{} = {{}};\n", indent, name(action.value));
        break;
      case Action::Kind::read:
        out += fmt::format("{}out.push_back(b.read({}));\n", indent, name(action.value));
        break;
    }
  }
  return out;
}

}  // namespace

std::string listing(const Program& program) {
  std::string out = fmt::format("seed {}\n", program.seed);
  for (std::size_t i = 0; i < program.inputs.size(); ++i) {
    const auto& data = program.inputs[i];
    out += fmt::format("  in{}: {}\n", i, op::TensorType{data.dtype(), data.shape()}.to_string());
  }
  for (std::size_t b = 0; b < program.bodies.size(); ++b) {
    ValueId made = 0;
    out += fmt::format("  body {}\n", b);
    for (const auto& action : program.bodies[b].actions) out += "    " + to_string(action, made) + "\n";
  }
  return out;
}

std::string to_cpp(const Program& program, const std::string& comment) {
  std::string out;
  for (std::size_t at = 0; at < comment.size();) {
    const auto end = std::min(comment.find('\n', at), comment.size());
    out += "// " + comment.substr(at, end - at) + "\n";
    at = end + 1;
  }
  out += fmt::format("TEST(Fuzz, Seed{}) {{\n", program.seed);
  for (std::size_t i = 0; i < program.inputs.size(); ++i) out += input_line(i, program.inputs[i]);
  std::string arguments, parameters;
  for (std::size_t i = 0; i < program.inputs.size(); ++i) {
    arguments += fmt::format(", b.from_data(in{})", i);
    parameters += fmt::format(", backend::ValueRef in{}", i);
  }
  out += "  using Results = std::vector<TensorData>;\n";
  const bool threads = program.bodies.size() > 1;
  for (std::size_t i = 0; i < program.bodies.size(); ++i) {
    out += fmt::format("  const auto body{} = [](backend::Backend& b{}) {{\n", i, parameters);
    out +=
        "    const auto run = [&](const op::Operation& op, const std::vector<backend::ValueRef>& operands) "
        "{\n"
        "      return backend::execute(b, op, operands)[0];\n    };\n    Results out;\n";
    out += action_lines(program.bodies[i], "    ") + "    return out;\n  };\n";
  }
  out += "  const auto program = [&](backend::Backend& b) {\n";
  if (!threads) {
    out += fmt::format("    return body0(b{});\n", arguments);
  } else {
    for (std::size_t i = 0; i < program.inputs.size(); ++i)
      out += fmt::format("    const auto shared{} = b.from_data(in{});\n", i, i);
    std::string shared;
    for (std::size_t i = 0; i < program.inputs.size(); ++i) shared += fmt::format(", shared{}", i);
    out += fmt::format(
        "    std::vector<Results> results({});\n    {{\n      std::vector<std::jthread> threads;\n",
        program.bodies.size());
    for (std::size_t i = 0; i < program.bodies.size(); ++i)
      out += fmt::format("      threads.emplace_back([&] {{ results[{}] = body{}(b{}); }});\n", i, i, shared);
    out +=
        "    }\n    Results all;\n    for (auto& part : results) all.insert(all.end(), part.begin(), "
        "part.end());\n"
        "    return all;\n";
  }
  out +=
      "  };\n  const auto expected = program(flex::instance()), actual = program(fusion::test::fused());\n"
      "  ASSERT_EQ(expected.size(), actual.size());\n"
      "  for (std::size_t i = 0; i < expected.size(); ++i)\n"
      "    EXPECT_EQ(expected[i].to_string(9), actual[i].to_string(9)) << \"output \" << i;\n}\n";
  return out;
}

}  // namespace strata::fuzz
