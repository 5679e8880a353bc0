#include "output.hpp"

#include <unistd.h>

#include <charconv>
#include <cstdio>

#include "strata/error.hpp"

namespace strata::tool {

std::string format_seconds(double s) {
  if (s < 1e-6) return fmt::format("{:.0f} ns", s * 1e9);
  if (s < 1e-3) return fmt::format("{:.2f} us", s * 1e6);
  if (s < 1) return fmt::format("{:.2f} ms", s * 1e3);
  return fmt::format("{:.2f} s", s);
}

std::array<std::int64_t, 3> parse_shape(std::string_view text) {
  std::array<std::int64_t, 3> out{};
  std::size_t count = 0;
  const char* at = text.data();
  const char* end = at + text.size();
  while (count < 3) {
    const auto [next, error] = std::from_chars(at, end, out[count]);
    if (error != std::errc() || out[count] < 0) break;
    ++count;
    at = next;
    if (at == end || *at != 'x') break;
    ++at;
  }
  if (count == 0 || at != end) {
    throw ArgumentError(fmt::format("\"{}\" is not a shape; write MxNxK, e.g. 1024x1024x512", text));
  }
  if (count == 1) out[1] = out[0];
  if (count < 3) out[2] = out[0];
  return out;
}

DType parse_dtype(std::string_view text) {
  std::string known;
  for (int i = 0; i < dtype_count; ++i) {
    const auto t = static_cast<DType>(i);
    if (name_of(t) == text) return t;
    known += (i ? ", " : "") + std::string(name_of(t));
  }
  throw ArgumentError(fmt::format("there is no dtype \"{}\"; known: {}", text, known));
}

Progress::Progress(std::string_view what) : shown_(isatty(STDERR_FILENO) != 0) {
  if (shown_) std::fprintf(stderr, "%.*s ...", static_cast<int>(what.size()), what.data());
}
Progress::~Progress() {
  if (shown_) std::fputs("\r\033[K", stderr);
}

}  // namespace strata::tool
