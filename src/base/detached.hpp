/// The type of a coroutine that starts at once, that nobody waits for, and that frees itself at its end: work
/// to be done when a Future is ready. It must catch what it throws.
#pragma once

#include <coroutine>
#include <exception>

namespace strata::base {

struct Detached {
  struct promise_type {
    Detached get_return_object() { return {}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() noexcept { std::terminate(); }
  };
};

}  // namespace strata::base
