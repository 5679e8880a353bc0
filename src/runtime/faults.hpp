/// Faults on demand, for tests. Each happens once; of each kind one can wait at a time.
#pragma once

#include <atomic>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

namespace strata::runtime {

class Faults {
 public:
  /// The next compilation (or load from the cache) of the kernel fails with a CompileError.
  void fail_next_compile(std::string kernel) { set(compile_, std::move(kernel)); }
  /// The next launch of the kernel fails with a LaunchError.
  void fail_next_launch(std::string kernel) { set(launch_, std::move(kernel)); }
  /// The next allocation of this many bytes fails with an OutOfMemoryError.
  void fail_next_allocation(std::size_t bytes) { set(allocation_, std::to_string(bytes)); }

  bool compile_fails(std::string_view kernel) { return take(compile_, kernel); }
  bool launch_fails(std::string_view kernel) { return take(launch_, kernel); }
  bool allocation_fails(std::size_t bytes) { return armed() && take(allocation_, std::to_string(bytes)); }

 private:
  bool armed() const { return armed_.load(std::memory_order_relaxed) > 0; }
  void set(std::string& fault, std::string what) {
    const std::lock_guard lock(mutex_);
    if (fault.empty()) armed_.fetch_add(1, std::memory_order_relaxed);
    fault = std::move(what);
  }
  bool take(std::string& fault, std::string_view what) {
    if (!armed()) [[likely]]
      return false;
    const std::lock_guard lock(mutex_);
    if (fault.empty() || fault != what) return false;
    fault.clear();
    armed_.fetch_sub(1, std::memory_order_relaxed);
    return true;
  }

  std::atomic<int> armed_{0};
  std::mutex mutex_;
  std::string compile_, launch_, allocation_;
};

}  // namespace strata::runtime
