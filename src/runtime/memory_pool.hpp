/// Host memory that is kept: the first touch of fresh pages costs more than most kernels, so blocks go back
/// to free lists and return to the system only when memory runs out. Used by one thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace strata::runtime {

class MemoryPool {
 public:
  /// At most `limit` bytes are reserved from the system.
  explicit MemoryPool(std::size_t limit) : limit_(limit) {}
  MemoryPool(const MemoryPool&) = delete;
  MemoryPool& operator=(const MemoryPool&) = delete;
  ~MemoryPool();

  struct Block {
    void* data = nullptr;
    std::size_t size = 0;  ///< what was really taken: the size class
  };
  /// 64-byte aligned, from 16 KiB up page-aligned; contents are arbitrary. `data` is null when the memory is
  /// not there, after everything unused was given back.
  Block allocate(std::size_t bytes);
  void free(Block block);
  /// Gives unused large blocks back to the system.
  void trim();

  std::size_t reserved() const { return reserved_; }
  std::size_t in_use() const { return in_use_; }
  std::size_t limit() const { return limit_; }

 private:
  static constexpr std::size_t slab_bytes = std::size_t{2} << 20;  // small blocks are cut from slabs
  static constexpr std::size_t large_bytes = std::size_t{256}
                                             << 10;  // from here on a block is a mapping of its own
  static constexpr std::size_t page_aligned_bytes = std::size_t{16} << 10;
  static constexpr int classes = 200;

  static int class_of(std::size_t bytes);
  static std::size_t class_size(int index);
  void* map(std::size_t bytes);

  const std::size_t limit_;
  std::size_t reserved_ = 0, in_use_ = 0;
  std::array<std::vector<void*>, classes> free_;
  std::byte* slab_ = nullptr;
  std::size_t slab_left_ = 0;
  std::vector<void*> slabs_;
};

}  // namespace strata::runtime
