/// Makes a failing program small: fewer threads, operations, drops and reads, smaller extents, plainer
/// numbers. Greedy: a step that keeps the failure stays; steps are tried until none does.
#pragma once

#include <functional>

#include "fuzz/fuzzer/run.hpp"

namespace strata::fuzz {

struct ShrinkSettings {
  int most_checks = 3000;
  double seconds = 60;
};

/// `fails` says whether a program still shows the failure; `evaluate` gives the reference's outputs.
Program shrink(Program program, const std::function<bool(const Program&)>& fails,
               const std::function<Outputs(const Program&)>& evaluate, const ShrinkSettings& settings = {});

}  // namespace strata::fuzz
