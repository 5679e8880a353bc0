/// Philox4x32-10, the counter-based generator behind op::Random (Salmon, Moraes, Dror, Shaw, "Parallel random
/// numbers: as easy as 1, 2, 3", SC 2011).
#pragma once

#include <array>
#include <cstdint>

namespace strata::base {

using PhiloxWords = std::array<std::uint32_t, 4>;

/// Ten rounds over `counter` under `key`: four independent 32-bit words.
constexpr PhiloxWords philox(PhiloxWords counter, std::array<std::uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const auto p0 = std::uint64_t{0xD2511F53} * counter[0], p1 = std::uint64_t{0xCD9E8D57} * counter[2];
    counter = {static_cast<std::uint32_t>(p1 >> 32) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(p1),
               static_cast<std::uint32_t>(p0 >> 32) ^ counter[3] ^ key[1], static_cast<std::uint32_t>(p0)};
    key[0] += 0x9E3779B9;
    key[1] += 0xBB67AE85;
  }
  return counter;
}

/// The words of elements 2 * pair and 2 * pair + 1 of a tensor of random numbers.
constexpr PhiloxWords philox_pair(std::uint64_t pair, std::uint64_t seed) {
  return philox({static_cast<std::uint32_t>(pair), static_cast<std::uint32_t>(pair >> 32), 0, 0},
                {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)});
}

}  // namespace strata::base
