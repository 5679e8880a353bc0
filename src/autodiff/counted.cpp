#include "autodiff/counted.hpp"

namespace strata::autodiff {
namespace {

// Trivially destructible, so that values in static or thread-local storage may die after it.
struct Dead {
  Counted* first = nullptr;
  bool draining = false;
};
constinit thread_local Dead dead_list;

}  // namespace

Counted::~Counted() = default;

void Counted::destroy(Counted* dead) noexcept {
  auto& list = dead_list;
  dead->next_ = list.first;
  list.first = dead;
  if (list.draining) return;
  list.draining = true;
  while (auto* next = list.first) {
    list.first = next->next_;
    delete next;
  }
  list.draining = false;
}

}  // namespace strata::autodiff
