#include "autodiff/gradients.hpp"

#include <fmt/format.h>

#include "autodiff/autodiff.hpp"
#include "dispatch/entry.hpp"
#include "strata/detail/ops.hpp"
#include "strata/error.hpp"

namespace strata::detail {
namespace {

/// The values under the autodiff layers, where no graph hangs on any of them.
ValueRef strip(ValueRef v, const dispatch::Entry*& entry) {
  while (entry->inner()) {
    if (autodiff::is_tracked(v)) {
      throw ArgumentError(fmt::format(
          "[to_device] a tracked tensor of shape {} would lose its graph on the way from {}; move it before "
          "require_grad(), or detach() it",
          v->shape.to_string(), entry->name()));
    }
    v = autodiff::inner(v);
    entry = entry->inner();
  }
  return v;
}

ValueRef place(const ValueRef& v, const dispatch::Entry& source, const dispatch::Entry& target) {
  if (target.inner()) {
    return static_cast<autodiff::Autodiff&>(target.backend()).lift(place(v, source, *target.inner()));
  }
  if (&source == &target) return v;
  auto copy = target.backend().from_peer(v);
  return copy ? copy : target.backend().from_data(v->backend.into_data(v).get());
}

}  // namespace

ValueRef to_device(const ValueRef& v, const Device& device) {
  const auto* source = &dispatch::entry_of(v->backend);
  if (source == &device.entry()) return v;
  const auto bare = strip(v, source);
  return place(bare, *source, device.entry());
}

ValueRef require_grad(const ValueRef& x) { return autodiff::track(x); }
bool is_tracked(const ValueRef& x) { return autodiff::is_tracked(x); }
ValueRef detach(const ValueRef& x) {
  return dispatch::entry_of(x->backend).inner() ? autodiff::detach(x) : x;
}
void retain_grad(const ValueRef& x) { autodiff::retain_grad(x); }
ValueRef custom_gradient(const std::vector<ValueRef>& inputs, const autodiff::Function& function,
                         const autodiff::GradientFunction& gradients) {
  return autodiff::custom_gradient(inputs, function, gradients);
}
ValueRef inner(const ValueRef& x) { return autodiff::inner(x); }
std::shared_ptr<const autodiff::Gradients> backward(const ValueRef& x) {
  return std::make_shared<const autodiff::Gradients>(autodiff::backward(x));
}
ValueRef gradient_of(const autodiff::Gradients& gradients, const ValueRef& x) { return gradients.get(x); }

}  // namespace strata::detail
