/// Kernels of one's own (kernel.hpp) as operations on tensors, on every device.
#pragma once

#include <bit>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "strata/kernel.hpp"
#include "strata/tensor.hpp"

namespace strata::inline v0 {

/// The shape of a tensor that a kernel makes: what an Out argument is given.
template <int D>
struct Output {
  Shape shape;
};
/// Throws ShapeError unless the shape has rank D.
template <int D>
Output<D> output(const Shape& shape) {
  if (shape.rank() != D)
    throw ShapeError("[output] " + shape.to_string() + " is not of rank " + std::to_string(D));
  return {shape};
}

namespace detail {

struct LaunchArguments {
  std::vector<ValueRef> tensors;
  std::vector<Shape> made;
  std::vector<std::int64_t> scalars;
};
/// Without a grid: one unit along x for each element of the first result. `device` is needed only where no
/// argument is a tensor.
STRATA_API std::vector<ValueRef> launch(const lang::Kernel& kernel, const lang::Grid* grid,
                                        LaunchArguments arguments, const Device* device);

template <class T>
using KindOf =
    std::conditional_t<std::is_same_v<T, bool>, Bool, std::conditional_t<lang::FloatType<T>, Float, Int>>;

/// What argument `A` is to parameter `P`.
template <class P, class A>
struct Passed;
template <Element T, int D, class Kind>
requires std::same_as<Kind, KindOf<T>>
struct Passed<lang::In<T>, Tensor<D, Kind>> {
  using Results = std::tuple<>;
  static void add(LaunchArguments& to, const Tensor<D, Kind>& x) { to.tensors.push_back(x.value()); }
};
template <Element T, int D, class Kind>
requires std::same_as<Kind, KindOf<T>>
struct Passed<lang::InOut<T>, Tensor<D, Kind>> {
  using Results = std::tuple<Tensor<D, Kind>>;
  static void add(LaunchArguments& to, const Tensor<D, Kind>& x) { to.tensors.push_back(x.value()); }
};
template <Element T, int D>
struct Passed<lang::Out<T>, Output<D>> {
  using Results = std::tuple<Tensor<D, KindOf<T>>>;
  static void add(LaunchArguments& to, const Output<D>& made) { to.made.push_back(made.shape); }
};
template <lang::KernelType T, class Number>
requires std::is_arithmetic_v<Number> &&
    (lang::FloatType<T> ||
     (std::is_integral_v<Number> &&
      std::same_as<T, bool> == std::same_as<Number, bool>)) struct Passed<lang::Scalar<T>, Number> {
  using Results = std::tuple<>;
  static void add(LaunchArguments& to, Number number) { to.scalars.push_back(bits(number)); }

 private:
  static std::int64_t bits(Number number) {
    if constexpr (std::same_as<T, bool>) {
      return number;
    } else if constexpr (std::is_integral_v<T>) {
      if (!std::in_range<T>(number)) {
        throw ArgumentError("[launch] " + std::to_string(number) + " does not fit the kernel's integer type");
      }
      return static_cast<std::int64_t>(number);
    } else if constexpr (std::same_as<T, double>) {
      return std::bit_cast<std::int64_t>(static_cast<double>(number));
    } else if constexpr (std::same_as<T, float>) {
      return std::bit_cast<std::uint32_t>(static_cast<float>(number));
    } else {
      return T(static_cast<float>(number)).bits;
    }
  }
};

template <class P, class A>
concept Passes = requires {
  typename Passed<P, A>::Results;
};

template <class... P, class... A>
auto launch_typed(const lang::KernelOf<P...>& kernel, const lang::Grid* grid, const Device* device,
                  const A&... arguments) {
  LaunchArguments list;
  (Passed<P, A>::add(list, arguments), ...);
  const auto values = launch(kernel, grid, std::move(list), device);
  using Results = decltype(std::tuple_cat(std::declval<typename Passed<P, A>::Results>()...));
  static_assert(std::tuple_size_v<Results> > 0, "a kernel without Out or InOut arguments does nothing");
  return [&]<std::size_t... i>(std::index_sequence<i...>) {
    if constexpr (sizeof...(i) == 1) {
      return std::tuple_element_t<0, Results>(values[0]);
    } else {
      return Results(std::tuple_element_t<i, Results>(values[i])...);
    }
  }
  (std::make_index_sequence<std::tuple_size_v<Results>>());
}

}  // namespace detail

/// Runs `kernel` on tensors. Each In and InOut argument takes a tensor of its element type, whose elements
/// the kernel sees in row-major order whatever the layout; each Out takes `output<D>(shape)`, each Scalar a
/// number. The results are those of the InOut arguments (tensors are values: the one given stays as it is)
/// and the Out arguments, in order: a tensor, or a tuple of up to four. Elements of an Out that the kernel
/// does not write are unspecified.
///
///     const Tensor<1> z = launch(axpy, x, y, 2.0);
///     const auto [sum, index] = launch(scan, Grid{rows}, x, output<2>(x.shape()), output<1>({rows}));
///
/// Without a grid there is one unit along x for each element of the first result, rounded up to whole cubes.
/// An access beyond a tensor is an IndexError for whoever reads a result. A kernel has no gradient of its
/// own: backward() through it throws unless the launch stands within custom_gradient. Throws DTypeError,
/// DeviceError or ArgumentError when an argument or the grid does not fit; CompileError where the device
/// cannot hold a cube (when a result is read, if the device is lazy).
template <class... P, class... A>
requires(sizeof...(P) == sizeof...(A) &&
         (detail::Passes<P, A> && ...)) auto launch(const lang::KernelOf<P...>& kernel, lang::Grid grid,
                                                    const A&... arguments) {
  return detail::launch_typed(kernel, &grid, nullptr, arguments...);
}
template <class... P, class... A>
requires(sizeof...(P) == sizeof...(A) &&
         (detail::Passes<P, A> && ...)) auto launch(const lang::KernelOf<P...>& kernel,
                                                    const A&... arguments) {
  return detail::launch_typed(kernel, nullptr, nullptr, arguments...);
}
/// For kernels that take no tensor.
template <class... P, class... A>
requires(sizeof...(P) == sizeof...(A) &&
         (detail::Passes<P, A> && ...)) auto launch(const Device& device, const lang::KernelOf<P...>& kernel,
                                                    lang::Grid grid, const A&... arguments) {
  return detail::launch_typed(kernel, &grid, &device, arguments...);
}
template <class... P, class... A>
requires(sizeof...(P) == sizeof...(A) &&
         (detail::Passes<P, A> && ...)) auto launch(const Device& device, const lang::KernelOf<P...>& kernel,
                                                    const A&... arguments) {
  return detail::launch_typed(kernel, nullptr, &device, arguments...);
}

}  // namespace strata::inline v0
