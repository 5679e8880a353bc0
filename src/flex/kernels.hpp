/// Vectorised loops over contiguous elements, compiled for several instruction sets and chosen at run time
/// (Highway). Halves go through f32 and bool is stored as bytes: `Compute<T>` is the type the loops work on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "strata/detail/kinds.hpp"
#include "strata/dtype.hpp"

namespace strata::flex {

template <class T>
inline constexpr bool is_half = std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16>;
template <class T>
using Compute =
    std::conditional_t<is_half<T>, float, std::conditional_t<std::is_same_v<T, bool>, std::uint8_t, T>>;

template <class T>
using UnaryKernel = void (*)(const T* x, T* out, std::size_t n);
template <class T>
using BinaryKernel = void (*)(const T* a, const T* b, T* out, std::size_t n);
template <class T>
using ScalarKernel = void (*)(const T* a, T b, T* out, std::size_t n);
template <class T>
using CompareKernel = void (*)(const T* a, const T* b, std::uint8_t* out, std::size_t n);

/// T: float, double, std::int64_t, std::int32_t, std::uint8_t. The kind fits the type: op::infer has checked.
/// `logical_not` of bool is bit_xor with 1 and has no kernel of its own.
template <class T>
UnaryKernel<T> unary_kernel(op::UnaryKind kind);
/// The part of `unary_kernel` in special_kernels.cpp: float and double only.
constexpr bool is_special(op::UnaryKind kind) {
  return kind >= op::UnaryKind::erf && kind <= op::UnaryKind::digamma;
}
template <class T>
UnaryKernel<T> special_kernel(op::UnaryKind kind);
template <class T>
BinaryKernel<T> binary_kernel(op::BinaryKind kind);
/// One number on the right of many, where that is not left to `binary_kernel`; else null. float and double.
template <class T>
ScalarKernel<T> scalar_kernel(op::BinaryKind kind);
template <class T>
CompareKernel<T> compare_kernel(op::CompareKind kind);

/// The instruction set in use, e.g. "AVX3" (Highway's name of AVX-512).
const char* instruction_set();

void to_float(const Float16* x, float* out, std::size_t n);
void to_float(const BFloat16* x, float* out, std::size_t n);
void from_float(const float* x, Float16* out, std::size_t n);
void from_float(const float* x, BFloat16* out, std::size_t n);

}  // namespace strata::flex
