/// The measuring schedule: successive halving on minima, favourite first, within a budget.
///
/// Minima, because on a shared machine noise only ever adds time; halving, because most candidates are beaten
/// after one or two launches (K. Jamieson, A. Talwalkar, "Non-stochastic best arm identification", 2016).
#pragma once

#include "tune/tuner.hpp"

namespace strata::tune {

/// Compiles, checks and measures the candidates of `problem`. Never throws for a failing candidate.
TuneRecord search(const Problem& problem, Trial& trial, const Settings& settings);

}  // namespace strata::tune
