/// Runs functions of the language on many values by the interpreter, and measures their errors.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <vector>

#include "kernel/builder.hpp"
#include "kernel/interpreter.hpp"
#include "kernel/passes/lower_math.hpp"
#include "kernel/passes/promote_halves.hpp"

namespace strata::kernel {

template <class T>
constexpr Scalar scalar_of_type = scalar_of(dtype_of<T>());

/// y[i] = f(x0[i], x1[i] ...), lowered as for a target.
template <class Out, class In>
std::vector<Out> apply(const std::function<Val(std::vector<Val>)>& f, std::vector<std::vector<In>> in) {
  constexpr int lanes = 16;
  const auto n = in[0].size(), padded = (n + lanes - 1) / lanes * lanes;
  Builder b("apply");
  std::vector<Buffer> x;
  for (std::size_t k = 0; k < in.size(); ++k) x.push_back(b.read("x", scalar_of_type<In>));
  auto y = b.write("y", scalar_of_type<Out>);
  const Val i = convert(cube_x(), Scalar::i64) * lanes;
  std::vector<Val> arguments;
  for (const auto& buffer : x) arguments.push_back(buffer.load(i, lanes));
  y.store(i, f(arguments));
  const Kernel k = lower_math(promote_halves(b.finish()));
  test::Launch launch;
  for (auto& v : in) {
    v.resize(padded);
    launch.buffers.push_back(v.data());
    launch.lengths.push_back(static_cast<std::int64_t>(padded));
  }
  std::vector<Out> out(padded);
  launch.buffers.push_back(out.data());
  launch.lengths.push_back(static_cast<std::int64_t>(padded));
  launch.cube_count = {static_cast<std::uint32_t>(padded / lanes), 1, 1};
  test::interpret(k, launch);
  out.resize(n);
  return out;
}

template <class T>
std::vector<T> apply1(Val (*f)(Val), std::vector<T> x) {
  return apply<T, T>([f](std::vector<Val> a) { return f(a[0]); }, {std::move(x)});
}

/// |got - want| in units of the last place of T at `want`.
template <class T>
double ulp_error(T got, long double want) {
  const T rounded = static_cast<T>(want);
  if (std::isnan(rounded)) return std::isnan(got) ? 0 : 1e9;
  if (std::isinf(rounded) || std::isinf(got)) return got == rounded ? 0 : 1e9;
  int exponent = 0;
  std::frexp(want, &exponent);
  const int lowest = std::numeric_limits<T>::min_exponent - std::numeric_limits<T>::digits;
  const int last = std::max(exponent - std::numeric_limits<T>::digits, lowest);
  return static_cast<double>(std::abs(static_cast<long double>(got) - want) / std::ldexp(1.0L, last));
}

/// Random bit patterns of every exponent, and values spread evenly where the function is interesting.
template <class T>
std::vector<T> samples(double low, double high, std::size_t n) {
  std::mt19937_64 random(42);
  std::uniform_real_distribution<double> even(low, high);
  std::vector<T> v{T{0},
                   -T{0},
                   T{1},
                   T{-1},
                   std::numeric_limits<T>::infinity(),
                   -std::numeric_limits<T>::infinity(),
                   std::numeric_limits<T>::quiet_NaN(),
                   std::numeric_limits<T>::denorm_min(),
                   std::numeric_limits<T>::min(),
                   std::numeric_limits<T>::max(),
                   std::numeric_limits<T>::lowest(),
                   static_cast<T>(low),
                   static_cast<T>(high)};
  while (v.size() < n) {
    v.push_back(static_cast<T>(even(random)));
    if constexpr (sizeof(T) == 4)
      v.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(random())));
    else
      v.push_back(std::bit_cast<double>(random()));
  }
  return v;
}

}  // namespace strata::kernel
