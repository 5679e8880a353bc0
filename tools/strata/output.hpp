/// Helpers the commands share.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "strata/dtype.hpp"

namespace strata::tool {

using Clock = std::chrono::steady_clock;

inline double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// "412 ns", "3.1 us", "18.4 ms", "2.05 s".
std::string format_seconds(double seconds);

/// "1024x1024x512" to {m, n, k}; a single number or two stand for square operands. Throws ArgumentError.
std::array<std::int64_t, 3> parse_shape(std::string_view text);
/// Throws ArgumentError naming the dtypes there are.
DType parse_dtype(std::string_view text);

/// One line on stderr while something takes long, when a person watches; gone when it ends.
class Progress {
 public:
  explicit Progress(std::string_view what);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

 private:
  bool shown_ = false;
};

}  // namespace strata::tool
