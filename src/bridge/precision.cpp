#include "strata/precision.hpp"

namespace strata::inline v0 {

namespace {

constinit thread_local Precision current_precision = Precision::exact;

}  // namespace

MatmulPrecision::MatmulPrecision(Precision precision) noexcept : outer_(current_precision) {
  current_precision = precision;
}
MatmulPrecision::~MatmulPrecision() { current_precision = outer_; }
Precision MatmulPrecision::current() noexcept { return current_precision; }

}  // namespace strata::inline v0
