// SPDX-License-Identifier: MIT
// What a lock cannot do: remember that the work was done.
#pragma once

#include <mortise/error.hpp>
#include <mortise/export.hpp>
#include <mortise/options.hpp>
#include <mortise/outcome.hpp>
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
struct KeyCall;
class OpenRun;
class Slot;
}  // namespace runtime
class Client;
struct Memory;
struct Record;

/// A handle on one key of one client; get it from `Client::make_once()`.
///
/// Of all who ask for a key, at most one at a time runs; the outcome that it records is given to
/// all others, and to whoever asks later, until the store forgets the key:
///
/// | state               | meaning                          | who comes next                      |
/// |---------------------|----------------------------------|-------------------------------------|
/// | absent              | never begun, or forgotten        | runs                                |
/// | pending             | begun; its runner holds the key  | waits (`OnceOptions::wait`), or is  |
/// |                     |                                  | told `pending` at once              |
/// | pending, lease over | its runner died, or gave it back | runs, with `number()` + 1           |
/// | succeeded           | the result stands                | gets the result: one round trip, no |
/// |                     |                                  | lock; `Repeat::always`: runs        |
/// | failed              | the reason stands                | runs, with `number()` + 1;          |
/// |                     |                                  | `Repeat::never`: gets the reason    |
///
/// The recorded outcome is at most once; the *body* is at least once: a runner can die after its
/// effect and before its outcome. So a run with `number()` > 1 first finds out what the earlier one
/// has done, and each run hands `token()` to whatever it changes. See docs/once.md.
///
/// Keys are a space of their own: the key "x" and the lock "x" do not meet.
///
/// @thread_safety every member may be called concurrently, also on one object; moving and
/// destroying need exclusion, as for any object. No member may be called on a moved-from handle.
class MORTISE_WARN_UNUSED MORTISE_API Once {
 public:
  Once(Once&&) noexcept;
  Once& operator=(Once&&) noexcept;
  /// Ends nothing: a run outlives the handle.
  ~Once();

  /// Runs the key, or tells what is remembered of it.
  ///
  /// @param body is called at most once, in this thread, with `Run&` or with nothing. What it
  /// returns (something that converts to `std::string_view`, or nothing) is recorded as the result,
  /// unless it has concluded the run by itself; where it has done so in a transaction
  /// (`postgres::conclude()`), what was committed is the outcome, or it is `lost()` if nothing was,
  /// whatever the body returns. What it throws is recorded as the failure, by its
  /// `what()` (the first 65,536 bytes), and thrown on.
  /// @return what became of the key; `pending` where somebody else runs it and the time was up, or
  /// the wait was stopped
  /// @errors as `begin()` and `Run::succeed()`; a result that is too long is recorded as a failure
  /// with those words and reported as `misconfigured`. What the body throws passes through.
  /// @blocking as `begin()`, and as long as the body takes
  template <class Body>
  Outcome run(Body&& body) {
    Run run = begin();
    if (run) carry_out(run, std::forward<Body>(body));
    raise_after(run);
    return run.outcome();
  }
  /// The same, reporting through `ec` instead of throwing `Error`; clear on every outcome. What
  /// the body throws passes through.
  template <class Body>
  Outcome run(Body&& body, std::error_code& ec) {
    Run run = begin(ec);
    if (run) {
      carry_out(run, std::forward<Body>(body));
      ec = run.error();
    }
    return run.outcome();
  }

  /// Begins a run, for those who cannot put their work into one function.
  ///
  /// @return an open run where the caller is to do the work; else one whose `outcome()` says what
  /// is remembered, or `pending`, with `error()` `timeout` or `cancelled`
  /// @errors `mismatch` (the key is remembered with another fingerprint; nothing changed),
  /// `unsupported` (this thread runs the key already, and would wait for itself), `unavailable` (no
  /// connection for `ClientOptions::give_up`, or within a command time-out where it does not wait),
  /// `denied`, `in_doubt`, `misconfigured`, `protocol`, `exhausted`, `closed`
  /// @blocking as long as `OnceOptions::wait`; in order of arrival within the process
  [[nodiscard]] Run begin();
  /// The same without exceptions: contention gives a run that is not open, and a clear `ec`.
  [[nodiscard]] Run begin(std::error_code& ec);

  /// Asks the store what it remembers of the key: one round trip, whatever the fingerprint.
  ///
  /// @return the outcome at some moment during the call; `absent` where nothing is remembered
  /// @errors `unavailable`, `denied`, `protocol`, `closed`
  /// @blocking at most one second
  [[nodiscard]] Outcome look() const;
  /// The same without exceptions.
  [[nodiscard]] Outcome look(std::error_code& ec) const;

  /// Has the store forget the key, so that the next caller runs it as the first one.
  ///
  /// @return whether the key is absent now; false: it runs, and nothing changed
  /// @errors as `look()`; `in_doubt` where the answer did not come
  /// @blocking at most one second
  bool forget();
  /// The same without exceptions.
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
#else  // -fno-exceptions: the body cannot throw
    perform(run, std::forward<Body>(body));
#endif
  }
  /// The body has returned. Reports through `run.error()`.
  static void finish(Run& run, std::string_view result) noexcept;
  /// The body has thrown.
  static void threw(Run& run, std::string_view words) noexcept;
  /// Throws what `finish()` reported, if anything.
  static void raise_after(const Run& run);

  void begin(Run& run);
  static bool learn(runtime::Slot& slot, const Memory& memory, std::chrono::nanoseconds lease,
                    std::chrono::nanoseconds wait, const std::stop_token& stop, Run& run);
  static void told(const std::shared_ptr<const Record>& record, const Memory& memory, Run& run);
  static void begun(std::shared_ptr<runtime::OpenRun> open, runtime::KeyCall&& call, Run& run);
  [[nodiscard]] std::shared_ptr<const Record> recall(bool forget, Failure& failure) const;

  std::shared_ptr<runtime::Slot> slot_;
  std::shared_ptr<const core::Terms> terms_;
  std::shared_ptr<const Memory> memory_;
  std::chrono::nanoseconds wait_;
  std::stop_token stop_;
};

}  // namespace mortise
