#include "cache/fork_guard.hpp"

#include <pthread.h>

#include <mutex>
#include <vector>

#include "cache/database.hpp"
#include "cache/overlay.hpp"
#include "cache/store.hpp"

namespace strata::cache {
namespace {

// Never destroyed: a process may fork while it exits.
struct Stores {
  std::mutex mutex;
  std::vector<Store*> all;
};

Stores& stores() {
  static auto* const instance = new Stores;
  return *instance;
}

}  // namespace

void ForkGuard::add(Store* store) {
  static const int registered = pthread_atfork(&before_fork, &after_fork, &after_fork);
  static_cast<void>(registered);  // fails only for want of memory, where new below would throw
  const std::lock_guard lock(stores().mutex);
  stores().all.push_back(store);
}

void ForkGuard::remove(Store* store) {
  const std::lock_guard lock(stores().mutex);
  std::erase(stores().all, store);
}

// The locks are held across the fork, so that the child finds every store at rest.
void ForkGuard::before_fork() {
  stores().mutex.lock();
  for (auto* store : stores().all) {
    store->mutex_.lock();
    store->database_.reset();
  }
}

void ForkGuard::after_fork() {
  for (auto* store : stores().all) store->mutex_.unlock();
  stores().mutex.unlock();
}

}  // namespace strata::cache
