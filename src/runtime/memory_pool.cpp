#include "runtime/memory_pool.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <bit>

namespace strata::runtime {
namespace {

constexpr std::size_t smallest = 64, page = 4096;
/// Huge pages are 2-4 times cheaper to touch, but not where the system has to find them first: under a
/// hypervisor that took them back, one costs up to 5 ms.
constexpr std::size_t huge_from = std::size_t{32} << 20;

constexpr std::size_t round_up(std::size_t n, std::size_t step) { return (n + step - 1) / step * step; }

class HostPages final : public MemorySource {
 public:
  std::byte* map(std::size_t bytes, std::size_t alignment) override {
    const auto extra = alignment > page ? alignment - page : 0;
    void* const mapped =
        mmap(nullptr, bytes + extra, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED) return nullptr;
    auto* const begin = static_cast<std::byte*>(mapped);
    const auto address = reinterpret_cast<std::uintptr_t>(begin);
    const auto before = round_up(address, alignment) - address;
    if (before > 0) munmap(begin, before);
    if (extra > before) munmap(begin + before + bytes, extra - before);
#if defined(MADV_HUGEPAGE)
    if (bytes >= huge_from) madvise(begin + before, bytes, MADV_HUGEPAGE);
#endif
    return begin + before;
  }
  void unmap(std::byte* data, std::size_t bytes) override { munmap(data, bytes); }
};

}  // namespace

std::unique_ptr<MemorySource> host_pages() { return std::make_unique<HostPages>(); }

MemoryPool::~MemoryPool() {
  for (auto& [data, chunk] : chunks_) chunk.live = 0;  // what still lies in a block goes with the pool
  trim();
}

// Four sizes an octave for small blocks, eight for large ones: at most a fifth, or a ninth, is lost.
std::size_t MemoryPool::rounded(std::size_t bytes) {
  if (bytes <= 4 * smallest) return std::max(smallest, round_up(bytes, smallest));
  const auto octave = std::bit_floor(bytes);
  return bytes <= largest_small ? round_up(bytes, octave / 4) : round_up(bytes, std::max(octave / 8, page));
}

std::size_t MemoryPool::alignment(std::size_t rounded_bytes) {
  if (rounded_bytes >= chunk_bytes) return chunk_bytes;
  return rounded_bytes >= 4 * page ? page : smallest;
}

std::size_t MemoryPool::class_of(std::size_t rounded_bytes) {
  const auto octave = std::bit_floor(rounded_bytes);
  const auto number = static_cast<std::size_t>(std::countr_zero(octave) - std::countr_zero(smallest));
  return number * 4 + (rounded_bytes - octave) * 4 / octave;
}

std::byte* MemoryPool::chunk_of(void* block) {
  return static_cast<std::byte*>(block) - reinterpret_cast<std::uintptr_t>(block) % chunk_bytes;
}

MemoryPool::Block MemoryPool::allocate(std::size_t bytes) {
  if (bytes > limit_) return {};
  const auto size = rounded(bytes);
  auto block = take(size);
  if (!block.data) {
    trim();
    block = take(size);
  }
  in_use_ += block.size;
  return block;
}

void MemoryPool::free(Block block) {
  in_use_ -= block.size;
  auto* const data = static_cast<std::byte*>(block.data);
  if (block.size > largest_small) {
    free_large_[block.size].push_back(data);
  } else {
    --chunks_[chunk_of(data)].live;
    free_small_[class_of(block.size)].push_back(data);
  }
}

MemoryPool::Block MemoryPool::take(std::size_t bytes) {
  return bytes <= largest_small ? take_small(bytes) : take_large(bytes);
}

MemoryPool::Block MemoryPool::take_small(std::size_t bytes) {
  auto& known = free_small_[class_of(bytes)];
  if (!known.empty()) {
    auto* const data = known.back();
    known.pop_back();
    ++chunks_[chunk_of(data)].live;
    return {data, bytes};
  }
  const auto place = [&] { return round_up(chunks_[open_].used, alignment(bytes)); };
  if (!open_ || place() + bytes > chunk_bytes) {
    auto* const fresh = reserve(chunk_bytes);
    if (!fresh) return {};
    chunks_.emplace(open_ = fresh, Chunk{});
  }
  const auto at = place();
  auto& chunk = chunks_[open_];
  chunk.used = at + bytes;
  ++chunk.live;
  return {open_ + at, bytes};
}

MemoryPool::Block MemoryPool::take_large(std::size_t bytes) {
  const auto known = free_large_.lower_bound(bytes);
  if (known != free_large_.end() && known->first <= bytes + bytes / 4) {
    const Block block{known->second.back(), known->first};
    known->second.pop_back();
    if (known->second.empty()) free_large_.erase(known);
    return block;
  }
  auto* const fresh = reserve(bytes);
  return fresh ? Block{fresh, bytes} : Block{};
}

std::byte* MemoryPool::reserve(std::size_t bytes) {
  if (reserved_ + bytes > limit_) return nullptr;
  auto* const data = source_->map(bytes, std::max(alignment(bytes), page));
  if (data) reserved_ += bytes;
  return data;
}

void MemoryPool::give_back(std::byte* data, std::size_t bytes) {
  source_->unmap(data, bytes);
  reserved_ -= bytes;
}

void MemoryPool::trim() {
  for (const auto& [bytes, blocks] : free_large_) {
    for (auto* data : blocks) give_back(data, bytes);
  }
  free_large_.clear();
  for (auto& blocks : free_small_) {
    std::erase_if(blocks, [&](std::byte* data) { return chunks_[chunk_of(data)].live == 0; });
  }
  for (auto chunk = chunks_.begin(); chunk != chunks_.end();) {
    if (chunk->second.live > 0) {
      ++chunk;
      continue;
    }
    if (chunk->first == open_) open_ = nullptr;
    give_back(chunk->first, chunk_bytes);
    chunk = chunks_.erase(chunk);
  }
}

}  // namespace strata::runtime
