/// Random programs.
#pragma once

#include "fuzz/fuzzer/program.hpp"

namespace strata::fuzz {

struct GeneratorSettings {
  int most_operations = 16;         ///< of one body
  double refused_calls = 0.02;      ///< share of calls with a random operand, which op::infer mostly refuses
  double early_drops = 0.2;         ///< chance, after each operation, that a handle is released
  double early_reads = 0.06;        ///< and that a value is read
  double threaded_programs = 0.12;  ///< share of programs with more than one body
};

/// The same program for a seed everywhere.
Program generate(std::uint64_t seed, const GeneratorSettings& settings = {});

}  // namespace strata::fuzz
