/// Fill, Iota, Random, the passage of data, and memory that is not there. Instantiate `CreationConformance`.
#pragma once

#include <array>

#include "conformance/reference.hpp"

namespace strata::conformance {

class CreationConformance : public Conformance {};

TEST_P(CreationConformance, FillConvertsItsNumber) {
  for (auto dtype : all_dtypes) {
    SCOPED_TRACE(std::string(name_of(dtype)));
    for (const auto& shape : {Shape{}, Shape{3, 4}, Shape{0, 2}, Shape{70000}}) {
      const auto n = static_cast<std::size_t>(shape.product());
      const auto filled = [&](op::Number v) { return bridge::fill(backend(), shape, dtype, v); };
      expect_equal(filled(1), {dtype, shape, std::vector<Exact>(n, 1)});
      expect_equal(filled(true), {dtype, shape, std::vector<Exact>(n, 1)});
      const Exact fraction = is_float(dtype) ? rounded(dtype, 2.7L) : dtype == DType::boolean ? 1 : 2;
      expect_equal(filled(2.7), {dtype, shape, std::vector<Exact>(n, fraction)});
    }
  }
  const auto big = std::int64_t{1} << 62;
  expect_equal(bridge::fill(backend(), {2}, DType::i64, big + 1),
               {DType::i64, {2}, std::vector<Exact>(2, static_cast<Exact>(big + 1))});
  expect_equal(bridge::fill(backend(), {1}, DType::u8, 300), {DType::u8, {1}, {44}});
  expect_equal(bridge::fill(backend(), {1}, DType::u8, 300.0), {DType::u8, {1}, {255}});
  expect_equal(bridge::fill(backend(), {1}, DType::i32, std::nan("")), {DType::i32, {1}, {0}});
}

TEST_P(CreationConformance, IotaCounts) {
  for (auto dtype : numbers()) {
    SCOPED_TRACE(std::string(name_of(dtype)));
    Array expected{dtype, {20}, {}};
    for (int i = 0; i < 20; ++i) expected.values.push_back(3 + 2 * i);
    expect_equal(bridge::iota(backend(), 20, dtype, 3, 2), expected);
    expect_equal(bridge::iota(backend(), 0, dtype, 3, 2), {dtype, {0}, {}});
  }
  Array fractions{DType::f32, {5000}, {}};
  for (int i = 0; i < 5000; ++i) fractions.values.push_back(rounded(DType::f32, 0.1 + i * 0.3));
  expect_equal(bridge::iota(backend(), 5000, DType::f32, 0.1, 0.3), fractions);
  expect_equal(bridge::iota(backend(), 3, DType::i64, -1, -5), {DType::i64, {3}, {-1, -6, -11}});
}

/// Philox4x32-10, written from the paper a second time.
inline std::array<std::uint32_t, 4> reference_philox(std::uint64_t counter, std::uint64_t key) {
  std::uint32_t x[4] = {static_cast<std::uint32_t>(counter), static_cast<std::uint32_t>(counter >> 32), 0, 0};
  std::uint32_t k0 = static_cast<std::uint32_t>(key), k1 = static_cast<std::uint32_t>(key >> 32);
  for (int i = 0; i < 10; ++i) {
    const std::uint64_t a = 0xD2511F53ull * x[0], b = 0xCD9E8D57ull * x[2];
    const std::uint32_t y[4] = {
        static_cast<std::uint32_t>(b >> 32) ^ x[1] ^ k0, static_cast<std::uint32_t>(b),
        static_cast<std::uint32_t>(a >> 32) ^ x[3] ^ k1, static_cast<std::uint32_t>(a)};
    std::copy(y, y + 4, x);
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return {x[0], x[1], x[2], x[3]};
}

inline Exact reference_random(const op::Random& r, std::int64_t i) {
  const auto words = reference_philox(static_cast<std::uint64_t>(i / 2), r.seed);
  const auto w0 = words[static_cast<std::size_t>(2 * (i % 2))],
             w1 = words[static_cast<std::size_t>(2 * (i % 2) + 1)];
  const Exact u32 = static_cast<Exact>(w0 >> 8) * 0x1p-24L, v = static_cast<Exact>(w1 >> 8) * 0x1p-24L;
  const Exact u64 = static_cast<Exact>((static_cast<std::uint64_t>(w1) << 32 | w0) >> 11) * 0x1p-53L;
  switch (r.distribution) {
    case op::Distribution::uniform:
      if (r.dtype == DType::f64) return r.a + u64 * (r.b - r.a);
      if (is_float(r.dtype)) return r.a + u32 * (r.b - r.a);
      return std::floor(r.a) + std::floor(u64 * (r.b - std::floor(r.a)));
    case op::Distribution::normal:
      return r.a + r.b * std::sqrt(-2 * std::log(1 - u32)) * std::cos(2 * 3.14159265358979323846264338L * v);
    case op::Distribution::bernoulli:
      break;
  }
  return u32 < static_cast<float>(r.a);
}

TEST_P(CreationConformance, RandomFollowsItsDefinition) {
  using op::Distribution;
  for (auto dtype : all_dtypes) {
    for (auto distribution : {Distribution::uniform, Distribution::normal, Distribution::bernoulli}) {
      if (distribution == Distribution::uniform && dtype == DType::boolean) continue;
      if (distribution == Distribution::normal && !is_float(dtype)) continue;
      for (const auto& shape : {Shape{}, Shape{7}, Shape{3, 5, 41}, Shape{9001}}) {
        SCOPED_TRACE(std::string(name_of(dtype)) + " " + std::string(name_of(distribution)) +
                     shape.to_string());
        const bool coin = distribution == Distribution::bernoulli;
        const op::Random r{
            shape, dtype, distribution, coin ? 0.3 : 2.0, coin ? 1.0 : 9.5, 0x123456789abcdefULL};
        Array expected{dtype, shape, {}};
        for (std::int64_t i = 0; i < shape.product(); ++i) {
          expected.values.push_back(rounded(dtype, reference_random(r, i)));
        }
        // f32 arithmetic on values up to 11.5, for normal numbers also the cosine of a rounded angle; then
        // one rounding
        const Exact arithmetic =
            accumulator_epsilon(dtype) * (distribution == Distribution::normal ? 512 : 64);
        expect_equal(bridge::random(backend(), r), expected,
                     is_float(dtype) && !coin ? Tolerance([&](std::size_t i) {
                       return arithmetic + epsilon(dtype) * std::abs(expected.values[i]);
                     })
                                              : Tolerance{});
      }
    }
  }
}

TEST_P(CreationConformance, DataPassesUnchanged) {
  for (auto dtype : all_dtypes) {
    for (const auto& shape : {Shape{}, Shape{0}, Shape{3, 4}, Shape{1000, 33}}) {
      const auto a = random_array(dtype, shape, 8);
      expect_equal(upload(backend(), a), a);
    }
  }
  // Bytes that no allocator aligned.
  const auto whole = TensorData::from<float>({1, 2, 3, 4}, {4});
  const std::shared_ptr<const std::byte> tail(whole.shared_bytes(), whole.bytes() + sizeof(float));
  expect_equal(backend().from_data(TensorData(DType::f32, {3}, tail)), {DType::f32, {3}, {2, 3, 4}});
}

TEST_P(CreationConformance, ReadDataOutlivesItsTensorAndIsNeverOverwritten) {
  TensorData data;
  {
    const auto x = bridge::iota(backend(), 100, DType::i64, 0, 1);
    data = backend().into_data(x).get();
  }
  for (int i = 0; i < 50; ++i) static_cast<void>(read(bridge::fill(backend(), {100}, DType::i64, 7)));
  for (std::size_t i = 0; i < 100; ++i) EXPECT_EQ(data.as<std::int64_t>()[i], static_cast<std::int64_t>(i));
}

TEST_P(CreationConformance, MemoryThatIsNotThereIsAnErrorThatCanBeCaught) {
  const auto bytes = std::int64_t{1} << 50;
  try {
    const auto x = bridge::fill(backend(), {bytes / 4}, DType::f32, 1);
    static_cast<void>(backend().into_data(x).get());
    FAIL() << "2^50 bytes were allocated";
  } catch (const OutOfMemoryError& e) {
    const std::string text = e.what();
    EXPECT_NE(text.find(std::to_string(bytes)), std::string::npos) << text;
    EXPECT_NE(text.find("fill"), std::string::npos) << text;
  }
  expect_equal(bridge::fill(backend(), {2}, DType::f32, 1), {DType::f32, {2}, {1, 1}});
}

TEST_P(CreationConformance, ShapesBeyondSixtyThreeBitsAreRefused) {
  const auto huge = std::int64_t{1} << 40;
  EXPECT_THROW(bridge::fill(backend(), {huge, huge}, DType::f32, 1), ShapeError);
  EXPECT_THROW(bridge::fill(backend(), {-1}, DType::f32, 1), ShapeError);
  // Views of 2^41 elements need no memory.
  const auto wide = bridge::expand(bridge::fill(backend(), {1, 2}, DType::u8, 3), {huge, 2});
  EXPECT_EQ(wide->shape, (Shape{huge, 2}));
  expect_equal(bridge::slice(wide, {huge - 1, 0}, {huge, 2}, {1, 1}), {DType::u8, {1, 2}, {3, 3}});
}

}  // namespace strata::conformance
