#include "trace/log.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <exception>
#include <iterator>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_set>

#include "trace/thread.hpp"

// One write(2) a line keeps lines of several threads and processes whole, and needs no logger object, no
// registry and no work at start-up: that is why no logging library stands here.

namespace strata::trace::log {
namespace detail {

constinit std::array<std::atomic<std::uint8_t>, topic_count> levels = {unread, unread, unread, unread,
                                                                       unread};

namespace {

constexpr std::array<std::string_view, topic_count> topic_names = {"compile", "tune", "fusion", "runtime",
                                                                   "cache"};
constexpr std::array<std::string_view, 4> level_names = {"off", "warn", "info", "full"};
constexpr const char* accepted =
    "expected <topic>=<level> with topics compile, tune, fusion, runtime, cache or all and levels off, warn, "
    "info or "
    "full; a level alone; or file=<path>";

// Never destroyed: messages may be written while the program exits.
struct Sink {
  std::mutex mutex;
  int file = STDERR_FILENO;
  std::unordered_set<std::string> given;  // keys of warn_once
};

Sink& sink() {
  static auto* const instance = new Sink;
  return *instance;
}

template <std::size_t N>
std::optional<std::size_t> index_of(const std::array<std::string_view, N>& names, std::string_view name) {
  for (std::size_t i = 0; i < N; ++i) {
    if (names[i] == name) return i;
  }
  return std::nullopt;
}

void set_all(std::size_t level) {
  for (auto& topic : levels) topic.store(static_cast<std::uint8_t>(level), std::memory_order_relaxed);
}

void write_line(std::string_view line) noexcept {
  const int file = sink().file;
  while (::write(file, line.data(), line.size()) < 0 && errno == EINTR) {
  }
}

void complain(std::string_view part, std::string_view why) {
  write_line(fmt::format("strata warning: STRATA_LOG: '{}' is ignored: {}\n", part, why));
}

void open_file(std::string_view part, std::string_view path) {
  const int file = open(std::string(path).c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (file < 0) {
    complain(part, std::strerror(errno));
    return;
  }
  if (sink().file != STDERR_FILENO) close(sink().file);
  sink().file = file;
}

void apply(std::string_view part) {
  const auto equals = part.find('=');
  if (equals == std::string_view::npos) {
    if (const auto level = index_of(level_names, part)) return set_all(*level);
    return complain(part, accepted);
  }
  const auto key = part.substr(0, equals), value = part.substr(equals + 1);
  if (key == "file") return open_file(part, value);
  const auto level = index_of(level_names, value);
  const auto topic = index_of(topic_names, key);
  if (!level || (!topic && key != "all")) return complain(part, accepted);
  if (!topic) return set_all(*level);
  levels[*topic].store(static_cast<std::uint8_t>(*level), std::memory_order_relaxed);
}

/// With the sink's mutex held.
void configure_locked(std::string_view spec) {
  if (sink().file != STDERR_FILENO) {
    close(sink().file);
    sink().file = STDERR_FILENO;
  }
  set_all(static_cast<std::size_t>(Level::warn));
  while (!spec.empty()) {
    const auto comma = spec.find(',');
    const auto part = spec.substr(0, comma);
    if (!part.empty()) apply(part);
    spec = comma == std::string_view::npos ? std::string_view{} : spec.substr(comma + 1);
  }
}

void read_environment() {
  const std::lock_guard lock(sink().mutex);
  if (levels[0].load(std::memory_order_relaxed) != unread)
    return;  // another thread, or configure(), was first
  const char* spec = std::getenv("STRATA_LOG");
  configure_locked(spec ? spec : "");
}

/// Local time to the microsecond.
std::string clock_text() {
  const auto now = std::chrono::system_clock::now();
  const auto micros = std::chrono::duration_cast<std::chrono::microseconds>(now.time_since_epoch()).count();
  const std::time_t seconds = static_cast<std::time_t>(micros / 1'000'000);
  std::tm parts{};
  localtime_r(&seconds, &parts);
  return fmt::format("{:02}:{:02}:{:02}.{:06}", parts.tm_hour, parts.tm_min, parts.tm_sec,
                     micros % 1'000'000);
}

}  // namespace

bool enabled_slow(Topic topic, Level level) noexcept {
  if (trace::detail::suspended != 0 && level != Level::warn) return false;
  auto& current = levels[static_cast<std::size_t>(topic)];
  if (current.load(std::memory_order_relaxed) == unread) read_environment();
  return static_cast<std::uint8_t>(level) <= current.load(std::memory_order_relaxed);
}

void write(Topic topic, Level level, fmt::string_view format, fmt::format_args args) noexcept {
  try {
    const auto name = topic_names[static_cast<std::size_t>(topic)];
    std::string line = level == Level::warn ? fmt::format("strata warning [{}] ", name)
                                            : fmt::format("{} {} [{}] ", clock_text(), thread_name(), name);
    fmt::vformat_to(std::back_inserter(line), format, args);
    line += '\n';
    const std::lock_guard lock(sink().mutex);
    write_line(line);
  } catch (const std::exception&) {
    write_line("strata warning: a log message was lost: it could not be formatted\n");
  }
}

bool first_time(std::string_view key) noexcept {
  try {
    const std::lock_guard lock(sink().mutex);
    return sink().given.emplace(key).second;
  } catch (const std::exception&) {
    return true;  // out of memory: better twice than never
  }
}

}  // namespace detail

void configure(std::string_view spec) {
  const std::lock_guard lock(detail::sink().mutex);
  detail::configure_locked(spec);
}

}  // namespace strata::trace::log
