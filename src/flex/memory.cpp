#include "flex/memory.hpp"

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <mutex>
#include <new>
#include <vector>

namespace strata::flex {
namespace {

#if defined(__SANITIZE_ADDRESS__)
constexpr bool caching = false;  // every block is its own, so that the sanitizer sees its ends
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
constexpr bool caching = false;
#else
constexpr bool caching = true;
#endif
#else
constexpr bool caching = true;
#endif

constexpr std::size_t small_limit = 32 << 10, smallest = 64, page = 4096, huge_page = 2 << 20;
/// Smaller blocks do without: under a hypervisor that took its memory back, a huge page costs up to 5 ms.
constexpr std::size_t huge_from = 32 << 20;

// ---- small blocks: powers of two, free lists of the calling thread

constexpr int small_class(std::size_t bytes) {
  return bytes <= smallest ? 0 : static_cast<int>(std::bit_width((bytes - 1) / smallest));
}
constexpr std::size_t small_size(int size_class) { return smallest << size_class; }
constexpr int small_classes = small_class(small_limit) + 1;
constexpr std::size_t kept_per_class = 512 << 10;  // bytes a thread keeps of each size

struct FreeBlock {
  FreeBlock* next;
};
struct FreeList {
  FreeBlock* head = nullptr;
  std::size_t bytes = 0;
};
/// Trivial, so that blocks may still be released while a thread's other thread-locals are destroyed.
struct ThreadLists {
  std::array<FreeList, small_classes> lists;
  bool registered, closed;
};
constinit thread_local ThreadLists local{};

/// Empties the thread's lists when it ends.
struct ThreadEnd {
  /// The first call in a thread registers the destructor.
  void watch() const noexcept { local.registered = true; }
  ~ThreadEnd() {
    local.closed = true;
    for (auto& list : local.lists) {
      while (auto* block = list.head) {
        list.head = block->next;
        std::free(block);
      }
      list.bytes = 0;
    }
  }
};
thread_local ThreadEnd thread_end;

/// Makes sure that the lists are emptied when this thread ends; false when that has happened already.
[[gnu::noinline]] bool open_lists() noexcept {
  if (!local.closed) thread_end.watch();
  return !local.closed;
}

[[gnu::noinline]] std::byte* fresh_small(int size_class) noexcept {
  return static_cast<std::byte*>(std::aligned_alloc(smallest, small_size(size_class)));
}

// ---- large blocks: eight sizes between one power of two and the next, one pool

struct LargeClass {
  std::size_t index, bytes;
};
LargeClass large_class(std::size_t bytes) {
  const int exponent =
      static_cast<int>(std::bit_width(bytes - 1)) - 1;  // 2^exponent < bytes <= 2^(exponent + 1)
  const std::size_t step = std::size_t{1} << (exponent - 3);
  const std::size_t eighths = (bytes - 1) / step + 1;  // 9..16
  return {static_cast<std::size_t>(exponent) * 8 + eighths - 9, eighths * step};
}

/// What the system, or the group this process lives in, can still give.
std::size_t available_memory() noexcept {
  std::size_t available = std::numeric_limits<std::size_t>::max();
  const auto limit_by = [&](std::size_t bytes) { available = std::min(available, bytes); };
  if (auto* file = std::fopen("/proc/meminfo", "re")) {
    char line[128];
    unsigned long long kib = 0;
    while (std::fgets(line, sizeof line, file)) {
      if (std::sscanf(line, "MemAvailable: %llu kB", &kib) == 1) limit_by(kib << 10);
    }
    std::fclose(file);
  } else {
    limit_by(static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) * page);
  }
  unsigned long long group_limit = 0, group_use = 0;
  const auto read = [](const char* path, unsigned long long& value) {
    auto* file = std::fopen(path, "re");
    if (!file) return false;
    const bool found = std::fscanf(file, "%llu", &value) == 1;
    std::fclose(file);
    return found;
  };
  if (read("/sys/fs/cgroup/memory.max", group_limit) && read("/sys/fs/cgroup/memory.current", group_use)) {
    limit_by(group_limit > group_use ? group_limit - group_use : 0);
  }
  return available;
}

std::byte* map_block(std::size_t bytes) noexcept {
  if (bytes < huge_page) return static_cast<std::byte*>(std::aligned_alloc(page, bytes));
  // The kernel overcommits: a mapping beyond the memory succeeds, and whoever writes to it is killed.
  if (bytes > available_memory()) return nullptr;
  void* mapped = mmap(nullptr, bytes + huge_page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) return nullptr;
  const auto start = reinterpret_cast<std::uintptr_t>(mapped);
  const auto aligned = (start + huge_page - 1) / huge_page * huge_page;
  if (aligned != start) munmap(mapped, aligned - start);
  if (const auto rest = start + huge_page - aligned) munmap(reinterpret_cast<void*>(aligned + bytes), rest);
  if (bytes >= huge_from) madvise(reinterpret_cast<void*>(aligned), bytes, MADV_HUGEPAGE);
  return reinterpret_cast<std::byte*>(aligned);
}
void unmap_block(std::byte* block, std::size_t bytes) noexcept {
  if (bytes < huge_page) {
    std::free(block);
  } else {
    munmap(block, bytes);
  }
}

class Pool {
 public:
  std::byte* take(const LargeClass& size) noexcept {
    const std::lock_guard lock(mutex_);
    auto& list = lists_[size.index];
    if (list.empty()) return nullptr;
    auto* block = list.back();
    list.pop_back();
    cached_ -= size.bytes;
    return block;
  }
  /// False when the pool is full.
  bool keep(std::byte* block, const LargeClass& size) noexcept try {
    const std::lock_guard lock(mutex_);
    if (cached_ + size.bytes > limit_) return false;
    lists_[size.index].push_back(block);
    cached_ += size.bytes;
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
  void trim() noexcept {
    const std::lock_guard lock(mutex_);
    for (std::size_t i = 0; i < lists_.size(); ++i) {
      if (lists_[i].empty()) continue;
      const std::size_t bytes = (i % 8 + 9) << (i / 8 - 3);
      for (auto* block : lists_[i]) unmap_block(block, bytes);
      lists_[i].clear();
    }
    cached_ = 0;
  }
  std::size_t cached() noexcept {
    const std::lock_guard lock(mutex_);
    return cached_;
  }

  // Held across a fork, so that the child finds the lists whole and unlocked.
  void lock() { mutex_.lock(); }
  void unlock() { mutex_.unlock(); }

 private:
  std::mutex mutex_;
  std::array<std::vector<std::byte*>, 64 * 8> lists_;
  std::size_t cached_ = 0;
  const std::size_t limit_ = static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) * page / 2;
};

/// Never destroyed: tensors may outlive every other static.
Pool& pool() {
  static auto* const instance = new Pool;
  static const int registered =
      pthread_atfork([] { instance->lock(); }, [] { instance->unlock(); }, [] { instance->unlock(); });
  static_cast<void>(registered);  // fails only for want of memory
  return *instance;
}

[[gnu::noinline]] std::byte* allocate_large(std::size_t bytes) noexcept {
  if (bytes > std::size_t{1} << 62) return nullptr;
  const auto size = large_class(bytes);
  if (auto* block = pool().take(size)) return block;
  if (auto* block = map_block(size.bytes)) return block;
  pool().trim();
  return map_block(size.bytes);
}

[[gnu::noinline]] void release_large(std::byte* block, std::size_t bytes) noexcept {
  const auto size = large_class(bytes);
  if (!caching || !pool().keep(block, size)) unmap_block(block, size.bytes);
}

}  // namespace

std::byte* allocate(std::size_t bytes) noexcept {
  if (bytes > small_limit) return allocate_large(bytes);
  if constexpr (!caching)
    return static_cast<std::byte*>(std::aligned_alloc(smallest, (bytes + 63) / 64 * 64));
  const int size_class = small_class(bytes);
  auto& list = local.lists[static_cast<std::size_t>(size_class)];
  if (auto* block = list.head) {
    list.head = block->next;
    list.bytes -= small_size(size_class);
    return reinterpret_cast<std::byte*>(block);
  }
  return fresh_small(size_class);
}

void release(std::byte* block, std::size_t bytes) noexcept {
  if (bytes > small_limit) return release_large(block, bytes);
  const int size_class = small_class(bytes);
  auto& list = local.lists[static_cast<std::size_t>(size_class)];
  const bool open = caching && ((local.registered && !local.closed) || open_lists());
  if (!open || list.bytes >= kept_per_class) {
    std::free(block);
    return;
  }
  list.head = new (block) FreeBlock{list.head};
  list.bytes += small_size(size_class);
}

void trim() noexcept { pool().trim(); }
std::size_t cached_bytes() noexcept { return pool().cached(); }

}  // namespace strata::flex
