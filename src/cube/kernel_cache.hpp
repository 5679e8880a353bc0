/// Kernels in memory by structural key, so that a launch that was seen before records no IR.
#pragma once

#include <list>
#include <memory>
#include <unordered_map>

#include "base/hash.hpp"
#include "kernel/ir.hpp"
#include "runtime/client.hpp"

namespace strata::cube {

/// Two independent 64-bit hashes: among 10^9 kernels a collision has a probability below 10^-20.
struct KernelKey {
  std::uint64_t low = 0, high = 0;
  bool operator==(const KernelKey&) const = default;
};

class KernelKeyHasher {
 public:
  explicit KernelKeyHasher(std::string_view family) {
    second_.word(0x5851f42d4c957f2du);
    add(family);
  }
  template <class T>
  void add(const T& v) {
    first_.add(v);
    second_.add(v);
  }
  KernelKey key() const { return {first_.value(), second_.value()}; }

 private:
  base::Hasher first_, second_;
};

/// A kernel ready to launch.
struct Program {
  std::shared_ptr<const kernel::Kernel> ir;
  runtime::ProgramRef handle;
};

/// Least recently used entries leave first. One thread at a time.
class KernelCache {
 public:
  explicit KernelCache(runtime::Client& client, std::size_t capacity = 1024)
      : client_(client), capacity_(capacity) {}

  /// The program under `key`; on a miss `build()` records its kernel.
  template <class Build>
  const Program& get(const KernelKey& key, Build&& build) {
    if (const auto found = index_.find(key); found != index_.end()) {
      order_.splice(order_.begin(), order_, found->second);
      return found->second->second;
    }
    ++builds_;
    auto ir = std::make_shared<const kernel::Kernel>(build());
    auto handle = client_.program(ir);
    if (index_.size() == capacity_) {
      index_.erase(order_.back().first);
      order_.pop_back();
    }
    order_.emplace_front(key, Program{std::move(ir), std::move(handle)});
    index_.emplace(key, order_.begin());
    return order_.front().second;
  }

  std::size_t size() const { return index_.size(); }
  /// Kernels recorded since the start.
  std::size_t builds() const { return builds_; }

 private:
  struct Hash {
    std::size_t operator()(const KernelKey& k) const { return static_cast<std::size_t>(k.low); }
  };
  using Order = std::list<std::pair<KernelKey, Program>>;

  runtime::Client& client_;
  const std::size_t capacity_;
  Order order_;
  std::unordered_map<KernelKey, Order::iterator, Hash> index_;
  std::size_t builds_ = 0;
};

}  // namespace strata::cube
