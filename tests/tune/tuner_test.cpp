#include "tune/tuner.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <stdexcept>
#include <thread>

#include "cache/store.hpp"
#include "strata/error.hpp"
#include "strata/trace.hpp"
#include "trace/log.hpp"
#include "trace/span.hpp"

namespace strata::tune {
namespace {

/// Candidates whose times are told, not measured.
class Scripted : public Trial {
 public:
  struct Script {
    Script(double s, std::string compile = "", std::string check = "", std::string run = "")  // NOLINT
        : seconds(s),
          compile_error(std::move(compile)),
          check_error(std::move(check)),
          run_error(std::move(run)) {}
    double seconds;
    std::string compile_error, check_error, run_error;
  };
  explicit Scripted(std::vector<Script> scripts) : scripts_(std::move(scripts)) {}

  void prepare(std::span<const std::size_t> group) override { prepared += static_cast<int>(group.size()); }
  void check(std::size_t i) override {
    if (!scripts_[i].compile_error.empty()) throw CompileError(scripts_[i].compile_error);
    ++launches;
    fail_if(scripts_[i].check_error);
  }
  double measure(std::size_t i, int n) override {
    fail_if(scripts_[i].run_error);
    launches += n;
    measured.push_back(i);
    if (real_time) {
      std::this_thread::sleep_for(std::chrono::duration<double>(scripts_[i].seconds * n));
    }
    return scripts_[i].seconds * (noise ? noise() : 1.0);
  }
  double bound() override { return limit; }
  void achieved(double seconds) override { best = seconds; }

  double limit = 0, best = 0;
  bool real_time = false;
  std::function<double()> noise;
  std::atomic<int> prepared{0};
  int launches = 0;
  std::vector<std::size_t> measured;

