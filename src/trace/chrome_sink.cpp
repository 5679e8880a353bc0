/// The Trace Event format of Chrome, JSON object form: one "X" event a span, "i" an instant, "M" thread
/// names.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstring>
#include <iterator>
#include <unordered_map>

#include "strata/error.hpp"
#include "trace/log.hpp"
#include "trace/sink.hpp"

namespace strata::trace::detail {
namespace {

void append_string(std::string& out, std::string_view text) {
  out += '"';
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      fmt::format_to(std::back_inserter(out), "\\u{:04x}", static_cast<unsigned>(c));
    } else {
      out += c;
    }
  }
  out += '"';
}

void append_value(std::string& out, const Field& field) {
  if (const auto* text = std::get_if<std::string>(&field.value)) {
    append_string(out, *text);
  } else if (const auto* number = std::get_if<std::int64_t>(&field.value)) {
    out += std::to_string(*number);
  } else {
    const double real = std::get<double>(field.value);
    if (std::isfinite(real)) {
      fmt::format_to(std::back_inserter(out), "{}", real);
    } else {
      append_string(out, fmt::format("{}", real));  // JSON has no infinities
    }
  }
}

/// Microseconds, with the nanoseconds behind the point.
void append_time(std::string& out, const char* key, std::int64_t ns) {
  fmt::format_to(std::back_inserter(out), ",\"{}\":{}.{:03}", key, ns / 1000, ns % 1000);
}

class ChromeSink final : public Sink {
 public:
  explicit ChromeSink(const std::string& path) : path_(path), process_(getpid()) {
    file_ = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (file_ < 0) {
      throw IoError(fmt::format("[trace] cannot write the trace to {}: {}", path, std::strerror(errno)));
    }
    out_ = "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[";
    begin_record("M", "process_name", 0);
    out_ += ",\"args\":{\"name\":\"strata\"}}";
  }
  ~ChromeSink() override { close_file(); }

  void event(const Event& event) override {
    if (!ours()) return;
    auto& known = names_[event.thread_id];
    if (known != event.thread) {
      known = event.thread;
      begin_record("M", "thread_name", event.thread_id);
      out_ += ",\"args\":{\"name\":";
      append_string(out_, event.thread);
      out_ += "}}";
    }
    begin_record(event.instant ? "i" : "X", fmt::format("{}.{}", event.layer, event.name), event.thread_id);
    out_ += ",\"cat\":";
    append_string(out_, event.layer);
    append_time(out_, "ts", event.begin_ns);
    if (event.instant) {
      out_ += ",\"s\":\"t\"";
    } else {
      append_time(out_, "dur", event.end_ns - event.begin_ns);
    }
    out_ += ",\"args\":{";
    for (const char* comma = ""; const auto& field : event.fields) {
      out_ += comma;
      append_string(out_, field.key);
      out_ += ':';
      append_value(out_, field);
      comma = ",";
    }
    out_ += "}}";
    if (out_.size() >= flush_bytes) flush();
  }

  void finish() override {
    if (!ours()) return;
    out_ += "\n]}\n";
    flush();
    close_file();
  }

 private:
  static constexpr std::size_t flush_bytes = 64 << 10;

  /// False after a failed write, and in a forked child, which shares the file but must not write its parent's
  /// trace.
  bool ours() const { return file_ >= 0 && getpid() == process_; }

  void begin_record(const char* phase, std::string_view name, std::uint64_t thread) {
    if (any_) out_ += ',';
    any_ = true;
    fmt::format_to(std::back_inserter(out_), "\n{{\"ph\":\"{}\",\"pid\":{},\"tid\":{},\"name\":", phase,
                   process_, thread);
    append_string(out_, name);
  }

  void flush() {
    for (std::size_t done = 0; done < out_.size();) {
      const auto n = write(file_, out_.data() + done, out_.size() - done);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) {
        log::warn_once(log::Topic::runtime, path_, "the trace {} ends early: {}", path_,
                       std::strerror(errno));
        close_file();
        break;
      }
      done += static_cast<std::size_t>(n);
    }
    out_.clear();
  }

  void close_file() {
    if (file_ >= 0) close(file_);
    file_ = -1;
  }

  std::string path_;
  pid_t process_;
  int file_ = -1;
  bool any_ = false;
  std::string out_;
  std::unordered_map<std::uint64_t, std::string> names_;
};

}  // namespace

std::unique_ptr<Sink> chrome_sink(const std::string& path) { return std::make_unique<ChromeSink>(path); }

}  // namespace strata::trace::detail
