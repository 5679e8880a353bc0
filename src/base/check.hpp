/// Internal invariants: STRATA_CHECK throws InternalError with file and line.
#pragma once

#include "strata/error.hpp"

namespace strata::base {
[[noreturn]] void fail_check(const char* condition, const char* file, int line);
}

#define STRATA_CHECK(condition)                                        \
  do {                                                                 \
    if (!(condition)) [[unlikely]]                                     \
      ::strata::base::fail_check(#condition, __FILE_NAME__, __LINE__); \
  } while (false)
