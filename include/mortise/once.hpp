// SPDX-License-Identifier: MIT
// A lock that remembers the result of its work. If two callers submit the same work, one caller
// does the work. Both callers get the result.
#pragma once

#include <mortise/error.hpp>
#include <mortise/export.hpp>
#include <mortise/options.hpp>
#include <mortise/outcome.hpp>
#include <mortise/pending.hpp>
#include <mortise/run.hpp>

#include <chrono>
#include <exception>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>

namespace mortise {

namespace core {
struct Terms;
}
namespace runtime {
class Slot;
}  // namespace runtime
class Client;
struct Memory;
struct Record;

/// A handle on one key of one client. `Client::make_once()` returns the handle.
///
/// At most one caller at a time runs a key. If the run succeeds, all waiting callers get its
/// result. Later callers get this result as well, until the store forgets the key. The state of the
/// key decides what the next caller does:
///
/// | state               | meaning                          | the next caller                     |
/// |---------------------|----------------------------------|-------------------------------------|
/// | absent              | never begun, or forgotten        | runs                                |
/// | pending             | begun; its runner holds the key  | waits (`OnceOptions::wait`), or     |
/// |                     |                                  | gets `pending` at once              |
/// | pending, lease over | its runner died, or gave it back | runs, with `number()` + 1           |
/// | succeeded           | the result is recorded           | gets the result: one round trip, no |
/// |                     |                                  | lock; `Repeat::always`: runs        |
/// | failed              | the reason is recorded           | runs, with `number()` + 1;          |
/// |                     |                                  | `Repeat::never`: gets the reason    |
///
/// The store records at most one success of a key. The *body* (the work) can run more than once. A
/// runner can die after the effect of its work and before the store has the outcome. So a run with
/// `number()` > 1 must first find out the effect of the earlier run. Each run should pass `token()`
/// to the store that it changes. See docs/once.md.
///
/// Keys and locks are separate: the key "x" and the lock "x" are independent.
///
/// @thread_safety Every member may be called concurrently, even on one object. Moving and
/// destroying need exclusive access, as for any object. Do not call a member of a moved-from
/// handle.
class MORTISE_WARN_UNUSED MORTISE_API Once {
 public:
  Once(Once&&) noexcept;
  Once& operator=(Once&&) noexcept;
  /// Does not end a run. A run outlives its handle.
  ~Once();

  /// Runs the key, or returns its recorded outcome.
  ///
  /// @param body the work; called at most once, in this thread, with `Run&` or without an argument.
  /// The body returns a type that converts to `std::string_view`, or nothing. The store records the
  /// returned text as the result. If the body throws, the run has failed. The store then records
  /// the first 65,536 bytes of the exception's `what()` as the reason. The exception passes
  /// through. If the body has concluded the run itself, the library ignores the returned text.
  /// After `postgres::conclude()`, the outcome is the committed outcome. If nothing was committed,
  /// the outcome is `lost()`
  /// @return the outcome of the key; `pending` if another caller still ran the key at the end of
  /// the wait
  /// @errors as `begin()` and `Run::succeed()`. If a result is too long, the store records a failed
  /// run. The call then fails with `misconfigured`. An exception of the body passes through
  /// @blocking As `begin()`, and for as long as the body takes.
  template <class Body>
  Outcome run(Body&& body) {
    Run run = begin();
    if (run) carry_out(run, std::forward<Body>(body));
    raise_after(run);
    return run.outcome();
  }
  /// As above, but reports through `ec` instead of throwing `Error`. `ec` is clear for every
  /// outcome. An exception of the body passes through.
  template <class Body>
  Outcome run(Body&& body, std::error_code& ec) {
    Run run = begin(ec);
    if (run) {
      carry_out(run, std::forward<Body>(body));
      ec = run.error();
    }
    return run.outcome();
  }