 private:
  static void fail_if(const std::string& error) {
    if (!error.empty()) throw std::runtime_error(error);
  }
  std::vector<Script> scripts_;
};

Problem problem_of(int candidates, const std::string& key = "p") {
  Problem p{"device", key, "first", {}, 0};
  for (int i = 0; i < candidates; ++i) {
    p.candidates.push_back({"c" + std::to_string(i), ""});
  }
  return p;
}

class TunerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() / ("strata-tune-" + std::to_string(::getpid()));
    std::filesystem::remove_all(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string file() const { return (folder_ / "strata.db").string(); }
  std::filesystem::path folder_;
};

TEST_F(TunerTest, TheFastestValidCandidateWins) {
  cache::Store store(file());
  Tuner tuner(store, {});
  Scripted trial({3e-3, 1e-3, 2e-3});
  const auto choice = tuner.choose(problem_of(3), trial);
  EXPECT_EQ(choice.record->winner, "c1");
  EXPECT_EQ(choice.order, (std::vector<std::size_t>{1, 2, 0}));
  EXPECT_EQ(choice.record->source, Source::tuned);
  EXPECT_EQ(choice.record->candidates[2].seconds, 2e-3);
  EXPECT_EQ(trial.best, 1e-3);
}

TEST_F(TunerTest, AWrongCandidateNeverWins) {
  cache::Store store(file());
  Tuner tuner(store, {});
  Scripted trial({3e-3, {1e-6, "", "element 7 is 2, the reference 1"}, 2e-3});
  const auto choice = tuner.choose(problem_of(3), trial);
  EXPECT_EQ(choice.record->winner, "c2");
  EXPECT_EQ(choice.record->candidates[1].skipped_reason, "check failed: element 7 is 2, the reference 1");
  for (const auto i : choice.order) EXPECT_NE(i, 1u);
  for (const auto i : trial.measured) EXPECT_NE(i, 1u);
}

TEST_F(TunerTest, AFailingCandidateIsSkippedWithItsReason) {
  cache::Store store(file());
  Tuner tuner(store, {});
  Scripted trial({{1e-3, "no such instruction"}, {1e-3, "", "", "illegal address"}, 2e-3, 9e-3});
  auto p = problem_of(4);
  p.candidates[3].skip = "needs k in one block";
  const auto choice = tuner.choose(p, trial);
  EXPECT_EQ(choice.record->winner, "c2");
  EXPECT_EQ(choice.record->candidates[0].skipped_reason, "does not compile: no such instruction");
  EXPECT_EQ(choice.record->candidates[1].skipped_reason, "fails to run: illegal address");
  EXPECT_EQ(choice.record->candidates[3].skipped_reason, "needs k in one block");
  EXPECT_EQ(choice.order, std::vector<std::size_t>{2});
}

TEST_F(TunerTest, WhenAllFailEveryReasonIsKeptAndNothingIsStored) {
  cache::Store store(file());
  Tuner tuner(store, {});
  Scripted trial({{1e-3, "a"}, {1e-3, "", "b"}});
  const auto choice = tuner.choose(problem_of(2), trial);
  EXPECT_TRUE(choice.order.empty());
  EXPECT_EQ(choice.record->source, Source::fallback);
  EXPECT_EQ(choice.record->candidates[0].skipped_reason, "does not compile: a");
  EXPECT_EQ(choice.record->candidates[1].skipped_reason, "check failed: b");
  EXPECT_TRUE(store.list({cache::Kind::tuning, {}}).empty());
}

TEST_F(TunerTest, LaunchesAndTimeStayWithinTheBudget) {
  cache::Store store(file());
  Settings settings;
  Tuner many(store, settings);
  Scripted cheap(std::vector<Scripted::Script>(30, Scripted::Script(1e-6)));
  EXPECT_LE(many.choose(problem_of(30), cheap).record->launches, settings.max_launches);
  EXPECT_LE(cheap.launches, settings.max_launches);

  settings.budget_seconds = 0.05;
  Tuner brief(store, settings);
  Scripted slow(std::vector<Scripted::Script>(10, Scripted::Script(10e-3)));
  slow.real_time = true;
  const auto r = brief.choose(problem_of(10, "slow"), slow).record;
  EXPECT_FALSE(r->winner.empty());
  EXPECT_LT(r->device_seconds, 0.05 + 0.08);  // one visit may begin just before the end
  EXPECT_EQ(r->candidates[9].skipped_reason, "not measured: the budget was spent");
}

TEST_F(TunerTest, StopsEarlyCloseToTheBound) {
  cache::Store store(file());
  Tuner tuner(store, {});
  Scripted trial({1.2e-3, 1.1e-3, 1e-3, 1e-3, 1e-3});
  trial.limit = 1e-3;
  const auto r = tuner.choose(problem_of(5), trial).record;
  EXPECT_EQ(r->winner, "c0");
  EXPECT_TRUE(r->stopped_early);
  EXPECT_EQ(trial.prepared, 4);  // the group the favourite was compiled in
  EXPECT_EQ(r->candidates[4].skipped_reason, "not measured: an earlier one came close to the bound");
}

TEST_F(TunerTest, ABoundThatIsBeatenDoesNotStopTheSearch) {
  cache::Store store(file());
  Tuner tuner(store, {});
  Scripted trial({2e-3, 1.5e-3, 1e-3});
  trial.limit = 2.5e-3;  // from a peak that was measured too low
  const auto r = tuner.choose(problem_of(3), trial).record;
  EXPECT_EQ(r->winner, "c2");
  EXPECT_FALSE(r->stopped_early);
}

TEST_F(TunerTest, ATieGoesToTheFavourite) {
  cache::Store store(file());
  Tuner tuner(store, {});
  Scripted trial({1.02e-3, 1e-3, 1.01e-3});
  EXPECT_EQ(tuner.choose(problem_of(3), trial).record->winner, "c0");
}

TEST_F(TunerTest, NoiseThatOnlyAddsTimeDoesNotChangeTheWinner) {
  cache::Store store(file());
  Settings settings;
  settings.level = Level::full;
  unsigned state = 1;
  for (int run = 0; run < 50; ++run) {
    Tuner tuner(store, settings);
    Scripted trial({1.3e-3, 1e-3, 1.25e-3, 1.4e-3});
    trial.noise = [&] {
      state = state * 1664525u + 1013904223u;
      return (state >> 16) % 4 == 0 ? 1.0 + static_cast<double>((state >> 20) % 100) / 100 : 1.0;
    };
    const auto key = "noisy" + std::to_string(run);
    EXPECT_EQ(tuner.choose(problem_of(4, key), trial).record->winner, "c1") << run;
  }
}

TEST_F(TunerTest, WinnersOutliveTheProcess) {
  {
    cache::Store store(file());
    Tuner tuner(store, {});
    Scripted trial({3e-3, 1e-3, 2e-3});
    tuner.choose(problem_of(3), trial);
  }
  cache::Store store(file());
  Tuner tuner(store, {});
  Scripted trial({3e-3, 1e-3, 2e-3});
  const auto choice = tuner.choose(problem_of(3), trial);
  EXPECT_EQ(choice.record->source, Source::stored);
  EXPECT_EQ(choice.record->winner, "c1");
  EXPECT_EQ(choice.record->candidates[2].seconds, 2e-3);
  EXPECT_EQ(trial.prepared, 0);
  EXPECT_EQ(trial.launches, 0);
}

TEST_F(TunerTest, ChangedCodeOrAnotherDeviceTunesAnew) {
  cache::Store store(file());
  const auto tuned = [&](const Problem& p) {
    Tuner tuner(store, {});
    Scripted trial({1e-3, 2e-3});
    return tuner.choose(p, trial).record->source;
  };
  EXPECT_EQ(tuned(problem_of(2)), Source::tuned);
  EXPECT_EQ(tuned(problem_of(2)), Source::stored);
  auto edited = problem_of(2);
  edited.revision = "a changed generator";
  EXPECT_EQ(tuned(edited), Source::tuned);
  auto elsewhere = problem_of(2);
  elsewhere.scope = "another device";
  EXPECT_EQ(tuned(elsewhere), Source::tuned);
}

TEST_F(TunerTest, AWinnerThatCannotServeIsDroppedAndTheNextTakesOver) {
  cache::Store store(file());
  Tuner tuner(store, {});
  Scripted trial({3e-3, 1e-3, 2e-3});
  const auto p = problem_of(3);
  ASSERT_EQ(tuner.choose(p, trial).record->winner, "c1");
  ASSERT_EQ(store.list({cache::Kind::tuning, {}}).size(), 1u);
  const int launches = trial.launches;
  tuner.reject(p, "c1", "strides are not multiples of 16 bytes");
  EXPECT_TRUE(store.list({cache::Kind::tuning, {}}).empty());
  const auto next = tuner.choose(p, trial);
  EXPECT_EQ(next.record->winner, "c2");
  EXPECT_EQ(next.order, (std::vector<std::size_t>{2, 0}));
  EXPECT_EQ(trial.launches, launches);
}

TEST_F(TunerTest, LevelsOffAndCachedNeverMeasure) {
  cache::Store store(file());
  for (const auto level : {Level::off, Level::cached}) {
    Settings settings;
    settings.level = level;
    Tuner tuner(store, settings);
    Scripted trial({3e-3, 1e-3});
    const auto choice = tuner.choose(problem_of(2), trial);
    EXPECT_EQ(choice.record->winner, "c0");
    EXPECT_EQ(choice.record->source, Source::heuristic);
    EXPECT_EQ(trial.launches + trial.prepared, 0);
  }
  {
    Tuner tuner(store, {});
    Scripted trial({3e-3, 1e-3});
    tuner.choose(problem_of(2), trial);
  }
  Settings settings;
  settings.level = Level::cached;
  Tuner cached(store, settings);
  Scripted trial({3e-3, 1e-3});
  EXPECT_EQ(cached.choose(problem_of(2), trial).record->winner, "c1");
  settings.level = Level::off;
  Tuner off(store, settings);
  EXPECT_EQ(off.choose(problem_of(2), trial).record->winner, "c0");
}

TEST_F(TunerTest, ConcurrentFirstCallsTuneOnce) {
  cache::Store store(file());
  Tuner tuner(store, {});
  std::atomic<int> tunings{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      Scripted trial({2e-3, 1e-3});
      trial.real_time = true;
      EXPECT_EQ(tuner.choose(problem_of(2), trial).record->winner, "c1");
      if (trial.launches > 0) ++tunings;
    });
  }
  for (auto& t : threads) t.join();
  EXPECT_EQ(tunings, 1);
}

