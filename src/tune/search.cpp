#include "tune/search.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <limits>
#include <span>

#include "strata/error.hpp"
#include "trace/log.hpp"
#include "trace/thread.hpp"

namespace strata::tune {

namespace {

using Clock = std::chrono::steady_clock;
constexpr double never = std::numeric_limits<double>::infinity();
constexpr double wall_factor = 2.2;  ///< total time allowed, in budgets: compilation and checks come on top
constexpr double hopeless = 2;       ///< a candidate this much slower than the leader gets no second look
constexpr int enough_samples = 3;    ///< before a candidate may end the search

struct Contender {
  std::size_t index;
  double best = never;
  int samples = 0;
  std::string reason;
  bool valid() const { return reason.empty() && samples > 0; }
};

class Search {
 public:
  Search(const Problem& problem, Trial& trial, const Settings& settings)
      : problem_(problem), trial_(trial), settings_(settings), start_(Clock::now()) {
    for (std::size_t i = 0; i < problem.candidates.size(); ++i) {
      contenders_.push_back({i, never, 0, problem.candidates[i].skip});
      if (contenders_.back().reason.empty()) open_.push_back(i);
    }
  }

  TuneRecord run() {
    try {
      bound_ = trial_.bound();
    } catch (const std::exception& e) {
      trace::log::warn(trace::log::Topic::tune, "no roofline bound for {}: {}", problem_.key, e.what());
    }
    first_look();
    if (!stopped_) halve();
    return record();
  }

 private:
  double elapsed() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }
  /// True while one more visit fits; the favourite is always looked at.
  bool affordable() const {
    return launches_ < settings_.max_launches && device_ < settings_.budget_seconds &&
           elapsed() < wall_factor * settings_.budget_seconds;
  }

  /// Runs `work` for the contender; an exception takes it out of the race.
  template <class Work>
  bool attempt(Contender& c, const char* stage, Work&& work) {
    try {
      work();
      return true;
    } catch (const CompileError& e) {
      c.reason = fmt::format("does not compile: {}", e.what());
    } catch (const std::exception& e) {
      c.reason = fmt::format("{}: {}", stage, e.what());
    } catch (...) {
      c.reason = fmt::format("{}: unknown exception", stage);
    }
    return false;
  }

  /// Candidates in groups of `compile_threads`, compiled together, then checked and measured one after the
  /// other.
  void first_look() {
    const auto group = static_cast<std::size_t>(std::max(1, settings_.group));
    for (std::size_t at = 0; at < open_.size() && !stopped_; at += group) {
      const auto end = std::min(open_.size(), at + group);
      if (leader_ != never && !affordable()) {
        for (auto i = at; i < open_.size(); ++i)
          contenders_[open_[i]].reason = "not measured: the budget was spent";
        return;
      }
      try {
        trial_.prepare(std::span(open_).subspan(at, end - at));
      } catch (const std::exception& e) {
        for (auto i = at; i < end; ++i)
          contenders_[open_[i]].reason = fmt::format("does not compile: {}", e.what());
      }
      for (auto i = at; i < end && !stopped_; ++i) {
        auto& c = contenders_[open_[i]];
        if (!c.reason.empty()) continue;
        if (leader_ != never && !affordable()) {
          c.reason = "not measured: the budget was spent";
          continue;
        }
        look(c);
      }
    }
    if (stopped_) {
      for (auto& c : contenders_) {
        if (c.reason.empty() && c.samples == 0)
          c.reason = "not measured: an earlier one came close to the bound";
      }
    }
  }

  void look(Contender& c) {
    const auto before = Clock::now();
    const bool agrees = attempt(c, "check failed", [&] { trial_.check(c.index); });
    device_ += std::chrono::duration<double>(Clock::now() - before).count();
    ++launches_;
    if (!agrees) return;
    visit(c, 1);
    // A slow launch says enough unless it leads; a fast one costs nothing to repeat.
    const bool cheap = c.best < settings_.budget_seconds / 50;
    if (c.reason.empty() && c.best < (cheap ? 1.5 * hopeless : 1.25) * leader_) visit(c, enough_samples - 1);
  }

  void visit(Contender& c, int launches) {
    launches = std::min(launches, std::max(1, settings_.max_launches - launches_));
    const trace::Suspend quiet;
    const auto before = Clock::now();
    double seconds = never;
    const bool ran = attempt(c, "fails to run", [&] { seconds = trial_.measure(c.index, launches); });
    device_ += std::chrono::duration<double>(Clock::now() - before).count();
    launches_ += launches;
    if (!ran) return;
    c.samples += launches;
    c.best = std::min(c.best, seconds);
    if (c.best < leader_) {
      leader_ = c.best;
      trial_.achieved(leader_);
    }
    // Faster than the bound: the bound is wrong, so it cannot end the search.
    if (c.best < bound_) bound_refuted_ = true;
    stopped_ = bound_ > 0 && !bound_refuted_ && c.samples >= enough_samples &&
               c.best * settings_.close_enough <= bound_;
  }

  /// Valid contenders, fastest first.
  std::vector<Contender*> ranking() {
    std::vector<Contender*> alive;
    for (auto& c : contenders_) {
      if (c.valid()) alive.push_back(&c);
    }
    std::ranges::stable_sort(alive, {}, &Contender::best);
    return alive;
  }

  void halve() {
    auto alive = ranking();
    std::erase_if(alive, [&](const Contender* c) { return c->best > hopeless * leader_; });
    for (int round = 0; round < 4 && alive.size() > 1 && !stopped_; ++round) {
      const int launches = 2 + 2 * round;
      for (auto* c : alive) {
        if (!affordable() || stopped_) return;
        visit(*c, launches);
      }
      std::erase_if(alive, [](const Contender* c) { return !c->valid(); });
      std::ranges::stable_sort(alive, {}, &Contender::best);
      alive.resize(std::min(alive.size(), std::max<std::size_t>(2, (alive.size() + 1) / 2)));
    }
  }

  TuneRecord record() {
    TuneRecord r;
    r.key = problem_.key;
    r.bound_seconds = bound_;
    r.stopped_early = stopped_;
    r.launches = launches_;
    r.device_seconds = device_;
    r.total_seconds = elapsed();
    for (const auto& c : contenders_) {
      r.candidates.push_back({problem_.candidates[c.index].name, c.samples > 0 ? c.best : 0, c.reason});
    }
    const auto alive = ranking();
    if (alive.empty()) {
      r.source = Source::fallback;
      return r;
    }
    r.source = Source::tuned;
    auto winner = alive.front();
    // A tie goes to the rule, so that noise does not change the choice from run to run.
    if (!open_.empty()) {
      const auto& favourite = contenders_[open_.front()];
      if (favourite.valid() && favourite.best <= winner->best * (1 + settings_.hysteresis)) {
        winner = &contenders_[open_.front()];
      }
    }
    r.winner = problem_.candidates[winner->index].name;
    return r;
  }

  const Problem& problem_;
  Trial& trial_;
  const Settings& settings_;
  const Clock::time_point start_;
  std::vector<Contender> contenders_;
  std::vector<std::size_t> open_;  ///< indices of those that apply, by priority
  double bound_ = 0, leader_ = never, device_ = 0;
  int launches_ = 0;
  bool stopped_ = false, bound_refuted_ = false;
};

}  // namespace

Trial::~Trial() = default;

TuneRecord search(const Problem& problem, Trial& trial, const Settings& settings) {
  return Search(problem, trial, settings).run();
}

}  // namespace strata::tune
