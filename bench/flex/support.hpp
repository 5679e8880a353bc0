/// Timing in one process, ours and the peer in turn.
#pragma once

#include <algorithm>
#include <chrono>
#include <thread>
#include <vector>

namespace strata::bench {

/// Microseconds of one call.
template <class F>
double time_once(F&& f) {
  const auto start = std::chrono::steady_clock::now();
  f();
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count();
}

inline double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// Nanoseconds of a call, the best of several loops: the cost of the host path without the machine's noise.
template <class F>
double call_cost(F&& f) {
  constexpr int calls = 2000, loops = 30;
  double best = 1e30;
  for (int i = 0; i < loops; ++i) {
    best = std::min(best, time_once([&] {
                            for (int k = 0; k < calls; ++k) f();
                          }) * 1000 /
                              calls);
  }
  return best;
}

struct Comparison {
  double ours, peer;  ///< medians, microseconds
  double ratio;       ///< median of peer / ours over pairs
  double best_ratio;  ///< shortest peer / shortest ours
};

/// Pairs in alternating order, so that neither profits from what the other left in the caches.
template <class Ours, class Peer>
Comparison compare(int pairs, Ours&& ours, Peer&& peer) {
  std::vector<double> a, b, ratios;
  ours();
  peer();
  for (int i = 0; i < pairs; ++i) {
    double x, y;
    if (i % 2) {
      x = time_once(ours);
      y = time_once(peer);
    } else {
      y = time_once(peer);
      x = time_once(ours);
    }
    a.push_back(x);
    b.push_back(y);
    ratios.push_back(y / x);
  }
  return {median(a), median(b), median(ratios),
          *std::min_element(b.begin(), b.end()) / *std::min_element(a.begin(), a.end())};
}

}  // namespace strata::bench
