#include "strata/strata.hpp"

using namespace strata;

void ok(const Tensor<2>& a, const Tensor<1>& v, const Tensor<2, Int>& i) {
  const Tensor<2> product = a.matmul(a);
  const Tensor<1> row_sums = a.sum(1);
  const Tensor<2> shifted = a + v;
  const Tensor<2, Int> twice = i * 2;
  const Tensor<0> least = a.squeeze({0, 1});
  const Tensor<8> most = a.unsqueeze({0, 1, 2, 3, 4, 5});
}

#ifdef CASE_MATMUL_OF_RANK_1
auto f(const Tensor<2>& a, const Tensor<1>& v) { return a.matmul(v); }
#endif
#ifdef CASE_ADD_OF_KINDS
auto f(const Tensor<2>& a, const Tensor<2, Int>& b) { return a + b; }
#endif
#ifdef CASE_FLOAT_ONLY_ON_INT
auto f(const Tensor<2, Int>& a) { return a.exp(); }
#endif
#ifdef CASE_WRONG_RANK_RESULT
Tensor<2> f(const Tensor<2>& a) { return a.sum(0); }
#endif
#ifdef CASE_BACKWARD_OF_INT
auto f(const Tensor<1, Int>& a) { return a.backward(); }
#endif
#ifdef CASE_TOO_MANY_AXES
auto f(const Tensor<2>& a) { return a.permute({0, 1, 2}); }
#endif
#ifdef CASE_SQUEEZE_BELOW_RANK_0
auto f(const Tensor<2>& a) { return a.squeeze({0, 1, 2}); }
#endif
#ifdef CASE_UNSQUEEZE_ABOVE_RANK_8
auto f(const Tensor<7>& a) { return a.unsqueeze({0, 1}); }
#endif