  /// Begins a run that the caller ends, for work that does not fit into one function.
  ///
  /// @return an open run if the caller has to do the work. Otherwise a run that is not open, with
  /// the recorded outcome in `outcome()`. If that outcome is `pending`, `error()` is `timeout` or
  /// `cancelled`
  /// @errors `mismatch` (the store remembers the key with a different fingerprint; the call changes
  /// nothing), `unsupported` (this thread already runs the key and would wait for itself),
  /// `unavailable` (no connection for `ClientOptions::give_up`, or within a command timeout if the
  /// call does not wait), `denied`, `in_doubt`, `misconfigured`, `protocol`, `exhausted`, `closed`
  /// @blocking At most `OnceOptions::wait` plus 50 ms. If that wait is zero or less, at most one
  /// command timeout plus 50 ms. Callers of one process get their turn in order of arrival.
  [[nodiscard]] Run begin();
  /// As above without exceptions. If another caller has the key, the run is not open and `ec` is
  /// clear.
  [[nodiscard]] Run begin(std::error_code& ec);
  /// Begins a run without a thread that waits: see `Pending`. `OnceOptions::wait` and
  /// `OnceOptions::stop` limit the wait.
  ///
  /// No thread owns the run, but the `Run` in the result. A coroutine that begins a key again while
  /// it runs the key waits for itself, so set `OnceOptions::wait`. If the result is dropped, the
  /// key is given back. The destructor of the run does not wait for the store.
  /// @return the call, which has not begun yet. Its result is as of `begin()`. If the call failed,
  /// the run is not open, and has the error
  /// @errors `unsupported` (the waiters of `file:` need threads), thrown as `Error`; in the result
  /// as `begin()`, without `unsupported` for a thread that already runs the key
  [[nodiscard]] Pending<Run> begin_async();

  /// Returns the record of the key in the store. The call needs one round trip. The call ignores
  /// the fingerprint.
  ///
  /// @return the outcome at some moment during the call; `absent` if the store remembers nothing
  /// @errors `unavailable`, `denied`, `protocol`, `closed`
  /// @blocking At most one second.
  [[nodiscard]] Outcome look() const;
  /// As above without exceptions.
  [[nodiscard]] Outcome look(std::error_code& ec) const;

  /// Deletes the record of the key in the store. The next caller then runs the key with
  /// `number()` 1.
  ///
  /// @return true if the key is absent now. If a caller is running the key, the call changes
  /// nothing and returns false
  /// @errors as `look()`; `in_doubt` if no answer came
  /// @blocking At most one second.
  bool forget();
  /// As above without exceptions.
  bool forget(std::error_code& ec);

  /// @return the key.
  [[nodiscard]] const std::string& key() const noexcept;

 private:
  friend class Client;
  Once(std::shared_ptr<runtime::Slot> slot, std::shared_ptr<const core::Terms> terms,
       std::shared_ptr<const Memory> memory, const OnceOptions& options) noexcept;

  template <class Body>
  static void perform(Run& run, Body&& body) {
    if constexpr (std::is_invocable_v<Body, Run&>) {
      record(run, [&]() -> decltype(auto) { return std::forward<Body>(body)(run); });
    } else {
      static_assert(std::is_invocable_v<Body>,
                    "Mortise: the body of Once::run() takes mortise::Run&, or nothing");
      if constexpr (std::is_invocable_v<Body>) record(run, std::forward<Body>(body));
    }
  }
  template <class Call>
  static void record(Run& run, Call&& body) {
    using Result = std::invoke_result_t<Call>;
    constexpr bool is_text = std::is_convertible_v<Result, std::string_view>;
    static_assert(is_text || std::is_void_v<Result>,
                  "Mortise: the body of Once::run() returns its result as text (std::string, or "
                  "what converts to std::string_view), or nothing; std::to_string() makes text of "
                  "a number");
    if constexpr (is_text) {
      finish(run, std::forward<Call>(body)());
    } else {
      std::forward<Call>(body)();
      finish(run, {});
    }
  }
  template <class Body>
  static void carry_out(Run& run, Body&& body) {
#ifdef __cpp_exceptions
    try {
      perform(run, std::forward<Body>(body));
    } catch (const std::exception& error) {
      threw(run, error.what());
      throw;
    } catch (...) {
      threw(run, "an exception without words");
      throw;
    }
#else  // with -fno-exceptions, the body cannot throw
    perform(run, std::forward<Body>(body));
#endif
  }
  /// Records the result after the body has returned. Reports errors through `run.error()`.
  static void finish(Run& run, std::string_view result) noexcept;
  /// Records the failure after the body has thrown.
  static void threw(Run& run, std::string_view words) noexcept;
  /// If `finish()` has reported an error, throws this error.
  static void raise_after(const Run& run);

  void begin(Run& run);
  [[nodiscard]] std::shared_ptr<const Record> recall(bool forget, Failure& failure) const;

  std::shared_ptr<runtime::Slot> slot_;
  std::shared_ptr<const core::Terms> terms_;
  std::shared_ptr<const Memory> memory_;
  std::chrono::nanoseconds wait_;
  std::stop_token stop_;
};

}  // namespace mortise
