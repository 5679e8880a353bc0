/// What strata does, as it does it: spans (work with a begin and an end) and instants from every layer.
///
/// Tracing is off until someone subscribes, or until the environment asks for it: STRATA_TRACE=text prints to
/// stderr, STRATA_TRACE=<path> writes a Chrome trace to the path (open it in https://ui.perfetto.dev). The
/// variable is read at the first span, not at start-up. All functions here may be called from any thread,
/// while others emit.
#pragma once

#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "strata/config.hpp"

namespace strata::trace {

/// A named value attached to a span, such as kernel = "matmul_128x64" or bytes = 4096.
struct Field {
  std::string_view key;  ///< lives as long as the program
  std::variant<std::string, std::int64_t, double> value;
};

/// One span that has ended, or one instant. May be copied and kept.
struct Event {
  std::string_view layer;       ///< "tensor", "fusion", "runtime" ...; lives as long as the program
  std::string_view name;        ///< "execute", "compile", "launch" ...; lives as long as the program
  std::string thread;           ///< "main", "DSU-cpu", ...
  std::uint64_t thread_id = 0;  ///< as the system counts
  int depth = 0;                ///< how many spans of the same thread were open around it
  bool instant = false;         ///< then begin_ns == end_ns
  std::int64_t begin_ns = 0;    ///< steady clock
  std::int64_t end_ns = 0;
  std::vector<Field> fields;
};

namespace detail {
class Subscriber;
}

/// Keeps a subscription going; ends it when destroyed. Once the end is over, every event that had ended
/// before has been handed over and the subscriber runs no more. May be ended from inside its own callback.
class STRATA_API Subscription {
 public:
  Subscription() = default;
  Subscription(Subscription&&) noexcept = default;
  Subscription& operator=(Subscription&& other) noexcept;
  ~Subscription();
  /// Ends the subscription now.
  void reset() noexcept;
  bool active() const noexcept { return subscriber_ != nullptr; }

  /// For the library's own sinks.
  explicit Subscription(std::shared_ptr<detail::Subscriber> subscriber) noexcept;

 private:
  std::shared_ptr<detail::Subscriber> subscriber_;
};

/// Calls `callback` for every span that begins after this call, when it ends, on the thread that ran it;
/// never two calls of one callback at once. Spans of the callback's own work are not traced. What it throws
/// is reported once in the log.
[[nodiscard]] STRATA_API Subscription subscribe(std::function<void(const Event&)> callback);

/// Records to a file in the Chrome trace format; the file is complete when the subscription ends.
/// Throws IoError when the file cannot be created. A later failure (a full disk) warns once and ends the
/// recording.
[[nodiscard]] STRATA_API Subscription write_chrome_json(const std::string& path);

/// Prints readable lines to `file` (stderr, say), indented by depth: each outermost span with all it contains
/// when it ends. Columns: thread, microseconds since the first line, layer and name, duration in
/// microseconds, fields.
[[nodiscard]] STRATA_API Subscription print_to(std::FILE* file);

}  // namespace strata::trace
