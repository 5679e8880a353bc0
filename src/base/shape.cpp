#include "strata/shape.hpp"

#include "strata/error.hpp"

namespace strata::inline v0 {

std::string Dims::to_string() const {
  std::string s = "[";
  for (int i = 0; i < rank_; ++i) s += (i ? ", " : "") + std::to_string(values_[i]);
  return s + "]";
}

void Dims::too_long(std::size_t n) {
  throw ShapeError("rank " + std::to_string(n) + " is above the largest supported rank, " +
                   std::to_string(max_rank) + "; merge axes with reshape");
}

}  // namespace strata::inline v0
