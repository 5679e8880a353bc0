/// Reference counts for long chains: objects die in a loop, not in a recursion.
#pragma once

#include <atomic>
#include <cstdint>

namespace strata::autodiff {

/// Base of what a graph is made of, to be held by `backend::Ref`. When a last reference goes while another
/// object of the same thread is being destroyed, the object waits in a list: dropping a chain of a million
/// steps takes constant stack.
class Counted {
 public:
  Counted() = default;
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;

  void retain() noexcept { references_.fetch_add(1, std::memory_order_relaxed); }
  void release() noexcept {
    if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1) destroy(this);
  }

 protected:
  virtual ~Counted();

 private:
  static void destroy(Counted* dead) noexcept;

  std::atomic<std::uint32_t> references_{0};
  Counted* next_ = nullptr;  // in the list of the dead
};

}  // namespace strata::autodiff
