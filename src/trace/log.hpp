/// Logging by topic: STRATA_LOG=compile=full,tune=info,file=strata.log (topics below, or `all`; levels off,
/// warn, info, full; a level alone means every topic). Default: warnings, to stderr. The variable is read at
/// the first check. A message that is off costs one load and one branch; nothing is formatted. Lines are
/// written whole.
#pragma once

#include <fmt/core.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <string_view>

namespace strata::trace::log {

enum class Topic : std::uint8_t { compile, tune, fusion, runtime, cache };
inline constexpr std::size_t topic_count = 5;
enum class Level : std::uint8_t { off, warn, info, full };

namespace detail {
inline constexpr std::uint8_t unread =
    0xff;  // lets everything through to the slow check, which reads STRATA_LOG
extern std::array<std::atomic<std::uint8_t>, topic_count> levels;

bool enabled_slow(Topic topic, Level level) noexcept;
void write(Topic topic, Level level, fmt::string_view format, fmt::format_args args) noexcept;
/// Takes `key` out of the set of warnings not given yet; false when it was given before.
bool first_time(std::string_view key) noexcept;
}  // namespace detail

/// True when a message of this topic and level would be written. For work that only feeds messages.
inline bool enabled(Topic topic, Level level) noexcept {
  const auto current = detail::levels[static_cast<std::size_t>(topic)].load(std::memory_order_relaxed);
  if (static_cast<std::uint8_t>(level) > current) [[likely]]
    return false;
  return detail::enabled_slow(topic, level);
}

/// Something went wrong and strata goes on without it.
template <class... Args>
void warn(Topic topic, fmt::format_string<Args...> format, Args&&... args) noexcept {
  if (enabled(topic, Level::warn)) detail::write(topic, Level::warn, format, fmt::make_format_args(args...));
}
/// Decisions and results: one line for a kernel tuned, a plan made.
template <class... Args>
void info(Topic topic, fmt::format_string<Args...> format, Args&&... args) noexcept {
  if (enabled(topic, Level::info)) detail::write(topic, Level::info, format, fmt::make_format_args(args...));
}
/// Everything: IR, each candidate, each hit.
template <class... Args>
void full(Topic topic, fmt::format_string<Args...> format, Args&&... args) noexcept {
  if (enabled(topic, Level::full)) detail::write(topic, Level::full, format, fmt::make_format_args(args...));
}

/// A warning given at most once per process for each `key`.
template <class... Args>
void warn_once(Topic topic, std::string_view key, fmt::format_string<Args...> format,
               Args&&... args) noexcept {
  if (enabled(topic, Level::warn) && detail::first_time(key)) {
    detail::write(topic, Level::warn, format, fmt::make_format_args(args...));
  }
}

/// Replaces what STRATA_LOG said. A malformed part is skipped with a warning that names what is accepted.
void configure(std::string_view spec);

}  // namespace strata::trace::log
