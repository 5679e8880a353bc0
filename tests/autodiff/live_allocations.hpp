/// How many blocks from operator new this test program holds: shows what a scope left behind.
#pragma once

#include <cstdint>

namespace strata::testing {

std::int64_t live_allocations();

}  // namespace strata::testing
