/// Philox4x32-10 in the kernel language (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC
/// 2011).
#pragma once

#include "kernel/builder.hpp"

namespace strata::cube {

struct RandomWords {
  kernel::Val w0, w1;  ///< u32, one pair a lane
};

/// The two words that element number `position` (i64, one a lane) takes from the stream of `seed` (u64,
/// scalar).
RandomWords random_words(kernel::Val position, kernel::Val seed);

}  // namespace strata::cube
