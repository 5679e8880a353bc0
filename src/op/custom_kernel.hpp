/// Kernels that callers wrote; see strata/launch.hpp.
#pragma once

#include <memory>
#include <vector>

#include "op/common.hpp"
#include "strata/kernel.hpp"

namespace strata::op {

/// One launch of `call->kernel`. Inputs are the tensors of its In and InOut arguments in order, read
/// row-major; outputs those of InOut (which start as copies of the inputs) and Out, in order. What the kernel
/// leaves unwritten of an Out is unspecified.
struct CustomKernel {
  struct Call {
    lang::Kernel kernel;
    lang::Grid grid;
    std::vector<Shape> made;            ///< of each Out, in order
    std::vector<std::int64_t> scalars;  ///< the bits of each Scalar, in order
  };
  std::shared_ptr<const Call> call;

  /// The same content.
  bool operator==(const CustomKernel& o) const;
};

TensorTypes infer(const CustomKernel&, const Site&);

}  // namespace strata::op
