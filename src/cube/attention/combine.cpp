#include <limits>

#include "cube/attention/kernels.hpp"
#include "cube/emit_node.hpp"
#include "cube/grid.hpp"
#include "kernel/functions.hpp"

namespace strata::cube::attention {

using kernel::Val;
using kernel::Var;

KernelKey combine_key(const CombineForm& form) {
  KernelKeyHasher h("attention_combine");
  h.add(form.dtype);
  h.add(form.units);
  h.add(form.index);
  return h.key();
}

kernel::Kernel build_combine(const CombineForm& form) {
  kernel::Builder b("attention_combine_" + std::string(name_of(form.dtype)),
                    {static_cast<std::uint32_t>(form.units), 1, 1});
  const auto scalar = compute_scalar(form.dtype);
  const auto out = b.write("out", kernel::scalar_of(form.dtype)), log_sum = b.write("log_sum", scalar),
             outs = b.read("outs", scalar), log_sums = b.read("log_sums", scalar);
  const auto argument = [&](const char* name) { return b.scalar(name, form.index); };
  const Val total = argument("total"), width = argument("width"), rows = argument("rows"),
            parts = argument("parts");
  const auto number = [&](double x) { return kernel::constant(kernel::make_type(scalar), x); };
  const auto index = [&](int x) { return kernel::constant(kernel::make_type(form.index), x); };
  const Val lowest = number(-std::numeric_limits<double>::infinity());
  for_each_element(total, [&](Val at) {
    Digits digits(at);
    const Val element = digits.next(width), line = digits.rest(), row = digits.next(rows),
              matrix = digits.rest();
    const auto part_of = [&](Val part) { return (matrix * parts + part) * rows + row; };
    const Var top(lowest), sum(number(0)), value(number(0));
    kernel::for_(index(0), parts, index(1),
                 [&](Val part) { top = kernel::max(top, log_sums.load(part_of(part))); });
    const Val base = kernel::select(top.get() == lowest, 0, top.get());  // nobody looked anywhere
    kernel::for_(index(0), parts, index(1), [&](Val part) {
      const Val weight = kernel::exp_below_zero(log_sums.load(part_of(part)) - base);
      sum += weight;
      value = kernel::fma(weight, outs.load(part_of(part) * width + element), value);
    });
    const Val none = sum.get() == 0;
    out.store(at, narrow(kernel::select(none, 0, value / sum), form.dtype));
    kernel::if_(element == 0,
                [&] { log_sum.store(line, kernel::select(none, lowest, base + kernel::log(sum))); });
  });
  return b.finish();
}

}  // namespace strata::cube::attention
