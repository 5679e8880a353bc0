#include "trace/span.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <new>
#include <string>
#include <utility>

#include "strata/error.hpp"
#include "trace/log.hpp"
#include "trace/sink.hpp"

namespace strata::trace {
namespace detail {

constinit std::atomic<State> state{State::unknown};

namespace {

using Subscribers = std::vector<std::shared_ptr<Subscriber>>;

// The list is replaced, never changed, so that events are delivered without a lock on the list. Never
// destroyed: spans may end while the program exits.
struct Registry {
  std::mutex mutex;
  std::shared_ptr<const Subscribers> list = std::make_shared<Subscribers>();

  std::shared_ptr<const Subscribers> snapshot() {
    const std::lock_guard lock(mutex);
    return list;
  }
  template <class Edit>
  void replace(Edit edit) {
    const std::lock_guard lock(mutex);
    auto next = std::make_shared<Subscribers>(*list);
    edit(*next);
    state.store(next->empty() ? State::off : State::on, std::memory_order_relaxed);
    list = std::move(next);
  }
};

Registry& registry() {
  static auto* const instance = new Registry;
  return *instance;
}

constinit thread_local int depth = 0;

std::int64_t now_ns() noexcept {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

Subscription subscription_of_environment() {
  const char* value = std::getenv("STRATA_TRACE");
  const std::string_view wish = value ? value : "";
  if (!wish.empty() && wish != "off" && wish != "0") {
    try {
      return add(wish == "text" ? text_sink(stderr) : chrome_sink(std::string(wish)));
    } catch (const std::exception& error) {
      log::warn(log::Topic::runtime, "STRATA_TRACE={}: {}", wish, error.what());
    }
  }
  registry().replace([](Subscribers&) {});  // settles `state`
  return {};
}

/// Reads STRATA_TRACE once; its sink finishes when the program exits.
void read_environment() { static const Subscription from_environment = subscription_of_environment(); }

bool on() noexcept {
  if (suspended != 0) return false;
  auto now = state.load(std::memory_order_relaxed);
  if (now == State::unknown) {
    read_environment();
    now = state.load(std::memory_order_relaxed);
  }
  return now == State::on;
}

void deliver(Event& event) noexcept {
  try {
    event.thread = thread_name();
    event.thread_id = thread_id();
    const auto list = registry().snapshot();
    const Suspend quiet;
    for (const auto& subscriber : *list) subscriber->deliver(event);
  } catch (const std::exception& error) {
    log::warn_once(log::Topic::runtime, "trace", "tracing lost an event: {}", error.what());
  }
}

template <class Value>
void append_field(Event* event, const char* key, Value&& value) noexcept {
  try {
    event->fields.push_back({key, std::forward<Value>(value)});
  } catch (const std::bad_alloc&) {
    log::warn_once(log::Topic::runtime, "trace", "tracing lost a field: out of memory");
  }
}

class CallbackSink final : public Sink {
 public:
  explicit CallbackSink(std::function<void(const Event&)> callback) : callback_(std::move(callback)) {}
  void event(const Event& event) override { callback_(event); }

 private:
  std::function<void(const Event&)> callback_;
};

}  // namespace

Event* begin(const char* layer, const char* name) noexcept {
  if (!on()) return nullptr;
  auto* event = new (std::nothrow) Event;
  if (event == nullptr) return nullptr;
  event->layer = layer;
  event->name = name;
  event->depth = depth++;
  event->begin_ns = now_ns();
  return event;
}

void end(Event* event) noexcept {
  event->end_ns = now_ns();
  --depth;
  deliver(*event);
  delete event;
}

void instant(const char* layer, const char* name) noexcept {
  if (!on()) return;
  Event event;
  event.layer = layer;
  event.name = name;
  event.depth = depth;
  event.instant = true;
  event.begin_ns = event.end_ns = now_ns();
  deliver(event);
}

void add_field(Event* event, const char* key, std::string_view value) noexcept {
  try {
    append_field(event, key, std::string(value));
  } catch (const std::bad_alloc&) {
    log::warn_once(log::Topic::runtime, "trace", "tracing lost a field: out of memory");
  }
}
void add_field(Event* event, const char* key, std::int64_t value) noexcept {
  append_field(event, key, value);
}
void add_field(Event* event, const char* key, double value) noexcept { append_field(event, key, value); }

Subscription add(std::unique_ptr<Sink> sink) {
  auto subscriber = std::make_shared<Subscriber>(std::move(sink));
  registry().replace([&](Subscribers& list) { list.push_back(subscriber); });
  return Subscription(std::move(subscriber));
}

template <class Body>
void Subscriber::guarded(Body body) noexcept {
  try {
    body();
  } catch (const std::exception& error) {
    complain(error.what());
  } catch (...) {
    complain("it threw something that is no std::exception");
  }
}

void Subscriber::complain(const char* why) noexcept {
  if (!std::exchange(complained_, true)) log::warn(log::Topic::runtime, "a trace subscriber failed: {}", why);
}

void Subscriber::deliver(const Event& event) noexcept {
  const std::lock_guard lock(mutex_);
  if (!live_) return;
  delivering_ = true;
  guarded([&] { sink_->event(event); });
  delivering_ = false;
  if (!live_) sink_.reset();
}

void Subscriber::close() noexcept {
  const std::lock_guard lock(mutex_);
  if (!live_) return;
  live_ = false;
  guarded([&] { sink_->finish(); });
  if (!delivering_) sink_.reset();
}

}  // namespace detail

Subscription::Subscription(std::shared_ptr<detail::Subscriber> subscriber) noexcept
    : subscriber_(std::move(subscriber)) {}

Subscription& Subscription::operator=(Subscription&& other) noexcept {
  if (this != &other) {
    reset();
    subscriber_ = std::move(other.subscriber_);
  }
  return *this;
}

Subscription::~Subscription() { reset(); }

void Subscription::reset() noexcept {
  const auto subscriber = std::exchange(subscriber_, nullptr);
  if (!subscriber) return;
  // Closed first: should the list fail to shrink for want of memory, the closed subscriber stays in it
  // unheard.
  subscriber->close();
  try {
    detail::registry().replace([&](detail::Subscribers& list) { std::erase(list, subscriber); });
  } catch (const std::bad_alloc&) {
    log::warn_once(log::Topic::runtime, "trace", "tracing stays on: out of memory");
  }
}

Subscription subscribe(std::function<void(const Event&)> callback) {
  if (!callback) throw ArgumentError("[trace] subscribe: the callback is empty");
  detail::read_environment();
  return detail::add(std::make_unique<detail::CallbackSink>(std::move(callback)));
}

Subscription write_chrome_json(const std::string& path) {
  detail::read_environment();
  return detail::add(detail::chrome_sink(path));
}

Subscription print_to(std::FILE* file) {
  if (file == nullptr) throw ArgumentError("[trace] print_to: the file is null");
  detail::read_environment();
  return detail::add(detail::text_sink(file));
}

}  // namespace strata::trace
