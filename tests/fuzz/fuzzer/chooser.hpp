/// What a family's rule chooses from: the values at hand, shapes and dtypes of the program's palette.
#pragma once

#include <functional>

#include "fuzz/fuzzer/choices.hpp"
#include "fuzz/fuzzer/program.hpp"

namespace strata::fuzz {

using op::TensorType;

/// Small pools that a program draws from, so that its values fit together and kernels repeat.
struct Palette {
  DType dtype = DType::f32;           ///< of most values
  std::vector<std::int64_t> extents;  ///< of new shapes, beside 1
  std::int64_t largest = 4096;        ///< elements of one value
  bool specials = false;              ///< NaN, infinities, extremes ... among the inputs' elements

  static Palette random(Choices& choices);
};

struct TooLarge {};

class Chooser : public Choices {
 public:
  using Fits = std::function<bool(const TensorType&)>;

  Chooser(std::uint64_t seed, Program& program);

  // ---- values

  /// The body now written starts without values of its own.
  void start_body();
  /// The id of a call's result.
  ValueId made(const TensorType& type);
  /// A call that is refused makes a value that does not exist.
  void made_nothing();
  void dropped(ValueId id);
  TensorType type(ValueId id) const;
  /// Values whose handles are held, oldest first.
  const std::vector<ValueId>& held() const { return held_; }

  /// A held value that fits; a new input of `otherwise()` where there is none, and now and then.
  ValueId operand(const Fits& fits, const std::function<TensorType()>& otherwise);
  /// Any value, of any type.
  ValueId any();
  ValueId of_dtype(const std::function<bool(DType)>& fits);
  /// A value of rank `least` or more.
  ValueId of_rank(int least);
  /// One that broadcasts with `with` and has `dtype`.
  ValueId partner(const TensorType& with, DType dtype);
  /// A new program input with random elements. Throws TooLarge beyond the palette's size: the call is given
  /// up.
  ValueId fresh(const TensorType& type);
  /// A new program input of indices (i64 or i32) in [0, extent).
  ValueId fresh_index(const Shape& shape, std::int64_t extent);

  // ---- attributes

  DType dtype(const std::function<bool(DType)>& fits = [](DType) { return true; });
  std::int64_t extent();
  Shape shape();
  Shape shape_of_rank(int rank);
  /// `shape` with some leading axes gone and some extents 1.
  Shape broadcastable(const Shape& shape);
  std::int64_t largest() const { return palette_.largest; }
  /// A random subset of 0 .. rank - 1, ascending.
  Axes axes(int rank);

 private:
  TensorData elements(const TensorType& type);
  Shape fitted(Shape shape) const;

  Program& program_;
  const Palette palette_;
  std::vector<std::optional<TensorType>> results_;
  std::vector<ValueId> held_;
};

}  // namespace strata::fuzz
