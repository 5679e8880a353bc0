#include "runtime/memory_pool.hpp"

#include <sys/mman.h>

#include <bit>

namespace strata::runtime {

// Size classes: multiples of 64 up to 256, then four to each power of two, so at most a fifth of a block is
// wasted.

int MemoryPool::class_of(std::size_t bytes) {
  if (bytes <= 256) return bytes == 0 ? 0 : static_cast<int>((bytes - 1) / 64);
  const int exponent = std::bit_width(bytes - 1) - 1;  // 2^exponent < bytes <= 2^(exponent + 1)
  const auto quarter = std::size_t{1} << (exponent - 2);
  const auto step = (bytes - 1 - (std::size_t{1} << exponent)) / quarter;
  return 4 + (exponent - 8) * 4 + static_cast<int>(step);
}

std::size_t MemoryPool::class_size(int index) {
  if (index < 4) return (static_cast<std::size_t>(index) + 1) * 64;
  const int exponent = (index - 4) / 4 + 8;
  return (std::size_t{1} << exponent) +
         (static_cast<std::size_t>((index - 4) % 4) + 1) * (std::size_t{1} << (exponent - 2));
}

void* MemoryPool::map(std::size_t bytes) {
  if (bytes > limit_ - reserved_) {
    trim();
    if (bytes > limit_ - reserved_) return nullptr;
  }
  constexpr std::size_t huge = std::size_t{2} << 20;
  const bool use_huge = bytes >= huge;
  // Mapping a little more gives an address on a 2 MiB boundary; the ends are given back.
  const std::size_t span = use_huge ? bytes + huge : bytes;
  void* p = mmap(nullptr, span, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) return nullptr;
  auto* start = static_cast<std::byte*>(p);
  if (use_huge) {
    auto* aligned =
        reinterpret_cast<std::byte*>((reinterpret_cast<std::uintptr_t>(start) + huge - 1) & ~(huge - 1));
    if (aligned != start) munmap(start, static_cast<std::size_t>(aligned - start));
    const auto tail = static_cast<std::size_t>(start + span - (aligned + bytes));
    if (tail) munmap(aligned + bytes, tail);
    madvise(aligned, bytes, MADV_HUGEPAGE);  // best effort: small pages work too
    start = aligned;
  }
  reserved_ += bytes;
  return start;
}

MemoryPool::Block MemoryPool::allocate(std::size_t bytes) {
  if (bytes > limit_) return {};
  const int index = class_of(bytes);
  const auto size = class_size(index);
  auto& list = free_[static_cast<std::size_t>(index)];
  void* p = nullptr;
  if (!list.empty()) {
    p = list.back();
    list.pop_back();
  } else if (size >= large_bytes) {
    p = map(size);
  } else {
    const std::size_t padding =
        size >= page_aligned_bytes ? (4096 - reinterpret_cast<std::uintptr_t>(slab_) % 4096) % 4096 : 0;
    if (slab_left_ < size + padding) {
      slab_ = static_cast<std::byte*>(map(slab_bytes));
      if (slab_) slabs_.push_back(slab_);
      slab_left_ = slab_ ? slab_bytes : 0;
    } else {
      slab_ += padding;
      slab_left_ -= padding;
    }
    if (slab_) {
      p = slab_;
      slab_ += size;
      slab_left_ -= size;
    }
  }
  if (!p) return {};
  in_use_ += size;
  return {p, size};
}

void MemoryPool::free(Block block) {
  if (!block.data) return;
  in_use_ -= block.size;
  free_[static_cast<std::size_t>(class_of(block.size))].push_back(block.data);
}

void MemoryPool::trim() {
  for (int i = class_of(large_bytes); i < classes; ++i) {
    const auto size = class_size(i);
    if (size < large_bytes) continue;
    for (void* p : free_[static_cast<std::size_t>(i)]) {
      munmap(p, size);
      reserved_ -= size;
    }
    free_[static_cast<std::size_t>(i)].clear();
  }
}

MemoryPool::~MemoryPool() {
  trim();
  for (void* p : slabs_) munmap(p, slab_bytes);
}

}  // namespace strata::runtime
