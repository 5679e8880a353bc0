/// Spans: `trace::Span span("runtime", "launch"); span.field("kernel", name);` marks the work of the
/// enclosing scope. With tracing off a span costs one predictable branch: no clock, no allocation, no call.
#pragma once

#include <atomic>
#include <concepts>
#include <cstdint>
#include <string_view>

#include "trace/thread.hpp"

namespace strata::trace {

struct Event;

namespace detail {
enum class State : std::uint8_t {
  unknown,  ///< the environment has not been read
  off,
  on,
};
extern std::atomic<State> state;

Event* begin(const char* layer, const char* name) noexcept;
void end(Event* event) noexcept;
void instant(const char* layer, const char* name) noexcept;
void add_field(Event* event, const char* key, std::string_view value) noexcept;
void add_field(Event* event, const char* key, std::int64_t value) noexcept;
void add_field(Event* event, const char* key, double value) noexcept;
}  // namespace detail

/// True when some sink listens (reads the environment at the first call). For work that only feeds fields.
inline bool active() noexcept {
  return detail::state.load(std::memory_order_relaxed) != detail::State::off && detail::suspended == 0;
}

/// Work with a begin (construction) and an end (destruction), both on one thread. Layer, name and keys are
/// literals: they outlive the program's traces. A span that began while tracing was off stays unseen.
class Span {
 public:
  Span(const char* layer, const char* name) noexcept {
    if (detail::state.load(std::memory_order_relaxed) != detail::State::off) [[unlikely]] {
      event_ = detail::begin(layer, name);
    }
  }
  ~Span() {
    if (event_) [[unlikely]]
      detail::end(event_);
  }
  Span(const Span&) = delete;
  Span& operator=(const Span&) = delete;

  /// True when this span is being recorded: guards work that only feeds fields.
  bool recording() const noexcept { return event_ != nullptr; }

  Span& field(const char* key, std::string_view value) noexcept {
    if (event_) [[unlikely]]
      detail::add_field(event_, key, value);
    return *this;
  }
  template <std::integral T>
  Span& field(const char* key, T value) noexcept {
    if (event_) [[unlikely]]
      detail::add_field(event_, key, static_cast<std::int64_t>(value));
    return *this;
  }
  template <std::floating_point T>
  Span& field(const char* key, T value) noexcept {
    if (event_) [[unlikely]]
      detail::add_field(event_, key, static_cast<double>(value));
    return *this;
  }

 private:
  Event* event_ = nullptr;
};

/// A moment without duration.
inline void instant(const char* layer, const char* name) noexcept {
  if (detail::state.load(std::memory_order_relaxed) != detail::State::off) [[unlikely]] {
    detail::instant(layer, name);
  }
}

}  // namespace strata::trace
