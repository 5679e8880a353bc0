#include "cube/random_words.hpp"

namespace strata::cube {

using kernel::Scalar;
using kernel::Val;

RandomWords random_words(Val position, Val seed) {
  constexpr std::uint32_t multiplier0 = 0xd2511f53u, multiplier1 = 0xcd9e8d57u;  // the paper's constants
  constexpr std::uint32_t weyl0 = 0x9e3779b9u, weyl1 = 0xbb67ae85u;
  constexpr int rounds = 10;
  const int lanes = position.lanes();
  const auto word = [&](std::uint32_t v) { return kernel::constant(kernel::make_type(Scalar::u32, lanes), v); };

  const Val counter = kernel::bitcast(position, Scalar::u64) >> 1;
  Val c0 = kernel::convert(counter, Scalar::u32), c1 = kernel::convert(counter >> 32, Scalar::u32);
  Val c2 = word(0), c3 = word(0);
  Val key0 = kernel::convert(seed, Scalar::u32), key1 = kernel::convert(seed >> 32, Scalar::u32);
  for (int round = 0; round < rounds; ++round) {
    const Val high0 = kernel::mul_high(c0, word(multiplier0)), low0 = c0 * word(multiplier0);
    const Val high1 = kernel::mul_high(c2, word(multiplier1)), low1 = c2 * word(multiplier1);
    c0 = high1 ^ c1 ^ key0;
    c1 = low1;
    c2 = high0 ^ c3 ^ key1;
    c3 = low0;
    key0 = key0 + weyl0;
    key1 = key1 + weyl1;
  }
  // Two elements share the four words of a counter.
  const Val odd = (kernel::convert(position, Scalar::u32) & 1) != 0;
  return {kernel::select(odd, c2, c0), kernel::select(odd, c3, c1)};
}

}  // namespace strata::cube
