// SPDX-License-Identifier: MIT
// A function that may have to wait in the middle, as a server process does for a row's lock or for
// its disk. It begins when it is awaited, goes on at once where nothing is waited for, and is
// destroyed with whoever awaits it.
//
// GCC 12 destroys twice what is awaited in one branch of `?:`, and aggregates that are made in the
// expression that is awaited: both are named first.
#pragma once

#include <coroutine>
#include <exception>
#include <optional>
#include <utility>

namespace simulation::postgres {

template <class T>
class Task;

namespace detail {

struct PromiseBase {
  std::coroutine_handle<> outer{};
  std::exception_ptr failure{};

  struct End {
    [[nodiscard]] bool await_ready() const noexcept { return false; }
    template <class Promise>
    void await_suspend(std::coroutine_handle<Promise> ended) const noexcept {
      // None: whoever awaits it is still inside its beginning, and goes on by itself. So a loop of
      // tasks that never wait needs no more stack than one.
      if (const std::coroutine_handle<> outer = ended.promise().outer) outer.resume();
    }
    void await_resume() const noexcept {}
  };
  [[nodiscard]] std::suspend_always initial_suspend() const noexcept { return {}; }
  [[nodiscard]] End final_suspend() const noexcept { return {}; }
  void unhandled_exception() noexcept { failure = std::current_exception(); }
};

template <class T>
struct Promise : PromiseBase {
  std::optional<T> value{};
  Task<T> get_return_object() noexcept;
  void return_value(T result) { value.emplace(std::move(result)); }
  T take() { return std::move(*value); }
};

template <>
struct Promise<void> : PromiseBase {
  Task<void> get_return_object() noexcept;
  void return_void() const noexcept {}
  void take() const noexcept {}
};

}  // namespace detail

template <class T>
class [[nodiscard]] Task {
 public:
  using promise_type = detail::Promise<T>;
  using Handle = std::coroutine_handle<promise_type>;

  Task() noexcept = default;
  explicit Task(Handle handle) noexcept : handle_(handle) {}
  Task(Task&& other) noexcept : handle_(std::exchange(other.handle_, {})) {}
  Task& operator=(Task&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Task() {
    if (handle_) handle_.destroy();
  }

  /// Begins it where nobody awaits it: a process. @return whether it has ended
  bool start() {
    handle_.resume();
    return handle_.done();
  }
  [[nodiscard]] bool done() const noexcept { return !handle_ || handle_.done(); }
  /// For who started it: what it ended with.
  void rethrow() const {
    if (done() && handle_ && handle_.promise().failure) {
      std::rethrow_exception(handle_.promise().failure);
    }
  }

  [[nodiscard]] bool await_ready() const noexcept { return false; }
  bool await_suspend(std::coroutine_handle<> outer) {
    handle_.resume();
    if (handle_.done()) return false;
    handle_.promise().outer = outer;
    return true;
  }
  T await_resume() {
    if (handle_.promise().failure) std::rethrow_exception(handle_.promise().failure);
    return handle_.promise().take();
  }

 private:
  Handle handle_{};
};

namespace detail {

template <class T>
Task<T> Promise<T>::get_return_object() noexcept {
  return Task<T>(std::coroutine_handle<Promise<T>>::from_promise(*this));
}
inline Task<void> Promise<void>::get_return_object() noexcept {
  return Task<void>(std::coroutine_handle<Promise<void>>::from_promise(*this));
}

}  // namespace detail
}  // namespace simulation::postgres