TEST_F(TunerTest, MemoryIsBounded) {
  cache::Store store(file());
  Settings settings;
  settings.level = Level::off;
  settings.max_keys = 100;
  Tuner tuner(store, settings);
  for (int i = 0; i < 10000; ++i) {
    Scripted trial({Scripted::Script(1e-3)});
    tuner.choose(problem_of(1, std::to_string(i)), trial);
  }
  EXPECT_LE(tuner.size(), 100u);
}

/// Measures by the clock, and traces and logs inside what is measured, as layers below do.
class Traced : public Scripted {
 public:
  using Scripted::Scripted;
  double measure(std::size_t i, int n) override {
    const auto start = std::chrono::steady_clock::now();
    {
      trace::Span span("runtime", "launch");
      trace::log::full(trace::log::Topic::tune, "launch {}", i);
      Scripted::measure(i, n);
    }
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / n;
  }
};

TEST_F(TunerTest, TracingAndLogsAreNotPartOfWhatIsMeasured) {
  cache::Store store(file());
  int launches_seen = 0, tunings_seen = 0;
  const auto winner = [&](const std::string& key) {
    Tuner tuner(store, {});
    Traced trial({3e-3, 1e-3, 2e-3});
    trial.real_time = true;
    return tuner.choose(problem_of(3, key), trial).record->winner;
  };
  EXPECT_EQ(winner("quiet"), "c1");
  trace::log::configure("tune=full");
  {
    const auto subscription = trace::subscribe([&](const trace::Event& e) {
      launches_seen += e.name == "launch";
      tunings_seen += e.name == "tune";
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    });
    EXPECT_EQ(winner("traced"), "c1");
  }
  trace::log::configure("warn");
  EXPECT_EQ(launches_seen, 0);
  EXPECT_EQ(tunings_seen, 1);
}

