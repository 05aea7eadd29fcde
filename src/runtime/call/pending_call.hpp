// SPDX-License-Identifier: MIT
// One call that no thread waits for: stepped whenever something has rung, and over once. Its
// derived classes ask the store.
#pragma once

#include <mortise/error.hpp>
#include <mortise/operation.hpp>
#include <mortise/pending.hpp>

#include "core/timer_heap.hpp"
#include "runtime/engine/notifier.hpp"

#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <stop_token>
#include <utility>

namespace mortise::runtime {

class ClientState;
class PendingCall;

/// @return why a part of a call has thrown; without words if there is no memory for them.
[[nodiscard]] Failure reason_of(const std::exception& error) noexcept;

/// Does a part of a call that may have no memory.
/// @return what that has thrown: `exhausted`, if memory was missing
template <class Part>
[[nodiscard]] Failure tried(Part part) noexcept {
  try {
    part();
  } catch (const std::exception& error) {
    return reason_of(error);
  }
  return {};
}

/// The state of a call in the ready list, under the mutex of that.
struct ReadyPlace : core::Timer {
  PendingCall* call = nullptr;
  std::shared_ptr<Waker> kept{};  ///< the call keeps itself until it is over
  ReadyPlace* after = nullptr;
  std::shared_ptr<PendingCall> posted_after{};  ///< its completion waits for `Client::poll()`
  bool counts = true;                           ///< `close()` waits for its end
  bool observed = false;  ///< it has an observer: the thread that starts it makes the first step
  bool listed = false;
  bool stepping = false;  ///< a thread is inside
  bool again = false;     ///< something has rung the call since that thread went inside
  bool over = false;
};

/// Keeps itself from `start()` until its completion was posted; that one keeps it from then on.
/// @thread_safety `wake()` and `forsake()` may be called concurrently with everything. `start()` is
/// called once. The ready list has one thread step it at a time. When it is over, `complete()` is
/// called once, by any thread.
class PendingCall : public Waker {
 public:
  explicit PendingCall(std::shared_ptr<ClientState> client) noexcept;
  ~PendingCall() override;

  /// @throws Error, std::bad_alloc: it has not begun
  virtual void start(std::unique_ptr<detail::Handler> handler, Executor* executor);
  /// It is destroyed, and never began.
  virtual void discard() noexcept {}
  /// Before it begins: ends it early. A result is delivered.
  void stop_by(std::stop_token stop) noexcept { stop_.token = std::move(stop); }
  /// The handler does not want the result any more: its coroutine was destroyed.
  void forsake() noexcept;
  void wake() noexcept final;

  // For the ready list.

  /// Does what can be done now. @return when to step it again though nothing rings, in real time;
  /// nothing: it is over, and its completion was posted
  /// @param posts false: a completion is left to the next step, for another thread
  [[nodiscard]] std::optional<Instant> proceed(bool posts) noexcept;
  [[nodiscard]] ReadyPlace& place() noexcept { return place_; }

  /// Runs the handler, unless it was forsaken; gives back what no handler gets.
  /// @param run false: the completion was destroyed
  void complete(bool run) noexcept;
  /// A completion that has not run is destroyed.
  void dropped() noexcept;

  [[nodiscard]] ClientState& client() const noexcept { return *client_; }
  /// @return why it failed; empty before it is over.
  [[nodiscard]] const Failure& failure() const noexcept { return failure_; }

 protected:
  /// @return whether it is to end early.
  [[nodiscard]] bool is_given_up() const noexcept {
    return stop_.requested.load() || wanted_.load() == Wanted::forsaken;
  }
  /// @return whether the client is closed, and the call may sleep no more: nothing rings it later.
  [[nodiscard]] bool must_end() const noexcept;
  void fails(Failure why) noexcept { failure_ = std::move(why); }
  /// Does a part of the call that may have no memory. If it throws, the call fails with that,
  /// unless it has failed before.
  /// @return whether nothing was thrown
  template <class Part>
  bool attempt(Part part) noexcept {
    Failure why = tried(std::move(part));
    if (!why) return true;
    if (!failure_) fails(std::move(why));
    return false;
  }

  /// The same for a call that begins and ends by itself.
  void accept(std::unique_ptr<detail::Handler> handler, Executor* executor);
  void start_accepted();
  /// It goes on by itself, and nothing rings it: `end()` ends it, on a thread of its own or, with a
  /// loop, here. Then its completion is posted, and without an executor that thread runs the
  /// handler. If the executor throws for half a second, the handler is destroyed.
  void end_elsewhere();
  virtual void end() noexcept {}

  /// It begins: everything that may throw. No other thread is inside yet.
  virtual void begin() = 0;
  /// A step that throws ends the call: the call fails with the reason, and `abandon()` follows.
  /// @return whether it is over
  [[nodiscard]] virtual bool step() = 0;
  /// A step has thrown, and the call is about to be destroyed: it leaves whatever it takes part in.
  virtual void abandon() {}
  /// @return when to step it again though nothing rings, in real time.
  [[nodiscard]] virtual Instant again() const noexcept = 0;
  /// Makes the result. @param handler gets the result by `hand_over()`; null: it is given back
  virtual void deliver(detail::Handler* handler) noexcept = 0;
  /// Runs the handler, unless its coroutine was destroyed: perhaps by the observer, just now.
  void hand_over(detail::Handler* handler, void* result) noexcept;

 private:
  class HandlerTask;
  enum class Wanted : std::uint8_t { yes, forsaken, delivered };
  enum class Posting : std::uint8_t { no, inside, returned };

  struct Stopper {
    PendingCall& call;
    void operator()() const noexcept {
      call.stop_.requested.store(true);
      call.wake();
    }
  };
  struct Stop {
    std::stop_token token{};
    std::atomic<bool> requested{false};
    std::optional<std::stop_callback<Stopper>> callback{};
  };

  /// How its completion is posted.
  struct Way {
    Executor* executor = nullptr;               ///< null: the client's own way
    std::unique_ptr<Notifier::Task> task{};     ///< posts without memory
    std::atomic<Posting> posting{Posting::no};  ///< through the executor
    bool drops = false;                         ///< the handler does not run
    std::atomic<bool> completed{false};
  };

  [[nodiscard]] bool post() noexcept;
  [[nodiscard]] bool post_to(Executor& executor) noexcept;
  void end_and_post() noexcept;
  /// By the client's own way. @param runs false: no executor takes it, so the handler does not run
  void post_here(bool runs) noexcept;

  std::shared_ptr<ClientState> client_;
  ReadyPlace place_;
  std::unique_ptr<detail::Handler> handler_;
  bool began_ = false;
  Way way_;
  std::atomic<Wanted> wanted_{Wanted::yes};
  bool over_ = false;
  Stop stop_;
  Failure failure_;
};

/// @return the moment that comes so long after the other one, at the latest `never`.
[[nodiscard]] constexpr Instant later(Instant moment, std::chrono::nanoseconds span) noexcept {
  return span >= never - moment ? never : moment + span;
}

}  // namespace mortise::runtime
