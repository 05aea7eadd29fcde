// SPDX-License-Identifier: MIT
// Waiting without a thread: a call that has not begun yet. A coroutine awaits the call, or the
// program starts the call with a handler that gets the result.
#pragma once

#include <mortise/export.hpp>

#include <concepts>
#include <coroutine>
#include <cstddef>
#include <memory>
#include <optional>
#include <stop_token>
#include <type_traits>
#include <utility>

namespace mortise {

class Client;
class Executor;
class Guard;
class Guards;
class Lock;
class Once;
class Run;
class Semaphore;

namespace runtime {
class PendingCall;
}  // namespace runtime

/// For the templates of this header; no interface for programs.
namespace detail {

/// The handler of a call, whatever its type.
struct MORTISE_API Handler {
  Handler() = default;
  Handler(const Handler&) = delete;
  Handler& operator=(const Handler&) = delete;
  virtual ~Handler();
  /// @param result a pointer to the result, which the handler moves from
  virtual void run(void* result) = 0;
};

MORTISE_API void start(std::shared_ptr<runtime::PendingCall> call, Executor* executor,
                       std::unique_ptr<Handler> handler);
MORTISE_API void stop_by(runtime::PendingCall& call, std::stop_token stop) noexcept;
MORTISE_API void discard(std::shared_ptr<runtime::PendingCall> call) noexcept;
MORTISE_API void forsake(const std::shared_ptr<runtime::PendingCall>& call) noexcept;
MORTISE_API void raise_failure_of(const runtime::PendingCall& call);

}  // namespace detail

/// The rest of a call that has ended: to run its handler, or to continue its coroutine. The object
/// is as large as a `std::shared_ptr`. To post it needs no memory of the library.
///
/// Call the object once, from any thread, but not from inside `Executor::post()`. If the program
/// destroys the object instead (an event loop ends with work left), the library destroys the
/// handler without running it, and unlocks what the call has acquired.
/// @thread_safety One thread at a time.
class MORTISE_API Completion {
 public:
  /// Makes an empty object.
  Completion() noexcept = default;
  Completion(Completion&& other) noexcept = default;
  Completion& operator=(Completion&& other) noexcept;
  Completion(const Completion&) = delete;
  Completion& operator=(const Completion&) = delete;
  ~Completion();
  /// Runs the handler, or continues the coroutine. Does nothing if the object is empty. If the
  /// handler throws, the program ends, as if a thread had thrown.
  void operator()() noexcept;

 private:
  friend class runtime::PendingCall;
  explicit Completion(std::shared_ptr<runtime::PendingCall> call) noexcept;

  std::shared_ptr<runtime::PendingCall> call_;
};

/// Runs handlers and continues coroutines: an adapter for the event loop or the thread pool of the
/// program. An executor must outlive every call that uses it.
/// @thread_safety `post()` may be called concurrently.
class MORTISE_API Executor {
 public:
  virtual ~Executor();
  /// Has the completion called soon, but not before `post()` has returned. The library holds no
  /// mutex while it calls `post()`. The calling thread has other work, so `post()` must not block.
  /// If `post()` throws, the library posts the completion again after 10 ms. At the end of
  /// `Client::close()`, the library destroys the completion instead.
  virtual void post(Completion completion) = 0;
};

/// The result of `Client::close_async()`, which has nothing to report.
struct Closed {};

/// A call that has not begun: `lock.acquire_async({.wait = 2s})`. The call begins when a coroutine
/// awaits the object, or with `start()`. A call that never begins does nothing, with two
/// exceptions: `Guard::unlock_async()` then unlocks, and `Run::succeed_async()` and
/// `Run::fail_async()` then record the outcome, all without waiting.
///
/// **The owner.** No thread owns the hold. If `AcquireOptions::owner` is empty, each call has an
/// owner of its own (`Owner::unique()`), which the `Guard` keeps. So two coroutines of one thread
/// exclude each other, and a guard may move to another thread. A coroutine that takes a name that
/// it already holds waits for itself. To re-enter, pass `guard.owner()` to the call.
///
/// **The thread of the handler.** The handler runs on the executor of `on()`. Without `on()`, it
/// runs on `ClientOptions::executor`. If both are empty, it runs inside `Client::poll()`
/// (`Drive::program`), or on one thread of the client, which runs all handlers one after the other
/// (`Drive::threads`; the handler of `close_async()` has a thread of its own). The library never
/// runs a handler inside `start()`, and holds no mutex while a handler runs. A coroutine continues
/// in the same place.
///
/// **How the call ends.** In one of three ways, and once:
/// - The handler gets the result. A wait ends at the latest after `AcquireOptions::wait` plus 50
///   ms. A request of `stopped_by()` or of `AcquireOptions::stop` ends it early: the result is then
///   `cancelled`, or the hold if the grant was first. `Client::close()` ends it with `closed`.
/// - The executor destroys the completion. The library then destroys the handler without running
///   it.
/// - The program destroys the coroutine while it is suspended here. The wait ends as after a stop
///   request, and no code of the program runs.
///
/// In the last two cases, the library unlocks what the call has acquired, or gives the run back,
/// and no thread waits for that. In a forked child, a call that its parent began never ends.
///
/// **Errors.** A coroutine gets an `Error`, except for contention: the result is then an empty
/// `Guard` or `Permit`, or a `Run` that is not open. A handler gets every failure as a part of the
/// result.
///
/// **GCC 12** destroys an options struct twice if it is part of a `co_await` expression. So make
/// the `Lock` in a statement of its own, `Lock lock = client.make_lock(name, {.lease = 5s});`, and
/// then write `co_await lock.acquire_async(2s)`.
///
/// @tparam Result `Guard`, `Guards`, `Permit`, `Run`, `Outcome`, `Released`, `bool`, `Failure` or
/// `Closed`
/// @thread_safety One thread at a time.
template <class Result>
class [[nodiscard]] Pending {
 public:
  Pending(Pending&& other) noexcept = default;
  Pending& operator=(Pending&& other) noexcept {
    if (this != &other) {
      detail::discard(std::move(call_));
      call_ = std::move(other.call_);
      executor_ = other.executor_;
    }
    return *this;
  }
  Pending(const Pending&) = delete;
  Pending& operator=(const Pending&) = delete;
  /// A call that has begun continues.
  ~Pending() { detail::discard(std::move(call_)); }