TEST(TuneRecordTest, TextGivesTheRecordBack) {
  TuneRecord r;
  r.key = "matmul f32 8x8x8 nn";
  r.candidates = {{"a", 1.25e-5, ""}, {"b", 0, "does not compile:\tline\n2"}};
  r.bound_seconds = 1e-5;
  r.winner = "a";
  r.source = Source::tuned;
  r.stopped_early = true;
  r.launches = 17;
  r.device_seconds = 0.25;
  r.total_seconds = 0.5;
  const auto back = from_text(to_text(r));
  ASSERT_TRUE(back.has_value());
  r.candidates[1].skipped_reason = "does not compile: line 2";
  EXPECT_EQ(*back, r);
}

TEST(TuneRecordTest, DamagedTextIsRefused) {
  TuneRecord r;
  r.key = "k";
  r.candidates = {{"a", 1, ""}};
  const auto text = to_text(r);
  EXPECT_FALSE(from_text("").has_value());
  EXPECT_FALSE(from_text("tune 0" + text.substr(6)).has_value());
  EXPECT_FALSE(from_text(text.substr(0, 15)).has_value());
}

TEST(TuneSettings, ComeFromTheEnvironment) {
  ::setenv("STRATA_TUNE", "cached", 1);
  ::setenv("STRATA_TUNE_BUDGET_MS", "125", 1);
  auto s = Settings::from_environment();
  EXPECT_EQ(s.level, Level::cached);
  EXPECT_EQ(s.budget_seconds, 0.125);
  ::setenv("STRATA_TUNE", "offf", 1);
  ::setenv("STRATA_TUNE_BUDGET_MS", "-3", 1);
  s = Settings::from_environment();
  EXPECT_EQ(s.level, Level::full);
  EXPECT_EQ(s.budget_seconds, 0.5);
  ::unsetenv("STRATA_TUNE");
  ::unsetenv("STRATA_TUNE_BUDGET_MS");
}

}  // namespace
}  // namespace strata::tune
