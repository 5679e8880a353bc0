#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "bridge/bridge.hpp"
#include "strata/detail/ops.hpp"
#include "strata/error.hpp"

namespace strata::detail {
namespace {

/// A tensor whose axes have names.
struct Named {
  ValueRef value;
  std::string labels;

  bool has(char c) const { return labels.find(c) != std::string::npos; }
  std::int64_t extent(char c) const { return value->shape[static_cast<int>(labels.find(c))]; }
};

[[noreturn]] void refuse(const std::string& equation, const std::string& what) {
  throw ArgumentError(fmt::format("[einsum] {} in \"{}\"", what, equation));
}

/// Operand labels and result labels; without an arrow the result has the labels that occur once, sorted.
std::pair<std::vector<std::string>, std::string> parse(const std::string& equation) {
  std::string text;
  for (char c : equation) {
    if (c != ' ') text += c;
  }
  const auto arrow = text.find("->");
  const auto left = text.substr(0, arrow);
  std::vector<std::string> operands(1);
  for (char c : left) {
    if (c == ',') {
      operands.emplace_back();
    } else if (std::isalpha(static_cast<unsigned char>(c))) {
      operands.back() += c;
    } else {
      refuse(equation, fmt::format("'{}' is neither a letter nor a comma", c));
    }
  }
  std::string result;
  if (arrow != std::string::npos) {
    result = text.substr(arrow + 2);
    for (char c : result) {
      if (left.find(c) == std::string::npos || c == ',' || std::ranges::count(result, c) > 1) {
        refuse(equation, fmt::format("result label '{}' is unknown or repeated", c));
      }
    }
  } else {
    for (char c : left) {
      if (c != ',' && std::ranges::count(left, c) == 1) result += c;
    }
    std::ranges::sort(result);
  }
  return {operands, result};
}

/// Axes in the order of `labels`, which name the same axes.
Named ordered(const Named& x, const std::string& labels) {
  if (x.labels == labels) return x;
  Axes order;
  for (char c : labels) order.push_back(static_cast<std::int64_t>(x.labels.find(c)));
  return {bridge::permute(x.value, order), labels};
}

/// Takes the diagonal of axes that share a label.
Named without_repeats(Named x) {
  for (std::size_t i = 0; i < x.labels.size(); ++i) {
    const auto j = x.labels.find(x.labels[i], i + 1);
    if (j == std::string::npos) continue;
    const int last = x.value->shape.rank() - 1;
    auto moved = move_axis(move_axis(x.value, static_cast<int>(j), last), static_cast<int>(i), last - 1);
    const char label = x.labels[i];
    x.labels.erase(j, 1);
    x.labels.erase(i, 1);
    x = {diagonal(moved, 0), x.labels + label};
    i = static_cast<std::size_t>(-1);  // from the start
  }
  return x;
}

/// Sums over the labels that nobody asks for.
Named reduced(const Named& x, const std::string& wanted) {
  Axes axes;
  std::string kept;
  for (std::size_t i = 0; i < x.labels.size(); ++i) {
    if (wanted.find(x.labels[i]) == std::string::npos) {
      axes.push_back(static_cast<std::int64_t>(i));
    } else {
      kept += x.labels[i];
    }
  }
  if (axes.empty()) return x;
  return {bridge::reduce(op::ReduceKind::sum, x.value, axes, false), kept};
}

std::int64_t product(const Named& x, const std::string& labels) {
  std::int64_t n = 1;
  for (char c : labels) n *= x.extent(c);
  return n;
}

/// One matrix product: labels of both that are wanted are its batch, the other common ones are summed.
Named contract(const Named& a, const Named& b, const std::string& wanted) {
  std::string batch, summed, rows, columns;
  for (char c : a.labels) (!b.has(c) ? rows : wanted.find(c) != std::string::npos ? batch : summed) += c;
  for (char c : b.labels) {
    if (!a.has(c)) columns += c;
  }
  const auto m = product(a, rows), n = product(b, columns), k = product(a, summed), count = product(a, batch);
  const auto left = bridge::reshape(ordered(a, batch + rows + summed).value, {count, m, k});
  const auto right = bridge::reshape(ordered(b, batch + summed + columns).value, {count, k, n});
  Shape shape;
  for (char c : batch + rows) shape.push_back(a.extent(c));
  for (char c : columns) shape.push_back(b.extent(c));
  return {bridge::reshape(bridge::matmul(left, right), shape), batch + rows + columns};
}

}  // namespace

ValueRef einsum(const std::string& equation, const std::vector<ValueRef>& operands) {
  const auto [labels, result] = parse(equation);
  if (labels.size() != operands.size()) {
    refuse(equation, fmt::format("{} operands are named, {} given", labels.size(), operands.size()));
  }
  std::map<char, std::int64_t> extents;
  std::vector<Named> terms;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const auto& shape = operands[i]->shape;
    if (labels[i].size() != static_cast<std::size_t>(shape.rank())) {
      refuse(equation,
             fmt::format("operand {} of shape {} has labels \"{}\"", i, shape.to_string(), labels[i]));
    }
    for (int axis = 0; axis < shape.rank(); ++axis) {
      const auto known = extents.emplace(labels[i][static_cast<std::size_t>(axis)], shape[axis]).first;
      if (known->second != shape[axis]) {
        throw ShapeError(fmt::format("[einsum] label '{}' has extents {} and {} in \"{}\"", known->first,
                                     known->second, shape[axis], equation));
      }
    }
    terms.push_back(without_repeats({operands[i], labels[i]}));
  }
  // From left to right; before each product whatever nobody needs any more is summed away.
  auto x = terms[0];
  for (std::size_t i = 1; i < terms.size(); ++i) {
    std::string later = result;
    for (std::size_t k = i + 1; k < terms.size(); ++k) later += terms[k].labels;
    x = contract(reduced(x, later + terms[i].labels), reduced(terms[i], later + x.labels), later);
  }
  return ordered(reduced(x, result), result).value;
}

}  // namespace strata::detail
