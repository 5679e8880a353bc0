/// Keeps stores safe across fork(). SQLite forbids to use, or even to close, in a child what its parent
/// opened, and its own table of open files would mislead a connection that the child opens anew. So every
/// store closes its file just before the fork; parent and child open it again at their next use.
#pragma once

namespace strata::cache {

class Store;

struct ForkGuard {
  static void add(Store* store);
  static void remove(Store* store);

 private:
  static void before_fork();
  static void after_fork();
};

}  // namespace strata::cache
