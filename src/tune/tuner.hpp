/// Chooses among candidate kernels: by the caller's rule, from the store, or by measuring within a budget.
///
/// The caller says what can be done with a candidate (`Trial`: compile, check, measure); the tuner decides
/// what is done and when. It knows nothing of operations or devices.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "cache/store.hpp"
#include "tune/record.hpp"

namespace strata::tune {

/// `off`: the rule's favourite, the store is not read. `cached`: a stored winner, else the favourite. `full`:
/// measure.
enum class Level : std::uint8_t { off, cached, full };

struct Settings {
  Level level = Level::full;
  double budget_seconds =
      0.5;                    ///< of device time a key; compilation and checks may take twice as much on top
  int max_launches = 64;      ///< a key, checks included
  double close_enough = 0.8;  ///< stop when bound / time reaches this
  double hysteresis = 0.03;   ///< the favourite wins unless another is faster by more than this share
  int group = 4;              ///< candidates that are compiled together
  std::size_t max_keys = 4096;  ///< kept in memory; the least recently used go first

  /// STRATA_TUNE=off|cached|full, STRATA_TUNE_BUDGET_MS=500; faulty values warn once and count as unset.
  static Settings from_environment();
};

struct Candidate {
  std::string name;  ///< with all its parameters: unique among the candidates of a problem
  std::string skip;  ///< why it does not apply to this problem; empty: it does
};

struct Problem {
  std::string scope;                  ///< identity of the device
  std::string key;                    ///< everything else that changes the answer
  std::string revision;               ///< of what generates the candidates: a change retires stored winners
  std::vector<Candidate> candidates;  ///< by priority; the first that applies is the favourite
  double bound_seconds = 0;           ///< roofline bound, 0 when unknown
};

/// What the tuner may do with candidate `i`. Every function may throw to say that the candidate is no good.
class Trial {
 public:
  virtual ~Trial();
  /// Compiles several candidates, side by side where it can. A failure shows when the candidate is checked.
  virtual void prepare(std::span<const std::size_t> group) = 0;
  /// Runs it once on the real inputs and compares with a reference; throws when they disagree.
  virtual void check(std::size_t i) = 0;
  /// Seconds of one launch, back to back with `launches` others: the fastest of them. 0 < launches.
  virtual double measure(std::size_t i, int launches) = 0;
  /// The roofline bound, asked for once before measuring. 0 when unknown.
  virtual double bound() { return 0; }
  /// Told of the best time, so that peaks that were probed too low can be raised.
  virtual void achieved(double /*seconds*/) {}
};

/// Candidates in the order to be tried: the winner, then what else was found valid. Empty: none is valid.
struct Choice {
  std::vector<std::size_t> order;
  std::shared_ptr<const TuneRecord> record;
};

/// Thread-safe. Of several threads that ask for one key, one tunes and the others wait for it.
class Tuner {
 public:
  Tuner(cache::Store& store, const Settings& settings);
  ~Tuner();
  Tuner(const Tuner&) = delete;
  Tuner& operator=(const Tuner&) = delete;

  const Settings& settings() const { return settings_; }

  /// Never throws for a failing candidate: a record without a winner says what went wrong with each.
  Choice choose(const Problem& problem, Trial& trial);
  /// The answer that is known without measuring: from memory or the store, else nothing.
  std::shared_ptr<const TuneRecord> known(const Problem& problem);
  /// The chosen candidate could not serve a later problem of the same key: drops the entry, here and in the
  /// store, and warns once. The next `choose` with this key takes the next valid candidate, without
  /// measuring.
  void reject(const Problem& problem, std::string_view candidate, std::string_view reason);
  /// The record of a key that this process has used.
  std::shared_ptr<const TuneRecord> record(std::string_view scope, std::string_view key) const;
  std::size_t size() const;

 private:
  struct Entry {
    std::shared_ptr<const TuneRecord> record;  ///< null while its first caller is at work
    std::list<std::string>::iterator place;
  };

  std::shared_ptr<const TuneRecord> decide(const Problem& problem, Trial& trial,
                                           const std::string& stored_key);
  std::shared_ptr<const TuneRecord> load(const Problem& problem, const std::string& stored_key);
  void trim();

  cache::Store& store_;
  const Settings settings_;
  mutable std::mutex mutex_;
  std::condition_variable finished_;
  std::unordered_map<std::string, Entry> entries_;
  std::list<std::string> recent_;  ///< front: used last
};

/// The key in the store: the problem's, the names of its candidates and the generator's revision.
std::string stored_key(const Problem& problem);

}  // namespace strata::tune
