// Every matmul kernel also lowers to PTX, and ptxas accepts it.
#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <set>

#include "codegen/compiler.hpp"
#include "cube/matmul/rule.hpp"
#include "cube/matmul/trial.hpp"
#include "matmul_support.hpp"
#include "tune/roofline.hpp"

namespace strata::cube::matmul::test {
namespace {

class MatmulGpuLowering : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* path : {"/usr/local/cuda/bin/ptxas", "/usr/bin/ptxas"}) {
      if (std::filesystem::exists(path)) assembler_ = path;
    }
    if (assembler_.empty()) GTEST_SKIP() << "ptxas is not installed: PTX cannot be assembled here";
  }

  void check(const kernel::Kernel& k) const {
    SCOPED_TRACE(k.name);
    const codegen::Target target{codegen::Target::Kind::ptx, 80, false};
    const auto compiled = codegen::compile(k, target, codegen::Format::ptx);
    const auto file = std::string(::testing::TempDir()) + "strata_" + k.name + ".ptx";
    std::ofstream(file) << compiled.code;
    const auto command = assembler_ + " -O1 -arch=sm_80 -o /dev/null '" + file + "' 2>&1";
    std::string output;
    FILE* pipe = popen(command.c_str(), "r");
    ASSERT_NE(pipe, nullptr);
    char text[512];
    while (std::fgets(text, sizeof text, pipe)) output += text;
    EXPECT_EQ(pclose(pipe), 0) << output;
    std::filesystem::remove(file);
  }

  static Schedule small(Family family, int lanes) {
    Schedule s;
    s.family = family;
    s.lanes = lanes;
    s.rows = 4;
    s.vectors = 2;
    s.unroll = 2;
    s.kc = family == Family::dot ? 0 : 16;
    s.mc = 8;
    s.nc = 16;
    s.pack_b = family == Family::packed || family == Family::lean;
    s.splits = 2;
    return s;
  }

  std::string assembler_;
};

TEST_F(MatmulGpuLowering, EveryFamilyAndDtype) {
  const Machine gpu{.vector_bytes = 16, .threads = 100, .vectors = false};
  for (const auto t : {DType::f64, DType::f32, DType::f16, DType::bf16, DType::i64, DType::i32, DType::u8}) {
    SCOPED_TRACE(name_of(t));
    for (const bool transpose : {false, true}) {
      Product p(dense(t, {9, 40}), transpose ? transposed(t, {40, 21}) : dense(t, {40, 21}));
      const int bias = p.add_input(dense(t, {21}));
      const int c = p.multiply();
      p.block.outputs = {p.node(op::Binary{op::BinaryKind::add}, {c, bias}, t)};
      const auto problem = p.problem();
      check(build(problem, naive_schedule(gpu)));
      std::set<std::string> seen;
      for (const auto& s : candidates(problem, gpu)) {
        if (seen.insert(s.kernel_name()).second) check(build(problem, s));
        if (s.splits > 1) check(build_part_sum(problem, s.splits));
      }
      if (transpose) check(build_reference(problem, naive_schedule(gpu)));
      if (t == DType::f64 || t == DType::u8) continue;  // the forms below differ in lanes only
      for (const auto family : {Family::tiled, Family::packed, Family::lean, Family::dot}) {
        const auto s = small(family, 4);
        if (unsuitable(problem, s).empty()) check(build(problem, s));
      }
    }
  }
}

TEST_F(MatmulGpuLowering, SinglesByMatrixUnits) {
  const Machine gpu{.vector_bytes = 16, .threads = 4, .vectors = false};
  for (const auto precision : {Precision::tf32, Precision::split}) {
    for (const bool transpose : {false, true}) {
      for (const std::int64_t k : {64, 63}) {
        const Shape a{512, k}, b{k, 512};
        Product p(transpose ? transposed(DType::f32, a) : dense(DType::f32, a),
                  transpose ? transposed(DType::f32, b) : dense(DType::f32, b));
        const int bias = p.add_input(dense(DType::f32, {512}));
        const int c = p.multiply(precision);
        p.block.outputs = {p.node(op::Binary{op::BinaryKind::add}, {c, bias}, DType::f32)};
        std::set<std::string> seen;
        for (const auto& s : candidates(p.problem(), gpu)) {
          if (s.uses_matrix_units() && seen.insert(s.kernel_name()).second) check(build(p.problem(), s));
        }
        EXPECT_FALSE(seen.empty());
      }
    }
  }
}

TEST_F(MatmulGpuLowering, FewRowsAndSplitDepth) {
  const Machine gpu{.vector_bytes = 16, .threads = 100, .vectors = false};
  for (const auto t : {DType::f64, DType::f32, DType::bf16, DType::i64, DType::u8}) {
    SCOPED_TRACE(name_of(t));
    for (const bool transpose : {false, true}) {
      for (const std::int64_t m : {1, 8}) {
        const Shape b{1024, 64};
        Product p(dense(t, {m, 1024}), transpose ? transposed(t, b) : dense(t, b));
        p.block.outputs = {p.multiply()};
        const auto problem = p.problem();
        std::set<std::string> seen;
        for (const auto& s : candidates(problem, gpu)) {
          if (s.family != Family::gemv && (s.splits == 1 || m == 1)) continue;
          if (seen.insert(s.kernel_name()).second) check(build(problem, s));
          if (s.splits > 1 && seen.insert("sum").second) check(build_part_sum(problem, s.splits));
        }
      }
    }
  }
}

TEST_F(MatmulGpuLowering, ProbesAndSamplers) {
  check(tune::build_arithmetic_probe(kernel::Scalar::f32, 4));
  check(tune::build_stream_probe(kernel::Scalar::f32, 4));
  check(build_row_sampler(DType::f32));
  check(build_row_sampler(DType::boolean));
}

}  // namespace
}  // namespace strata::cube::matmul::test
