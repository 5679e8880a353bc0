#include "tune/tuner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "base/hash.hpp"
#include "trace/log.hpp"
#include "trace/span.hpp"
#include "tune/search.hpp"

namespace strata::tune {

namespace {

using trace::log::Topic;

std::string memory_key(std::string_view scope, std::string_view key) {
  return fmt::format("{}\n{}", scope, key);
}

std::size_t index_of(const Problem& problem, std::string_view name) {
  const auto it = std::ranges::find(problem.candidates, name, &Candidate::name);
  return static_cast<std::size_t>(it - problem.candidates.begin());
}

/// The rule's answer: every candidate that applies, none measured.
std::shared_ptr<const TuneRecord> by_rule(const Problem& problem) {
  auto r = std::make_shared<TuneRecord>();
  r->key = problem.key;
  r->bound_seconds = problem.bound_seconds;
  for (const auto& c : problem.candidates) {
    if (r->winner.empty() && c.skip.empty()) r->winner = c.name;
    r->candidates.push_back({c.name, 0, c.skip});
  }
  r->source = r->winner.empty() ? Source::fallback : Source::heuristic;
  return r;
}

/// The winner, then the other valid candidates: measured ones by time, then unmeasured ones by priority.
std::vector<std::size_t> order_of(const Problem& problem, const TuneRecord& record) {
  struct Place {
    std::size_t index;
    double seconds;
  };
  std::vector<Place> rest;
  std::vector<std::size_t> order;
  for (const auto& c : record.candidates) {
    const auto i = index_of(problem, c.name);
    if (i == problem.candidates.size() || !problem.candidates[i].skip.empty() || !c.skipped_reason.empty())
      continue;
    if (c.name == record.winner)
      order.push_back(i);
    else
      rest.push_back({i, c.seconds > 0 ? c.seconds : 1e30});
  }
  std::ranges::stable_sort(rest, {}, &Place::seconds);
  for (const auto& p : rest) order.push_back(p.index);
  return order;
}

void report(const TuneRecord& r) {
  if (r.winner.empty()) {
    std::string reasons;
    for (const auto& c : r.candidates) reasons += fmt::format("\n  {}: {}", c.name, c.skipped_reason);
    trace::log::warn(Topic::tune, "no candidate is valid for {}; the naive kernel runs instead:{}", r.key,
                     reasons);
    return;
  }
  trace::log::info(Topic::tune, "{}: {} ({} launches, {:.1f} ms on the device, {:.1f} ms in all{})", r.key,
                   r.winner, r.launches, r.device_seconds * 1e3, r.total_seconds * 1e3,
                   r.stopped_early ? ", close to the bound" : "");
  for (const auto& c : r.candidates) {
    trace::log::full(Topic::tune, "  {}: {}", c.name,
                     c.skipped_reason.empty() ? fmt::format("{:.3f} us", c.seconds * 1e6) : c.skipped_reason);
  }
}

}  // namespace

Settings Settings::from_environment() {
  Settings s;
  if (const char* text = std::getenv("STRATA_TUNE")) {
    const std::string_view v = text;
    if (v == "off")
      s.level = Level::off;
    else if (v == "cached")
      s.level = Level::cached;
    else if (v != "full" && !v.empty()) {
      trace::log::warn_once(Topic::tune, "STRATA_TUNE",
                            "STRATA_TUNE={} is none of off, cached, full; full is used", v);
    }
  }
  if (const char* text = std::getenv("STRATA_TUNE_BUDGET_MS")) {
    const std::string_view v = text;
    double ms = 0;
    const auto r = std::from_chars(v.data(), v.data() + v.size(), ms);
    if (r.ec == std::errc{} && r.ptr == v.data() + v.size() && ms > 0 && ms < 1e9)
      s.budget_seconds = ms * 1e-3;
    else
      trace::log::warn_once(Topic::tune, "STRATA_TUNE_BUDGET_MS",
                            "STRATA_TUNE_BUDGET_MS={} is not a number of milliseconds above 0; 500 is used",
                            v);
  }
  return s;
}

std::string stored_key(const Problem& problem) {
  base::Hasher h;
  h.add(std::string_view(problem.revision));
  for (const auto& c : problem.candidates) h.add(std::string_view(c.name));
  return fmt::format("{}|{:016x}", problem.key, h.value());
}

Tuner::Tuner(cache::Store& store, const Settings& settings) : store_(store), settings_(settings) {}
Tuner::~Tuner() = default;

std::shared_ptr<const TuneRecord> Tuner::load(const Problem& problem, const std::string& stored) {
  if (settings_.level == Level::off) return nullptr;
  const auto text = store_.get(cache::Kind::tuning, problem.scope, stored);
  if (!text) return nullptr;
  auto r = from_text(*text);
  if (!r || order_of(problem, *r).empty()) return nullptr;
  r->source = Source::stored;
  return std::make_shared<TuneRecord>(std::move(*r));
}

std::shared_ptr<const TuneRecord> Tuner::decide(const Problem& problem, Trial& trial,
                                                const std::string& stored) {
  if (auto r = load(problem, stored)) return r;
  if (settings_.level != Level::full) return by_rule(problem);
  trace::Span span("tune", "tune");
  span.field("key", problem.key);
  auto r = std::make_shared<TuneRecord>(search(problem, trial, settings_));
  span.field("winner", r->winner).field("launches", r->launches);
  report(*r);
  if (!r->winner.empty()) store_.put(cache::Kind::tuning, problem.scope, stored, to_text(*r), true);
  return r;
}

Choice Tuner::choose(const Problem& problem, Trial& trial) {
  const auto key = memory_key(problem.scope, problem.key);
  std::unique_lock lock(mutex_);
  for (auto it = entries_.find(key); it != entries_.end(); it = entries_.find(key)) {
    if (it->second.record) {
      recent_.splice(recent_.begin(), recent_, it->second.place);
      return {order_of(problem, *it->second.record), it->second.record};
    }
    finished_.wait(lock);  // another thread tunes this key
  }
  recent_.push_front(key);
  entries_[key] = {nullptr, recent_.begin()};
  lock.unlock();

  std::shared_ptr<const TuneRecord> record;
  try {
    record = decide(problem, trial, stored_key(problem));
  } catch (...) {
    lock.lock();
    recent_.erase(entries_[key].place);
    entries_.erase(key);
    finished_.notify_all();
    throw;
  }
  lock.lock();
  entries_[key].record = record;
  trim();
  finished_.notify_all();
  return {order_of(problem, *record), record};
}

std::shared_ptr<const TuneRecord> Tuner::known(const Problem& problem) {
  const auto key = memory_key(problem.scope, problem.key);
  {
    const std::lock_guard lock(mutex_);
    if (const auto it = entries_.find(key); it != entries_.end()) return it->second.record;
  }
  return load(problem, stored_key(problem));
}

void Tuner::reject(const Problem& problem, std::string_view candidate, std::string_view reason) {
  store_.erase(cache::Kind::tuning, problem.scope, stored_key(problem));
  trace::log::warn_once(
      Topic::tune, fmt::format("reject {} {}", problem.key, candidate),
      "{}: the tuned kernel {} cannot serve this problem ({}); its entry is dropped and the next one runs",
      problem.key, candidate, reason);
  const std::lock_guard lock(mutex_);
  const auto it = entries_.find(memory_key(problem.scope, problem.key));
  if (it == entries_.end() || !it->second.record) return;
  auto r = std::make_shared<TuneRecord>(*it->second.record);
  for (auto& c : r->candidates) {
    if (c.name == candidate) c.skipped_reason = reason;
  }
  if (r->winner == candidate) {
    r->winner.clear();
    const auto order = order_of(problem, *r);
    if (order.empty())
      r->source = Source::fallback;
    else
      r->winner = problem.candidates[order.front()].name;
  }
  it->second.record = std::move(r);
}

std::shared_ptr<const TuneRecord> Tuner::record(std::string_view scope, std::string_view key) const {
  const std::lock_guard lock(mutex_);
  const auto it = entries_.find(memory_key(scope, key));
  return it == entries_.end() ? nullptr : it->second.record;
}

std::size_t Tuner::size() const {
  const std::lock_guard lock(mutex_);
  return entries_.size();
}

void Tuner::trim() {
  auto last = recent_.end();
  while (entries_.size() > settings_.max_keys && last != recent_.begin()) {
    --last;
    const auto it = entries_.find(*last);
    if (!it->second.record) continue;  // in the making
    entries_.erase(it);
    last = recent_.erase(last);
  }
}

}  // namespace strata::tune
