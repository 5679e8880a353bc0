// Damaged objects give errors, whatever is damaged.
#include "codegen/object_loader.hpp"

#include <gtest/gtest.h>

#include <random>

#include "codegen/harness.hpp"
#include "strata/error.hpp"

namespace strata::codegen {
namespace {

using kernel::Builder;
using kernel::Scalar;
using kernel::Val;

/// With constants in a section of their own, hence relocations.
const std::string& sample() {
  static const std::string code = [] {
    Builder b("sample");
    auto x = b.read_write("x", Scalar::f32);
    const Val order = kernel::lane_index({Scalar::f32, 16});
    x.store(0, (x.load(0, 16) + order) * 1.25F);
    return compile(b.finish(), {}, Format::object).code;
  }();
  return code;
}

TEST(LoadedObject, RunsAfterItWasMoved) {
  LoadedObject first(sample());
  LoadedObject second = std::move(first);
  first = std::move(second);
  std::vector<float> x(16, 1);
  void* buffers[] = {x.data()};
  const std::int64_t lengths[] = {16};
  const std::uint32_t cubes[] = {1, 1, 1};
  first.entry("sample")(buffers, lengths, nullptr, cubes, 0, 1);
  for (int n = 0; n < 16; ++n) EXPECT_EQ(x[static_cast<std::size_t>(n)], static_cast<float>(n + 1) * 1.25F);
  EXPECT_THROW(first.entry("other"), RuntimeError);
  EXPECT_THROW(first.entry("strata"), RuntimeError) << "the name of the file symbol";
}

TEST(LoadedObject, AnEmptyGridRunsNothing) {
  const LoadedObject object(sample());
  void* buffers[] = {nullptr};
  const std::int64_t lengths[] = {0};
  const std::uint32_t cubes[] = {0, 0, 0};
  object.entry("sample")(buffers, lengths, nullptr, cubes, 0, 0);
}

TEST(LoadedObject, TruncatedAtAnyLengthIsAnError) {
  for (std::size_t length = 0; length < sample().size(); ++length) {
    EXPECT_THROW(LoadedObject(std::string_view(sample()).substr(0, length)), RuntimeError) << length;
    try {
      undefined_symbols(std::string_view(sample()).substr(0, length));
    } catch (const RuntimeError&) {
    }
  }
}

TEST(LoadedObject, DamagedBytesNeverCrashTheLoader) {
  std::mt19937 random(1);
  int errors = 0;
  for (std::size_t at = 0; at < sample().size(); ++at) {
    for (const int value : {0x00, 0xff, 0x7f, 0x80, static_cast<int>(random() & 0xff)}) {
      std::string damaged = sample();
      damaged[at] = static_cast<char>(value);
      try {
        const LoadedObject object(damaged);  // may load: a changed constant cannot be noticed
        undefined_symbols(damaged);
      } catch (const RuntimeError&) {
        ++errors;
      }
    }
  }
  EXPECT_GT(errors, 500);
  for (int n = 0; n < 20000; ++n) {
    std::string damaged = sample();
    for (int k = 0; k < 8; ++k) damaged[random() % damaged.size()] = static_cast<char>(random());
    try {
      const LoadedObject object(damaged);
    } catch (const RuntimeError&) {
    }
  }
}

TEST(LoadedObject, OtherMachinesObjectsAreRefused) {
  std::string other = sample();
  other[18] = static_cast<char>(183);  // e_machine: AArch64
  EXPECT_THROW(LoadedObject{other}, RuntimeError);
  EXPECT_THROW(LoadedObject{""}, RuntimeError);
  EXPECT_THROW(LoadedObject{std::string(4096, 'x')}, RuntimeError);
}

}  // namespace
}  // namespace strata::codegen