  /// Sets the executor that runs the handler, or continues the coroutine.
  /// @param executor must outlive the call. A call whose coroutine was destroyed may still use the
  /// executor until `Client::close()` has ended
  [[nodiscard]] Pending on(Executor& executor) && {
    executor_ = &executor;
    return std::move(*this);
  }

  /// Sets a token that ends the wait early, in addition to the token of the call's options. In a
  /// `co_await`, use this member instead of `AcquireOptions::stop`: GCC 12 destroys the options of
  /// such an expression twice, and a stop token among them too early.
  /// @param stop a stop request ends the wait; the call then reports `cancelled`
  [[nodiscard]] Pending stopped_by(std::stop_token stop) && {
    detail::stop_by(*call_, std::move(stop));
    return std::move(*this);
  }

  /// Begins the call.
  ///
  /// @param handler a function object that takes a `Result`; it may hold objects that cannot be
  /// copied
  /// @errors `closed` (the client was closed before, or this process is a forked child),
  /// `exhausted` (no thread), thrown as `Error`; `std::bad_alloc`. After an exception, the call has
  /// not begun, and the handler never runs
  template <std::invocable<Result> Handler>
  void start(Handler&& handler) && {
    auto kept = std::make_unique<HandlerOf<std::decay_t<Handler>>>(std::forward<Handler>(handler));
    detail::start(call_, executor_, std::move(kept));
    call_.reset();  // not before: if it has not begun, the destructor discards it
  }
  /// Begins the call, and ignores the result. A hold is unlocked at once.
  void start() && {
    std::move(*this).start([](Result&&) {});
  }

  /// The part of a suspended coroutine of any type that waits for the call. `asio::awaitable`
  /// accepts only operations of Asio.
  // Not an aggregate: GCC 12 destroys a temporary aggregate of a `co_await` twice.
  class Awaiter {
   public:
    explicit Awaiter(Pending&& pending) noexcept
        : call_(std::move(pending.call_)), executor_(pending.executor_) {}
    Awaiter(const Awaiter&) = delete;
    Awaiter& operator=(const Awaiter&) = delete;
    ~Awaiter() { detail::forsake(call_); }
    [[nodiscard]] bool await_ready() const noexcept { return false; }
    // Not inline: Clang 14 would put what is local here into the frame of the coroutine.
    [[gnu::noinline]] void await_suspend(std::coroutine_handle<> coroutine) {
      const auto go_on = [this, coroutine](Result&& result) {
        result_.emplace(std::move(result));
        coroutine.resume();
      };
      // From the start on, another thread may continue the coroutine, and destroy this object.
      detail::start(call_, executor_, std::make_unique<HandlerOf<decltype(go_on)>>(go_on));
    }
    Result await_resume() {
      detail::raise_failure_of(*call_);
      return std::move(*result_);
    }

   private:
    std::shared_ptr<runtime::PendingCall> call_;
    Executor* executor_;
    std::optional<Result> result_;
  };
  Awaiter operator co_await() && { return Awaiter(std::move(*this)); }

 private:
  friend class Client;
  friend class Guard;
  friend class Guards;
  friend class Lock;
  friend class Once;
  friend class Run;
  friend class Semaphore;

  template <class Function>
  class HandlerOf final : public detail::Handler {
   public:
    template <class From>
    explicit HandlerOf(From&& function) : function_(std::forward<From>(function)) {}
    void run(void* result) override {
      std::move(function_)(std::move(*static_cast<Result*>(result)));
    }

   private:
    std::remove_const_t<Function> function_;
  };

  explicit Pending(std::shared_ptr<runtime::PendingCall> call) noexcept : call_(std::move(call)) {}

  std::shared_ptr<runtime::PendingCall> call_;
  Executor* executor_ = nullptr;
};

}  // namespace mortise
