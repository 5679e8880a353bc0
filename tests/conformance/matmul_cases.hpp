/// Matmul against the model. Instantiate `MatmulConformance`.
#pragma once

#include "conformance/reference.hpp"

namespace strata::conformance {

class MatmulConformance : public Conformance {};

/// The product, and for each element the sum of |a||b| that its rounding error is proportional to.
struct ReferenceProduct {
  Array product;
  std::vector<Exact> magnitude;
};

inline ReferenceProduct reference_matmul(const Array& a, const Array& b) {
  const int ra = a.shape.rank(), rb = b.shape.rank();
  const auto m = a.shape[ra - 2], k = a.shape[ra - 1], n = b.shape[rb - 1];
  Shape batch_a, batch_b;
  for (int i = 0; i < ra - 2; ++i) batch_a.push_back(a.shape[i]);
  for (int i = 0; i < rb - 2; ++i) batch_b.push_back(b.shape[i]);
  ReferenceProduct out{{a.dtype, broadcast_shape(batch_a, batch_b), {}}, {}};
  const auto products = out.product.shape.product();
  const auto batch = out.product.shape;
  const auto matrix = [&](const Array& x, const Shape& own, std::int64_t product) {
    const auto index = index_of(batch, product);
    std::int64_t at = 0;
    for (int i = 0; i < own.rank(); ++i) {
      const auto position = own[i] == 1 ? 0 : index[static_cast<std::size_t>(batch.rank() - own.rank() + i)];
      at = at * own[i] + position;
    }
    return x.values.data() + at * x.shape[x.shape.rank() - 2] * x.shape[x.shape.rank() - 1];
  };
  out.product.shape.push_back(m);
  out.product.shape.push_back(n);
  for (std::int64_t p = 0; p < products && m * n > 0; ++p) {
    const Exact* x = k ? matrix(a, batch_a, p) : nullptr;
    const Exact* y = k ? matrix(b, batch_b, p) : nullptr;
    for (std::int64_t i = 0; i < m; ++i) {
      for (std::int64_t j = 0; j < n; ++j) {
        Exact sum = 0, magnitude = 0;
        std::uint64_t wrapping = 0;
        for (std::int64_t q = 0; q < k; ++q) {
          const auto u = x[i * k + q], v = y[q * n + j];
          if (is_float(a.dtype)) {
            sum += u * v;
            magnitude += std::abs(u * v);
          } else {
            wrapping += static_cast<std::uint64_t>(static_cast<std::int64_t>(u)) *
                        static_cast<std::uint64_t>(static_cast<std::int64_t>(v));
          }
        }
        out.product.values.push_back(is_float(a.dtype) ? rounded(a.dtype, sum)
                                                       : static_cast<Exact>(wrapped(a.dtype, wrapping)));
        out.magnitude.push_back(magnitude);
      }
    }
  }
  return out;
}

inline void check_matmul(const Sample& a, const Sample& b) {
  const auto expected = reference_matmul(a.array, b.array);
  const auto dtype = a.array.dtype;
  const auto k = static_cast<Exact>(a.array.shape.back());
  expect_equal(bridge::matmul(a.value, b.value), expected.product,
               is_float(dtype) ? Tolerance([&](std::size_t i) {
                 return accumulator_epsilon(dtype) * (k + 2) * expected.magnitude[i] +
                        epsilon(dtype) * std::abs(expected.product.values[i]) + smallest_subnormal(dtype);
               })
                               : Tolerance{});
}

TEST_P(MatmulConformance, EveryDtypeAndLayout) {
  const std::pair<Shape, Shape> shapes[] = {{{2, 2}, {2, 2}},    {{1, 5}, {5, 1}}, {{1, 37}, {37, 19}},
                                            {{19, 37}, {37, 1}}, {{7, 3}, {3, 9}}, {{33, 17}, {17, 65}},
                                            {{64, 48}, {48, 32}}};
  for (auto dtype : numbers()) {
    for (const auto& [left, right] : shapes) {
      for (auto layout_a : all_layouts) {
        for (auto layout_b : {Layout::contiguous, layout_a}) {
          SCOPED_TRACE(std::string(name_of(dtype)) + left.to_string() + name_of(layout_a) + " x " +
                       right.to_string() + name_of(layout_b));
          check_matmul(sample(backend(), dtype, left, layout_a, 1),
                       sample(backend(), dtype, right, layout_b, 2));
        }
      }
    }
  }
}

TEST_P(MatmulConformance, BatchesBroadcast) {
  const std::pair<Shape, Shape> shapes[] = {{{3, 8, 9}, {3, 9, 10}},   {{3, 8, 9}, {9, 10}},
                                            {{8, 9}, {3, 9, 10}},      {{1, 8, 9}, {4, 9, 10}},
                                            {{5, 1, 9}, {9, 10}},      {{2, 3, 8, 9}, {2, 1, 9, 4}},
                                            {{2, 1, 8, 9}, {3, 9, 4}}, {{4, 1, 2, 2}, {1, 5, 2, 2}}};
  for (auto dtype : {DType::f64, DType::f32, DType::f16, DType::bf16, DType::i64, DType::u8}) {
    for (const auto& [left, right] : shapes) {
      for (auto layout : all_layouts) {
        SCOPED_TRACE(std::string(name_of(dtype)) + left.to_string() + " x " + right.to_string() +
                     name_of(layout));
        check_matmul(sample(backend(), dtype, left, layout, 1), sample(backend(), dtype, right, layout, 2));
      }
    }
  }
}

TEST_P(MatmulConformance, TransposedOperands) {
  for (auto dtype : {DType::f64, DType::f32, DType::bf16, DType::i32}) {
    const auto a = random_array(dtype, {40, 30}, 1), b = random_array(dtype, {50, 40}, 2);
    const auto swap = [](const Array& x) {
      return remap(x, {x.shape[1], x.shape[0]}, [](const Index& i) { return Index{i[1], i[0]}; });
    };
    check_matmul({bridge::transpose(upload(backend(), a)), swap(a)},
                 {bridge::transpose(upload(backend(), b)), swap(b)});
  }
}

TEST_P(MatmulConformance, ZeroExtents) {
  for (auto dtype : numbers()) {
    const auto check = [&](const Shape& left, const Shape& right) {
      check_matmul(sample(backend(), dtype, left, Layout::contiguous, 1),
                   sample(backend(), dtype, right, Layout::contiguous, 2));
    };
    check({3, 0, 0}, {0, 0});
    check({2, 0}, {0, 3});  // a sum of nothing: zeros
    check({0, 4}, {4, 3});
    check({2, 3, 4}, {1, 4, 0});
    check({5, 2, 0}, {5, 0, 2});
  }
}

TEST_P(MatmulConformance, HalvesRoundOnce) {
  // 2048 + 1 + 1 ... stalls when a half accumulates; f32 does not.
  const std::int64_t k = 4096;
  for (auto dtype : {DType::f16, DType::bf16}) {
    const Array ones{dtype, {1, k}, std::vector<Exact>(static_cast<std::size_t>(k), 1)};
    const Array column{dtype, {k, 1}, ones.values};
    expect_equal(bridge::matmul(upload(backend(), ones), upload(backend(), column)), {dtype, {1, 1}, {4096}});
  }
}

TEST_P(MatmulConformance, IntegersWrap) {
  const Array a{DType::i32, {1, 2}, {2147483647, 1}}, b{DType::i32, {2, 1}, {1, 1}};
  expect_equal(bridge::matmul(upload(backend(), a), upload(backend(), b)),
               {DType::i32, {1, 1}, {-2147483648.0L}});
  const Array c{DType::u8, {1, 2}, {200, 100}}, d{DType::u8, {2, 1}, {1, 1}};
  expect_equal(bridge::matmul(upload(backend(), c), upload(backend(), d)), {DType::u8, {1, 1}, {44}});
}

TEST_P(MatmulConformance, NaNAndInfinityReachTheResult) {
  for (auto dtype : floats()) {
    const Array a{dtype, {2, 2}, {0, 1, 2, 3}}, b{dtype, {2, 2}, {infinity, 1, 1, nan_value}};
    expect_equal(bridge::matmul(upload(backend(), a), upload(backend(), b)),
                 {dtype, {2, 2}, {nan_value, nan_value, infinity, nan_value}});
  }
}

TEST_P(MatmulConformance, MismatchesAreRefused) {
  const auto a = upload(backend(), random_array(DType::f32, {2, 3}, 1));
  const auto b = upload(backend(), random_array(DType::f32, {4, 5}, 2));
  try {
    bridge::matmul(a, b);
    FAIL() << "inner dimensions 3 and 4 were accepted";
  } catch (const ShapeError& e) {
    const std::string text = e.what();
    EXPECT_NE(text.find("[matmul]"), std::string::npos) << text;
    EXPECT_NE(text.find("f32[2, 3]"), std::string::npos) << text;
    EXPECT_NE(text.find("f32[4, 5]"), std::string::npos) << text;
    EXPECT_NE(text.find(backend().name()), std::string::npos) << text;
  }
  EXPECT_THROW(bridge::matmul(a, bridge::cast(bridge::transpose(a), DType::f64)), DTypeError);
  EXPECT_THROW(bridge::matmul(a, bridge::reshape(a, {6})), ShapeError);
  const auto flags = upload(backend(), random_array(DType::boolean, {2, 2}, 1));
  EXPECT_THROW(bridge::matmul(flags, flags), DTypeError);
}

}  // namespace strata::conformance
