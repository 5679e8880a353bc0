/// The result of a backward pass.
#pragma once

#include <unordered_map>

#include "backend/backend.hpp"

namespace strata::autodiff {

class Node;

/// Gradients of leaves and of values given to `retain_grad`, on the backend under the Autodiff.
class Gradients {
 public:
  Gradients();
  ~Gradients();
  Gradients(Gradients&&) noexcept;
  Gradients& operator=(Gradients&&) noexcept;

  /// The gradient of `value`, with its shape and dtype. Throws ArgumentError when there is none, saying why.
  backend::ValueRef get(const backend::ValueRef& value) const;
  /// The same, but null where `value` is tracked and the root does not depend on it.
  backend::ValueRef find(const backend::ValueRef& value) const;
  void add(Node& node, backend::ValueRef gradient);

 private:
  struct Entry {
    backend::Ref<Node> node;  // keeps the key's address from being used again
    backend::ValueRef gradient;
  };
  std::unordered_map<const Node*, Entry> entries_;
};

}  // namespace strata::autodiff
