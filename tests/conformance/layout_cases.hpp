/// Reshape, Permute, Expand, Slice, Flip and Cat against the model. Instantiate `LayoutConformance`.
#pragma once

#include "conformance/reference.hpp"

namespace strata::conformance {

class LayoutConformance : public Conformance {};

TEST_P(LayoutConformance, RoundTripOfEveryDtypeAndLayout) {
  for (auto dtype : all_dtypes) {
    for (const auto& shape :
         {Shape{}, Shape{0}, Shape{1}, Shape{5}, Shape{2, 0, 3}, Shape{3, 5, 7}, Shape{100, 70}}) {
      for (auto layout : all_layouts) {
        SCOPED_TRACE(std::string(name_of(dtype)) + shape.to_string() + name_of(layout));
        const auto x = sample(backend(), dtype, shape, layout, 1);
        expect_equal(x.value, x.array);
      }
    }
  }
}

TEST_P(LayoutConformance, ReshapeKeepsRowMajorOrder) {
  for (auto dtype : all_dtypes) {
    for (auto layout : all_layouts) {
      for (const auto& shape :
           {Shape{105}, Shape{15, 7}, Shape{5, 3, 7}, Shape{1, 3, 1, 35}, Shape{7, 5, 3}}) {
        SCOPED_TRACE(std::string(name_of(dtype)) + shape.to_string() + name_of(layout));
        const auto x = sample(backend(), dtype, {3, 5, 7}, layout, 1);
        expect_equal(bridge::reshape(x.value, shape), {dtype, shape, x.array.values});
      }
    }
  }
  expect_equal(bridge::reshape(upload(backend(), {DType::f32, {1, 1}, {4}}), {}), {DType::f32, {}, {4}});
  expect_equal(bridge::reshape(upload(backend(), {DType::f32, {0, 3}, {}}), {7, 0}),
               {DType::f32, {7, 0}, {}});
}

TEST_P(LayoutConformance, ViewsOfViews) {
  for (auto dtype : {DType::f32, DType::f16, DType::i64, DType::boolean}) {
    for (auto layout : all_layouts) {
      SCOPED_TRACE(std::string(name_of(dtype)) + name_of(layout));
      const auto x = sample(backend(), dtype, {4, 5, 6}, layout, 1);
      const auto at = [&](std::int64_t i, std::int64_t j, std::int64_t k) { return x.array.at({i, j, k}); };
      // [4, 5, 6] -> permuted [6, 4, 5] -> every second of axis 0 from 1 [3, 4, 5] -> axes 0 and 2 reversed
      const auto permuted = bridge::permute(x.value, {2, 0, 1});
      const auto sliced = bridge::slice(permuted, {1, 0, 0}, {6, 4, 5}, {2, 1, 1});
      Array expected{dtype, {3, 4, 5}, {}};
      for (std::int64_t a = 0; a < 3; ++a) {
        for (std::int64_t b = 0; b < 4; ++b) {
          for (std::int64_t c = 0; c < 5; ++c) expected.values.push_back(at(b, 4 - c, 1 + 2 * (2 - a)));
        }
      }
      expect_equal(bridge::flip(sliced, {0, 2}), expected);
    }
  }
}

TEST_P(LayoutConformance, ExpandRepeats) {
  for (auto dtype : all_dtypes) {
    const auto a = random_array(dtype, {3, 1}, 1);
    const auto expanded = bridge::expand(upload(backend(), a), {2, 3, 4});
    expect_equal(expanded, remap(a, {2, 3, 4}, [](const Index& i) { return Index{i[1], 0}; }));
    const auto scalar = random_array(dtype, {}, 1);
    expect_equal(bridge::expand(upload(backend(), scalar), {3}),
                 {dtype, {3}, std::vector<Exact>(3, scalar.values[0])});
    expect_equal(bridge::expand(upload(backend(), a), {0, 3, 4}), {dtype, {0, 3, 4}, {}});
  }
}

TEST_P(LayoutConformance, SlicesStopWhereTheyShould) {
  for (auto dtype : all_dtypes) {
    const auto a = random_array(dtype, {8, 5}, 1);
    const auto x = upload(backend(), a);
    const auto prefix = bridge::slice(x, {0, 0}, {5, 5}, {1, 1});
    Array expected{dtype, {5, 5}, {a.values.begin(), a.values.begin() + 25}};
    expect_equal(prefix, expected);
    EXPECT_EQ(backend().into_data(prefix).get().byte_size(), 25 * size_of(dtype));
    expect_equal(bridge::slice(x, {8, 0}, {8, 5}, {1, 1}), {dtype, {0, 5}, {}});
    expect_equal(bridge::slice(x, {3, 1}, {8, 5}, {3, 3}), remap(a, {2, 2}, [](const Index& i) {
                   return Index{3 + 3 * i[0], 1 + 3 * i[1]};
                 }));
  }
}

TEST_P(LayoutConformance, CatOnEveryDtypeAndLayout) {
  for (auto dtype : all_dtypes) {
    for (auto layout : all_layouts) {
      for (int axis = 0; axis < 3; ++axis) {
        SCOPED_TRACE(std::string(name_of(dtype)) + name_of(layout) + std::to_string(axis));
        std::vector<Sample> parts;
        std::vector<ValueRef> values;
        Shape total{3, 4, 5};
        total[axis] = 0;
        for (std::int64_t extent : {2, 0, 3, 1}) {
          Shape shape{3, 4, 5};
          shape[axis] = extent;
          total[axis] += extent;
          parts.push_back(sample(backend(), dtype, shape, layout, static_cast<unsigned>(extent)));
          values.push_back(parts.back().value);
        }
        Array expected{dtype, total, {}};
        for (std::int64_t i = 0; i < total.product(); ++i) {
          auto index = index_of(total, i);
          auto& along = index[static_cast<std::size_t>(axis)];
          std::size_t part = 0;
          while (along >= parts[part].array.shape[axis]) along -= parts[part++].array.shape[axis];
          expected.values.push_back(parts[part].array.at(index));
        }
        expect_equal(bridge::cat(values, axis), expected);
      }
    }
  }
}

TEST_P(LayoutConformance, SourcesStayUnchanged) {
  const auto source = upload(backend(), {DType::i64, {3}, {1, 2, 3}});
  const auto expanded = bridge::expand(source, {2, 3});
  expect_equal(bridge::add(expanded, 1), {DType::i64, {2, 3}, {2, 3, 4, 2, 3, 4}});
  expect_equal(source, {DType::i64, {3}, {1, 2, 3}});

  const auto b = upload(backend(), {DType::boolean, {2, 2}, {1, 0, 1, 1}});
  expect_equal(bridge::binary(op::BinaryKind::bit_and, b, bridge::transpose(b)),
               {DType::boolean, {2, 2}, {1, 0, 0, 1}});
  expect_equal(b, {DType::boolean, {2, 2}, {1, 0, 1, 1}});

  const auto x = upload(backend(), {DType::f32, {2, 2}, {1, 2, 3, 4}});
  expect_equal(bridge::mul(x, bridge::transpose(x)), {DType::f32, {2, 2}, {1, 6, 6, 16}});
  expect_equal(x, {DType::f32, {2, 2}, {1, 2, 3, 4}});

  const auto ramp = bridge::iota(backend(), 8, DType::f32, 0, 1);
  expect_equal(bridge::mul(bridge::flip(ramp, {0}), 2), {DType::f32, {8}, {14, 12, 10, 8, 6, 4, 2, 0}});
}

TEST_P(LayoutConformance, LargeTransposesAndCopies) {
  for (auto dtype : {DType::u8, DType::f16, DType::f32, DType::f64}) {
    for (auto layout : all_layouts) {
      SCOPED_TRACE(std::string(name_of(dtype)) + name_of(layout));
      const auto x = sample(backend(), dtype, {130, 3, 300}, layout, 2);
      expect_equal(bridge::reshape(bridge::permute(x.value, {2, 1, 0}), {300 * 3 * 130}),
                   {dtype, {300 * 3 * 130}, remap(x.array, {300, 3, 130}, [](const Index& i) {
                                              return Index{i[2], i[1], i[0]};
                                            }).values});
    }
  }
}

TEST_P(LayoutConformance, FaultyCallsAreRefused) {
  const auto x = upload(backend(), random_array(DType::f32, {2, 3}, 1));
  EXPECT_THROW(bridge::reshape(x, {4, 2}), ShapeError);
  EXPECT_THROW(bridge::permute(x, {0, 0}), ShapeError);
  EXPECT_THROW(bridge::expand(x, {2, 4}), ShapeError);
  EXPECT_THROW(bridge::slice(x, {0, 0}, {2, 4}, {1, 1}), ShapeError);
  EXPECT_THROW(bridge::slice(x, {0, 0}, {2, 3}, {1, 0}), ArgumentError);
  EXPECT_THROW(bridge::flip(x, {2}), ShapeError);
  EXPECT_THROW(bridge::cat({x, upload(backend(), random_array(DType::f32, {2, 4}, 1))}, 0), ShapeError);
  EXPECT_THROW(bridge::cat({x, upload(backend(), random_array(DType::f64, {2, 3}, 1))}, 0), DTypeError);
  EXPECT_THROW(bridge::add(x, upload(backend(), random_array(DType::f32, {2, 4}, 1))), ShapeError);
  EXPECT_THROW(bridge::add(x, upload(backend(), random_array(DType::i32, {2, 3}, 1))), DTypeError);
}

}  // namespace strata::conformance
