#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <unordered_map>

#include "trace/sink.hpp"

namespace strata::trace::detail {
namespace {

std::string text_of(const Field& field) {
  return std::visit([&](const auto& value) { return fmt::format("{}={}", field.key, value); }, field.value);
}

class TextSink final : public Sink {
 public:
  explicit TextSink(std::FILE* file) : file_(file) {}

  // Spans arrive when they end, inner ones first. Readers want them as they began: a thread's events wait for
  // the outermost span.
  void event(const Event& event) override {
    auto& waiting = waiting_[event.thread_id];
    waiting.push_back(event);
    if (event.depth == 0 || waiting.size() >= most_waiting) print(waiting);
  }

  void finish() override {
    for (auto& [thread, events] : waiting_) print(events);
    std::fflush(file_);
  }

 private:
  static constexpr std::size_t most_waiting = 10'000;

  void print(std::vector<Event>& events) {
    std::stable_sort(events.begin(), events.end(), [](const Event& a, const Event& b) {
      return a.begin_ns != b.begin_ns ? a.begin_ns < b.begin_ns : a.depth < b.depth;
    });
    fmt::memory_buffer out;
    for (const auto& event : events) append(out, event);
    std::fwrite(out.data(), 1, out.size(), file_);
    events.clear();
  }

  void append(fmt::memory_buffer& out, const Event& event) {
    if (first_ns_ < 0) first_ns_ = event.begin_ns;
    const auto since = static_cast<double>(event.begin_ns - first_ns_) / 1e3;
    const auto what = fmt::format("{:{}}{} {}", "", 2 * event.depth, event.layer, event.name);
    const auto sink = std::back_inserter(out);
    fmt::format_to(sink, "{:<14} {:>12.1f}  {:<36}", event.thread, since, what);
    if (event.instant) {
      fmt::format_to(sink, " {:>13}", "-");
    } else {
      fmt::format_to(sink, " {:>10.1f} us", static_cast<double>(event.end_ns - event.begin_ns) / 1e3);
    }
    for (const auto& field : event.fields) fmt::format_to(sink, "  {}", text_of(field));
    out.push_back('\n');
  }

  std::FILE* file_;
  std::int64_t first_ns_ = -1;
  std::unordered_map<std::uint64_t, std::vector<Event>> waiting_;
};

}  // namespace

std::unique_ptr<Sink> text_sink(std::FILE* file) { return std::make_unique<TextSink>(file); }

}  // namespace strata::trace::detail
