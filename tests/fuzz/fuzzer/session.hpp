/// Programs one after another against a rig, with the counts that a report needs.
#pragma once

#include <atomic>
#include <map>

#include "fuzz/fuzzer/generator.hpp"
#include "fuzz/fuzzer/run.hpp"
#include "fuzz/fuzzer/shrink.hpp"

namespace strata::fuzz {

struct SessionSettings {
  std::string device = "cpu";  ///< for the commands in reports
  std::uint64_t seed = 1;
  std::size_t programs = 1000;
  double seconds = 0;          ///< 0: no limit
  std::size_t mismatches = 5;  ///< stop after as many
  bool print = false;          ///< list each program on stdout before it runs
  GeneratorSettings generator;
  ShrinkSettings shrink;
};

struct Found {
  Program original, small;
  Mismatch mismatch;  ///< of the small one
  std::string cpp;    ///< the small one as a test
};

struct Report {
  std::size_t programs = 0, operations = 0, threaded = 0;
  std::map<std::string, std::size_t> by_family;
  std::size_t compared = 0, excluded = 0;  ///< elements
  std::size_t blind = 0;                   ///< programs of which every element was excluded
  std::vector<Found> found;
  double seconds = 0;

  /// More blind programs than a sound error model leaves: one in twenty.
  bool too_blind() const { return blind * 20 > programs; }
  bool good() const { return found.empty() && !too_blind(); }
  std::string to_string() const;
};

/// Of the program that runs now, for whoever has to report a crash.
std::atomic<std::uint64_t>& current_seed();

/// Program i has seed settings.seed + i, so any of them can be run alone.
Report fuzz(Rig& rig, const SessionSettings& settings);

}  // namespace strata::fuzz
