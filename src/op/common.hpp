/// What every family's shape rule needs: the type of a tensor, the scalar attribute, and the two error
/// helpers.
#pragma once

#include <bit>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/hash.hpp"
#include "base/inline_vector.hpp"
#include "strata/dtype.hpp"
#include "strata/error.hpp"
#include "strata/shape.hpp"

namespace strata::op {

/// What is known of a tensor before it has data.
struct TensorType {
  DType dtype = DType::f32;
  Shape shape;
  bool operator==(const TensorType&) const = default;
  /// "f32[2, 3]".
  std::string to_string() const { return std::string(name_of(dtype)) + shape.to_string(); }
};

/// The dtype in which halves are computed where they may round only once.
inline DType wide(DType t) { return size_of(t) == 2 ? DType::f32 : t; }

/// Most families have one result; none has more than these.
inline constexpr std::size_t max_results = 4;
using TensorTypes = base::InlineVector<TensorType, max_results>;
using Inputs = std::span<const TensorType>;

/// A number attribute that keeps 64-bit integers exact. Equality is by bits, so NaN equals itself.
struct Number {
  enum class Kind : std::uint8_t { floating, integer, boolean } kind = Kind::floating;
  std::uint64_t bits = 0;

  Number() : Number(0.0) {}
  Number(double v) : bits(std::bit_cast<std::uint64_t>(v)) {}                           // NOLINT
  Number(std::int64_t v) : kind(Kind::integer), bits(static_cast<std::uint64_t>(v)) {}  // NOLINT
  Number(int v) : Number(static_cast<std::int64_t>(v)) {}                               // NOLINT
  Number(bool v) : kind(Kind::boolean), bits(v) {}                                      // NOLINT
  double as_double() const {
    return kind == Kind::floating ? std::bit_cast<double>(bits)
                                  : static_cast<double>(static_cast<std::int64_t>(bits));
  }
  /// Floats truncate and saturate as in Cast.
  std::int64_t as_int() const;
  bool as_bool() const { return kind == Kind::floating ? as_double() != 0 : bits != 0; }
  bool operator==(const Number&) const = default;
  std::string to_string() const;
};

/// Where the failing op was asked to run and what it got; rendered only when an error is built.
struct Site {
  std::string_view op;  ///< "matmul"
  Inputs inputs;
  std::string_view device;  ///< the backend's name; may be empty
};

/// Throw "[op] <what> (inputs: f32[2, 3], f32[4, 5]; device: dispatch<flex>)".
[[noreturn]] void shape_error(const Site& site, const std::string& what);
[[noreturn]] void dtype_error(const Site& site, const std::string& what);
[[noreturn]] void argument_error(const Site& site, const std::string& what);

/// Throws ShapeError unless `axis` is one of the first input's.
void require_axis(const Site& site, int axis);
/// Throws ShapeError when an extent is negative or the byte size of `t` does not fit 63 bits.
void check_size(const Site& site, const TensorType& t);
/// NumPy broadcasting of two shapes across ranks; extents of 0 count like any other (1 against 0 gives 0).
Shape broadcast(const Site& site, const Shape& a, const Shape& b);
/// Row-major strides of a contiguous tensor.
Strides contiguous_strides(const Shape& shape);

}  // namespace strata::op
