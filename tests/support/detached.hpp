// SPDX-License-Identifier: MIT
// Coroutines for tests of asynchronous calls, and the event loop of a client without threads.
#pragma once

#include <mortise/mortise.hpp>

#include "support/eventually.hpp"

#include <poll.h>

#include <chrono>
#include <coroutine>
#include <deque>
#include <exception>
#include <utility>

namespace mortise::test {

/// A coroutine that begins at once, and that nothing waits for.
struct Detached {
  struct promise_type {
    Detached get_return_object() noexcept { return {}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() noexcept {}
    void unhandled_exception() noexcept { std::terminate(); }
  };
};

/// A coroutine that begins at once, and whose frame a test can destroy while it is suspended.
class Owned {
 public:
  struct promise_type {
    Owned get_return_object() noexcept {
      return Owned(std::coroutine_handle<promise_type>::from_promise(*this));
    }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    void return_void() noexcept {}
    void unhandled_exception() noexcept { std::terminate(); }
  };
  Owned(Owned&& other) noexcept : frame_(std::exchange(other.frame_, nullptr)) {}
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  Owned& operator=(Owned&&) = delete;
  ~Owned() { destroy(); }
  void destroy() {
    if (frame_) std::exchange(frame_, nullptr).destroy();
  }

 private:
  explicit Owned(std::coroutine_handle<promise_type> frame) noexcept : frame_(frame) {}
  std::coroutine_handle<promise_type> frame_;
};

/// Waits for a condition, and drives the client meanwhile if it has no threads.
template <class Condition>
[[nodiscard]] bool driven_until(Client& client, Condition condition,
                                std::chrono::milliseconds at_most = patience) {
  if (client.descriptor() < 0) return eventually(condition, at_most);
  const auto until = std::chrono::steady_clock::now() + at_most;
  while (!condition()) {
    if (std::chrono::steady_clock::now() >= until) return false;
    pollfd readable{.fd = client.descriptor(), .events = POLLIN, .revents = 0};
    ::poll(&readable, 1, 20);
    if (readable.revents != 0) client.poll();
  }
  return true;
}

}  // namespace mortise::test
