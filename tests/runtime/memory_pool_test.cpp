#include "runtime/memory_pool.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <set>

namespace strata::runtime {
namespace {

bool aligned(const void* p, std::size_t to) { return reinterpret_cast<std::uintptr_t>(p) % to == 0; }

TEST(MemoryPool, AlignsAndGivesAtLeastWhatWasAsked) {
  MemoryPool pool(std::size_t{1} << 32);
  std::set<std::pair<std::byte*, std::byte*>> taken;
  for (std::size_t bytes = 1; bytes < (std::size_t{9} << 20); bytes = bytes * 5 / 4 + 1) {
    const auto block = pool.allocate(bytes);
    ASSERT_NE(block.data, nullptr);
    EXPECT_GE(block.size, bytes);
    EXPECT_LE(block.size, std::max<std::size_t>(bytes * 5 / 4 + 64, 64)) << bytes;
    EXPECT_TRUE(aligned(block.data, 64));
    if (bytes > (16u << 10)) EXPECT_TRUE(aligned(block.data, 4096)) << bytes;
    std::memset(block.data, 0xab, block.size);
    auto* begin = static_cast<std::byte*>(block.data);
    for (const auto& [b, e] : taken) EXPECT_TRUE(begin + block.size <= b || begin >= e);
    taken.insert({begin, begin + block.size});
  }
}

TEST(MemoryPool, ReusesFreedBlocksOfAnyUse) {
  MemoryPool pool(std::size_t{1} << 32);
  for (const std::size_t bytes : {std::size_t{100}, std::size_t{5000}, std::size_t{300000}, std::size_t{64} << 20}) {
    const auto a = pool.allocate(bytes);
    pool.free(a);
    const auto b = pool.allocate(bytes - bytes / 50);
    EXPECT_EQ(a.data, b.data) << bytes;
    pool.free(b);
  }
  EXPECT_EQ(pool.in_use(), 0u);
}

TEST(MemoryPool, RefusesWhatIsNotThereAndGoesOn) {
  MemoryPool pool(std::size_t{64} << 20);
  EXPECT_EQ(pool.allocate(std::size_t{1} << 50).data, nullptr);
  EXPECT_EQ(pool.allocate(SIZE_MAX - 100).data, nullptr);
  const auto a = pool.allocate(std::size_t{30} << 20);
  ASSERT_NE(a.data, nullptr);
  EXPECT_EQ(pool.allocate(std::size_t{40} << 20).data, nullptr);
  pool.free(a);
  // The freed block is of another size class: it must be given back for this one to fit.
  EXPECT_NE(pool.allocate(std::size_t{40} << 20).data, nullptr);
}

TEST(MemoryPool, TrimGivesUnusedLargeBlocksBack) {
  MemoryPool pool(std::size_t{1} << 32);
  const auto a = pool.allocate(std::size_t{8} << 20), b = pool.allocate(std::size_t{8} << 20);
  pool.free(a);
  const auto before = pool.reserved();
  pool.trim();
  EXPECT_EQ(before - pool.reserved(), a.size);
  std::memset(b.data, 1, b.size);
}

}  // namespace
}  // namespace strata::runtime
