#include "tune/record.hpp"

#include <fmt/format.h>

#include <charconv>

namespace strata::tune {

namespace {

constexpr std::string_view version = "tune 1";

/// Names and reasons stay on one line and in one column.
std::string clean(std::string_view s) {
  std::string out(s);
  for (auto& c : out) {
    if (c == '\n' || c == '\t' || c == '\r') c = ' ';
  }
  return out;
}

std::string_view cut(std::string_view& text, char end) {
  const auto at = text.find(end);
  const auto piece = text.substr(0, at);
  text.remove_prefix(at == std::string_view::npos ? text.size() : at + 1);
  return piece;
}

template <class T>
bool read(std::string_view s, T& out) {
  const auto r = std::from_chars(s.data(), s.data() + s.size(), out);
  return r.ec == std::errc{} && r.ptr == s.data() + s.size();
}

}  // namespace

std::string_view name_of(Source source) {
  constexpr std::string_view names[] = {"heuristic", "tuned", "stored", "fallback"};
  return names[static_cast<int>(source)];
}

std::string to_text(const TuneRecord& r) {
  std::string out = fmt::format("{}\n{}\n{}\n{}\t{}\t{}\t{}\t{}\t{}\n", version, clean(r.key),
                                clean(r.winner), static_cast<int>(r.source), r.stopped_early ? 1 : 0,
                                r.launches, r.bound_seconds, r.device_seconds, r.total_seconds);
  for (const auto& c : r.candidates) {
    out += fmt::format("{}\t{}\t{}\n", clean(c.name), c.seconds, clean(c.skipped_reason));
  }
  return out;
}

std::optional<TuneRecord> from_text(std::string_view text) {
  TuneRecord r;
  if (cut(text, '\n') != version) return std::nullopt;
  r.key = cut(text, '\n');
  r.winner = cut(text, '\n');
  auto numbers = cut(text, '\n');
  int source = 0, early = 0;
  if (!read(cut(numbers, '\t'), source) || !read(cut(numbers, '\t'), early) ||
      !read(cut(numbers, '\t'), r.launches) || !read(cut(numbers, '\t'), r.bound_seconds) ||
      !read(cut(numbers, '\t'), r.device_seconds) || !read(numbers, r.total_seconds) || source < 0 ||
      source > static_cast<int>(Source::fallback)) {
    return std::nullopt;
  }
  r.source = static_cast<Source>(source);
  r.stopped_early = early != 0;
  while (!text.empty()) {
    auto line = cut(text, '\n');
    CandidateRecord c;
    c.name = cut(line, '\t');
    if (!read(cut(line, '\t'), c.seconds)) return std::nullopt;
    c.skipped_reason = line;
    r.candidates.push_back(std::move(c));
  }
  return r;
}

}  // namespace strata::tune
