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
    const std::size_t alignment = bytes >= (2u << 20) ? 2u << 20 : bytes >= (16u << 10) ? 4096 : 64;
    EXPECT_TRUE(aligned(block.data, alignment)) << bytes;
    std::memset(block.data, 0xab, block.size);
    auto* begin = static_cast<std::byte*>(block.data);
    for (const auto& [b, e] : taken) EXPECT_TRUE(begin + block.size <= b || begin >= e);
    taken.insert({begin, begin + block.size});
  }
}

TEST(MemoryPool, ReusesFreedBlocksOfAnyUse) {
  MemoryPool pool(std::size_t{1} << 32);
  for (const std::size_t bytes :
       {std::size_t{100}, std::size_t{5000}, std::size_t{300000}, std::size_t{64} << 20}) {
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

TEST(MemoryPool, KeepsAFreedSmallBlockForItsOwnSize) {
  MemoryPool pool(std::size_t{1} << 30);
  const auto small = pool.allocate(640), other = pool.allocate(700);
  pool.free(small);
  EXPECT_NE(pool.allocate(700).data, small.data);
  EXPECT_EQ(pool.allocate(600).data, small.data);
  pool.free(other);
}

TEST(MemoryPool, GrowsByChunksAndTrimGivesTheUnusedOnesBack) {
  MemoryPool pool(std::size_t{1} << 30);
  std::vector<MemoryPool::Block> blocks;
  for (int i = 0; i < 100; ++i) blocks.push_back(pool.allocate(100 << 10));  // 20 to a chunk
  const auto full = pool.reserved();
  EXPECT_GE(full, 100u * (100 << 10));
  const auto last = blocks.back();
  blocks.pop_back();
  for (const auto& b : blocks) pool.free(b);
  EXPECT_EQ(pool.reserved(), full);
  pool.trim();
  EXPECT_EQ(pool.reserved(), std::size_t{2} << 20);
  std::memset(last.data, 1, last.size);
  for (int i = 0; i < 100; ++i) blocks[static_cast<std::size_t>(i % 99)] = pool.allocate(100 << 10);
  for (const auto& b : blocks) std::memset(b.data, 2, b.size);
  pool.free(last);
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
