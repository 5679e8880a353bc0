#include "flex/layout.hpp"

#include "flex/copy.hpp"

namespace strata::flex {

FlexRef run(const op::Reshape& op, backend::Inputs inputs, const op::TensorType&) {
  const auto& x = flex(inputs[0]);
  op::View view;
  if (x.contiguous() || op::reshaped(x.view(), op.shape, view)) {
    if (x.contiguous()) view = {op.shape, op::contiguous_strides(op.shape), 0};
    return FlexValue::view_of(x, view);
  }
  const auto packed = contiguous(x, "reshape");
  return FlexValue::view_of(*packed, {op.shape, op::contiguous_strides(op.shape), 0});
}

FlexRef run(const op::Permute& op, backend::Inputs inputs, const op::TensorType&) {
  const auto& x = flex(inputs[0]);
  return FlexValue::view_of(x, op::permuted(x.view(), op));
}
FlexRef run(const op::Expand& op, backend::Inputs inputs, const op::TensorType&) {
  const auto& x = flex(inputs[0]);
  return FlexValue::view_of(x, op::expanded(x.view(), op));
}
FlexRef run(const op::Slice& op, backend::Inputs inputs, const op::TensorType&) {
  const auto& x = flex(inputs[0]);
  return FlexValue::view_of(x, op::sliced(x.view(), op));
}
FlexRef run(const op::Flip& op, backend::Inputs inputs, const op::TensorType&) {
  const auto& x = flex(inputs[0]);
  return FlexValue::view_of(x, op::flipped(x.view(), op));
}

FlexRef run(const op::Unfold& op, backend::Inputs inputs, const op::TensorType&) {
  const auto& x = flex(inputs[0]);
  return FlexValue::view_of(x, op::unfolded(x.view(), op));
}

FlexRef run(const op::Cat& op, backend::Inputs inputs, const op::TensorType& type) {
  auto out = FlexValue::make(inputs[0]->backend, type, "cat");
  const auto strides = out->strides();
  std::int64_t offset = 0;  // in bytes
  for (const auto& input : inputs) {
    const auto& x = flex(input);
    if (x.size() > 0) copy_elements(x, out->data() + offset, strides);
    offset += x.shape[op.axis] * strides[op.axis] * static_cast<std::int64_t>(size_of(type.dtype));
  }
  return out;
}

}  // namespace strata::flex
