/// What a subscription hands events to.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "strata/trace.hpp"

namespace strata::trace::detail {

class Sink {
 public:
  Sink() = default;
  Sink(const Sink&) = delete;
  Sink& operator=(const Sink&) = delete;
  virtual ~Sink() = default;
  /// Never called twice at once. What it throws is reported in the log.
  virtual void event(const Event& event) = 0;
  /// No event follows.
  virtual void finish() {}
};

/// Sink that prints readable lines to `file`.
std::unique_ptr<Sink> text_sink(std::FILE* file);
/// Sink that writes a Chrome trace. Throws IoError.
std::unique_ptr<Sink> chrome_sink(const std::string& path);

/// A sink with the lock that makes its calls one at a time. Recursive, because a callback may end its own
/// subscription.
class Subscriber {
 public:
  explicit Subscriber(std::unique_ptr<Sink> sink) : sink_(std::move(sink)) {}
  void deliver(const Event& event) noexcept;
  void close() noexcept;

 private:
  template <class Body>
  void guarded(Body body) noexcept;
  void complain(const char* why) noexcept;  // once

  std::recursive_mutex mutex_;
  std::unique_ptr<Sink> sink_;
  bool live_ = true;
  bool delivering_ = false;
  bool complained_ = false;
};

/// Starts handing events to `sink`.
Subscription add(std::unique_ptr<Sink> sink);

}  // namespace strata::trace::detail
