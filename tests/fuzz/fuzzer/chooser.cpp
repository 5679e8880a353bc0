#include "fuzz/fuzzer/chooser.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace strata::fuzz {
namespace {

/// Elements of a shape that may have more than fit 64 bits.
double count(const Shape& shape) {
  double n = 1;
  for (auto e : shape) n *= static_cast<double>(e);
  return n;
}

constexpr DType all_dtypes[] = {DType::f64, DType::f32, DType::f16, DType::bf16,
                                DType::i64, DType::i32, DType::u8,  DType::boolean};

template <class T>
T special(Choices& choices) {
  using Limits = std::numeric_limits<T>;
  if constexpr (std::is_same_v<T, bool>) {
    return choices.chance(0.5);
  } else if constexpr (std::is_integral_v<T>) {
    return choices.one_of(std::vector<T>{Limits::min(), Limits::max(), 0, static_cast<T>(-1), 1,
                                         static_cast<T>(Limits::max() / 2 + 1)});
  } else {
    const auto at = [](double v) { return static_cast<T>(v); };
    return choices.one_of(std::vector<T>{at(NAN), at(INFINITY), at(-INFINITY), at(-0.0), at(0), Limits::max(),
                                         Limits::lowest(), Limits::min(), Limits::denorm_min(),
                                         at(-3) * Limits::denorm_min(), at(1), at(-1), at(88.7), at(1e-3)});
  }
}
template <class Half>
Half special_half(Choices& choices) {
  constexpr std::uint16_t f16[] = {0x7e00, 0x7c00, 0xfc00, 0x8000, 0, 0x7bff, 0xfbff, 0x0400, 1, 0x8003},
                          bf16[] = {0x7fc0, 0x7f80, 0xff80, 0x8000, 0, 0x7f7f, 0xff7f, 0x0080, 1, 0x8003};
  Half h;
  h.bits = (dtype_of<Half>() == DType::f16 ? f16 : bf16)[choices.below(std::size(f16))];
  return h;
}

/// What most elements are like.
enum class Mood { everyday, whole, positive, wide };

template <class T>
T ordinary(Choices& choices, Mood mood) {
  if constexpr (std::is_same_v<T, bool>) {
    return choices.chance(0.5);
  } else if constexpr (std::is_integral_v<T>) {
    const bool wide = mood == Mood::wide;
    const std::int64_t high = wide ? (sizeof(T) == 1 ? 255 : 100'000) : 9;
    return static_cast<T>(choices.between(std::is_signed_v<T> ? -high : 0, high));
  } else {
    const double v = mood == Mood::whole      ? static_cast<double>(choices.between(-4, 4))
                     : mood == Mood::positive ? 0.25 + 2 * choices.unit()
                     : mood == Mood::wide ? std::exp(16 * choices.unit() - 8) * (choices.chance(0.5) ? 1 : -1)
                                          : 6 * choices.unit() - 3;
    return T(static_cast<float>(v));
  }
}

}  // namespace

Palette Palette::random(Choices& choices) {
  Palette p;
  p.dtype = choices.chance(0.4) ? DType::f32 : all_dtypes[choices.below(std::size(all_dtypes))];
  const std::vector<std::int64_t> small{2, 3, 4, 5, 7, 8, 16, 17, 33};
  for (auto n = choices.between(1, 3); n > 0; --n) p.extents.push_back(choices.one_of(small));
  if (choices.chance(0.1)) p.extents.push_back(0);
  if (choices.chance(0.06)) {
    p.extents.push_back(choices.one_of(std::vector<std::int64_t>{257, 1000, 4099, 33000}));
    p.largest = 150'000;
  }
  p.specials = choices.chance(0.2);
  return p;
}

Chooser::Chooser(std::uint64_t seed, Program& program)
    : Choices(seed), program_(program), palette_(Palette::random(*this)) {}

void Chooser::start_body() {
  results_.clear();
  held_.clear();
  for (std::size_t i = 0; i < program_.inputs.size(); ++i) held_.push_back(~static_cast<ValueId>(i));
}

ValueId Chooser::made(const TensorType& type) {
  results_.emplace_back(type);
  held_.push_back(static_cast<ValueId>(results_.size()) - 1);
  return held_.back();
}
void Chooser::made_nothing() { results_.emplace_back(); }
void Chooser::dropped(ValueId id) { std::erase(held_, id); }

TensorType Chooser::type(ValueId id) const {
  if (!is_input(id)) return *results_[static_cast<std::size_t>(id)];
  const auto& data = program_.inputs[input_index(id)];
  return {data.dtype(), data.shape()};
}

ValueId Chooser::operand(const Fits& fits, const std::function<TensorType()>& otherwise) {
  std::vector<ValueId> fitting;
  for (auto id : held_) {
    if (fits(type(id))) fitting.push_back(id);
  }
  if (fitting.empty() || chance(0.08)) return fresh(otherwise());
  // Young values more often: chains get deep.
  if (fitting.size() > 3 && chance(0.5)) return fitting[fitting.size() - 1 - below(3)];
  return one_of(fitting);
}
ValueId Chooser::any() {
  return operand([](const TensorType&) { return true; }, [this] { return TensorType{dtype(), shape()}; });
}
ValueId Chooser::of_dtype(const std::function<bool(DType)>& fits) {
  return operand([&](const TensorType& t) { return fits(t.dtype); },
                 [&] {
                   return TensorType{dtype(fits), shape()};
                 });
}
ValueId Chooser::of_rank(int least) {
  return operand([&](const TensorType& t) { return t.shape.rank() >= least; },
                 [&] {
                   return TensorType{dtype(), shape_of_rank(least + static_cast<int>(below(3)))};
                 });
}
ValueId Chooser::partner(const TensorType& with, DType wanted) {
  const auto fits = [&](const TensorType& t) {
    if (t.dtype != wanted) return false;
    for (int i = 1; i <= std::min(t.shape.rank(), with.shape.rank()); ++i) {
      const auto a = t.shape[t.shape.rank() - i], b = with.shape[with.shape.rank() - i];
      if (a != b && a != 1 && b != 1) return false;
    }
    return true;
  };
  return operand(fits, [&] {
    return TensorType{wanted, chance(0.4) ? with.shape : broadcastable(with.shape)};
  });
}
ValueId Chooser::fresh(const TensorType& type) {
  if (count(type.shape) > static_cast<double>(palette_.largest)) throw TooLarge{};
  program_.inputs.push_back(elements(type));
  held_.push_back(~(static_cast<ValueId>(program_.inputs.size()) - 1));
  return held_.back();
}

ValueId Chooser::fresh_index(const Shape& shape, std::int64_t extent) {
  if (count(shape) > static_cast<double>(palette_.largest) || (extent == 0 && count(shape) > 0))
    throw TooLarge{};
  std::vector<std::int64_t> values;
  for (auto n = shape.product(); n > 0; --n) values.push_back(between(0, extent - 1));
  const auto data = TensorData::from<std::int64_t>(values, shape);
  program_.inputs.push_back(chance(0.3) ? data.convert(DType::i32) : data);
  held_.push_back(~(static_cast<ValueId>(program_.inputs.size()) - 1));
  return held_.back();
}

DType Chooser::dtype(const std::function<bool(DType)>& fits) {
  if (fits(palette_.dtype) && chance(0.75)) return palette_.dtype;
  std::vector<DType> fitting;
  for (auto t : all_dtypes) {
    if (fits(t)) fitting.push_back(t);
  }
  return one_of(fitting);
}
std::int64_t Chooser::extent() { return chance(0.15) ? 1 : one_of(palette_.extents); }
Shape Chooser::shape() { return shape_of_rank(static_cast<int>(weighted({1, 3, 6, 4, 2, 1}))); }
Shape Chooser::shape_of_rank(int rank) {
  Shape s = Shape::filled(rank, 1);
  for (auto& e : s) e = extent();
  return fitted(s);
}
Shape Chooser::fitted(Shape shape) const {
  for (auto& e : shape) {
    if (count(shape) <= static_cast<double>(palette_.largest)) break;
    e = 1;
  }
  return shape;
}
Shape Chooser::broadcastable(const Shape& shape) {
  const int gone = chance(0.4) ? static_cast<int>(below(static_cast<std::size_t>(shape.rank()) + 1)) : 0;
  Shape out;
  for (int i = gone; i < shape.rank(); ++i) out.push_back(chance(0.4) ? 1 : shape[i]);
  return out;
}
Axes Chooser::axes(int rank) {
  Axes out;
  for (int i = 0; i < rank; ++i) {
    if (chance(0.5)) out.push_back(i);
  }
  return out;
}

TensorData Chooser::elements(const TensorType& type) {
  const auto n = static_cast<std::size_t>(type.shape.product());
  const auto bytes = TensorData::allocate(n * size_of(type.dtype));
  const auto mood = static_cast<Mood>(weighted({5, 2, 3, 1}));
  const double specials = palette_.specials && chance(0.7) ? 0.15 : 0;
  visit_dtype(type.dtype, [&]<class T>() {
    auto* out = reinterpret_cast<T*>(bytes.get());
    for (std::size_t i = 0; i < n; ++i) {
      if (!chance(specials)) {
        out[i] = ordinary<T>(*this, mood);
      } else if constexpr (std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16>) {
        out[i] = special_half<T>(*this);
      } else {
        out[i] = special<T>(*this);
      }
    }
  });
  return {type.dtype, type.shape, bytes};
}

}  // namespace strata::fuzz
