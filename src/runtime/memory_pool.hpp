/// Memory that is kept: asking the system for it costs more than most kernels, so freed blocks wait for the
/// next request and return to the system only when memory runs out.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

namespace strata::runtime {

/// Where a pool gets its memory.
class MemorySource {
 public:
  virtual ~MemorySource() = default;
  /// Contents are arbitrary; null when there is none. `alignment` is at most 2 MiB.
  virtual std::byte* map(std::size_t bytes, std::size_t alignment) = 0;
  virtual void unmap(std::byte* data, std::size_t bytes) = 0;
};
/// Pages of the host.
std::unique_ptr<MemorySource> host_pages();

/// One thread at a time; the memory itself is never touched. Small blocks are cut from shared chunks and
/// found again in constant time; big ones are mappings of their own, which also serve requests that are up to
/// a fifth smaller.
class MemoryPool {
 public:
  /// At most `limit` bytes are reserved from the source.
  explicit MemoryPool(std::size_t limit, std::unique_ptr<MemorySource> source = host_pages())
      : source_(std::move(source)), limit_(limit) {}
  MemoryPool(const MemoryPool&) = delete;
  MemoryPool& operator=(const MemoryPool&) = delete;
  ~MemoryPool();

  struct Block {
    void* data = nullptr;
    std::size_t size = 0;  ///< what was really taken
  };
  /// Aligned to 64 bytes, from 16 KiB on to 4096, from 2 MiB on to 2 MiB; contents are arbitrary. `data` is
  /// null when the memory is not there, after everything unused was given back.
  Block allocate(std::size_t bytes);
  void free(Block block);
  /// Gives unused memory back to the system.
  void trim();

  std::size_t reserved() const { return reserved_; }
  std::size_t in_use() const { return in_use_; }
  std::size_t limit() const { return limit_; }

 private:
  static constexpr std::size_t chunk_bytes = std::size_t{2} << 20;
  static constexpr std::size_t largest_small = std::size_t{256} << 10;
  static constexpr std::size_t small_classes = 52;

  /// Of small blocks, which are cut off from front to back. Aligned to its size, so a block finds its chunk.
  struct Chunk {
    std::size_t used = 0;
    std::size_t live = 0;  ///< blocks in use
  };

  static std::size_t rounded(std::size_t bytes);
  static std::size_t alignment(std::size_t rounded_bytes);
  static std::size_t class_of(std::size_t rounded_bytes);
  static std::byte* chunk_of(void* block);

  Block take(std::size_t bytes);
  Block take_small(std::size_t bytes);
  Block take_large(std::size_t bytes);
  std::byte* reserve(std::size_t bytes);
  void give_back(std::byte* data, std::size_t bytes);

  const std::unique_ptr<MemorySource> source_;
  const std::size_t limit_;
  std::size_t reserved_ = 0, in_use_ = 0;
  std::unordered_map<std::byte*, Chunk> chunks_;
  std::byte* open_ = nullptr;  ///< the chunk that blocks are cut from
  std::array<std::vector<std::byte*>, small_classes> free_small_;
  std::map<std::size_t, std::vector<std::byte*>> free_large_;  ///< by size
};

}  // namespace strata::runtime
