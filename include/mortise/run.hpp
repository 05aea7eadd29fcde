// SPDX-License-Identifier: MIT
// One run of a key, for work that does not fit into one function. A run begins with
// `Once::begin()`. A run ends with or without an outcome.
#pragma once

#include <mortise/error.hpp>
#include <mortise/export.hpp>
#include <mortise/key.hpp>
#include <mortise/outcome.hpp>
#include <mortise/pending.hpp>
#include <mortise/store_id.hpp>
#include <mortise/token.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <system_error>

namespace mortise {

struct HoldId;
struct Memory;
struct Record;
namespace runtime {
class BeginCall;
class OpenRun;
class PendingBegin;
}  // namespace runtime

/// The permission to run a key, and the duty to report its outcome. `Once::begin()` returns a run.
/// `Once::run()` passes the run to its body.
///
/// A run is *open* from its beginning until the caller reports an outcome, gives the run back or
/// destroys it. The client renews the lease of an open run like the lease of a lock. An open run
/// can be lost. Then `succeed()` and `fail()` record nothing and return an outcome that is
/// `lost()`. If a run is not open, `outcome()` returns its outcome.
/// @thread_safety One thread at a time. `token()`, `number()`, `valid_for()` and `lost()` may be
/// called concurrently with each other. You may move a run to another thread.
class MORTISE_API Run {
 public:
  /// Makes a run that is not open.
  Run() noexcept;
  Run(Run&& other) noexcept;
  /// Gives this run back first if this run is open. Then takes over `other`.
  Run& operator=(Run&& other) noexcept;
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;
  /// Calls `give_back()` if the run is open.
  ~Run();

  /// @return true if the caller is the runner and has not reported an outcome yet. After a loss,
  /// the result is still true.
  [[nodiscard]] explicit operator bool() const noexcept { return open_ != nullptr; }

  /// Records success and frees the key, in one step at the store.
  ///
  /// If `postgres::conclude()` has already recorded the success, this call ignores `result`. It
  /// only confirms that record. If the transaction of `conclude()` was rolled back, the outcome is
  /// `lost()` and the key stays pending.
  /// @param result the result that every later caller gets: up to 65,536 bytes of any value
  /// @return the outcome: `succeeded`, or an outcome that is `lost()`
  /// @errors `misconfigured` (the result is too long), `not_owner` (the run is not open),
  /// `in_doubt` (no answer came), `denied`, `protocol`, `exhausted`, `closed`. After
  /// `misconfigured`, nothing was sent and the run stays open. After every other error, the run is
  /// not open. After `in_doubt`, the result is recorded or the key stays pending. The client
  /// repeats the request in the background until the lease ends
  /// @blocking At most one command timeout.
  Outcome succeed(std::string_view result = {});
  /// As above, but reports through `ec` instead of throwing `Error`. `ec` is clear on success. `ec`
  /// is also clear for an outcome that is `lost()`.
  Outcome succeed(std::string_view result, std::error_code& ec);
  /// Records failure and frees the key.
  ///
  /// @param reason the reason that later callers can read: up to 65,536 bytes of any value
  /// @return the outcome: `failed` if the call recorded the failure. `succeeded` if
  /// `postgres::conclude()` had already recorded the success and its transaction was committed.
  /// Otherwise an outcome that is `lost()`
  /// @errors as `succeed()`
  Outcome fail(std::string_view reason = {});
  /// As above without exceptions.
  Outcome fail(std::string_view reason, std::error_code& ec);
  /// As `succeed()`, without a thread that waits: see `Pending`. The call takes the run over, so
  /// this object is not open any more. Its `outcome()` stays as it is: use the result.
  ///
  /// Nothing stops the call half-way. If its coroutine is destroyed, the call continues. If the
  /// call is never begun, the client records the result without waiting.
  /// @param result as for `succeed()`; copied
  /// @return the call, which has not begun yet. The outcome in its result is as of `succeed()`. If
  /// the call failed, `Outcome::error()` returns the reason
  /// @errors `misconfigured` (the result is too long), `not_owner` (the run is not open), thrown as
  /// `Error`. The run then stays as it is. In the result as `succeed()`
  [[nodiscard]] Pending<Outcome> succeed_async(std::string_view result = {});
  /// As `fail()`, without a thread that waits. As above.
  [[nodiscard]] Pending<Outcome> fail_async(std::string_view reason = {});
  /// Frees the key without an outcome. The key stays pending, as if the runner had died. The next
  /// caller runs the key at once, with a `number()` that is one larger. Never throws. Does nothing
  /// if the run is not open.
  /// @blocking At most one command timeout. A run of `Once::begin_async()` does not wait: the
  /// client repeats the request until the store answers.
  void give_back() noexcept;

  /// @return the key; empty if the run was never open.
  [[nodiscard]] const std::string& key() const noexcept;
  /// @return 1 for the first run of an absent key. A larger number means that an earlier run died
  /// or failed and may have had its effect. With `Repeat::always`, the earlier run may also have
  /// succeeded. 0 if the run was never open.
  [[nodiscard]] std::uint64_t number() const noexcept { return number_; }
  /// @return the fencing token, even after a loss; empty if the run was never open.
  [[nodiscard]] Token token() const noexcept { return token_; }
  /// @return how long the run is certain to last without another renewal, as `Lock::valid_for()`;
  /// zero if the run is not open.
  [[nodiscard]] std::chrono::nanoseconds valid_for() const noexcept;
  /// @return a stop token that reports the loss, as `Lock::lost()`. If the run was never open, the
  /// token reports no loss.
  [[nodiscard]] const std::stop_token& lost() const noexcept { return lost_; }

  /// @return the outcome that the run has recorded, or the outcome that prevented the run; `absent`
  /// while the run is open.
  [[nodiscard]] const Outcome& outcome() const noexcept { return outcome_; }
  /// @return the reason why the run did not begin, or the last error of `succeed()` or `fail()`;
  /// otherwise clear. The reason can be contention (`timeout`, `cancelled`).
  [[nodiscard]] const std::error_code& error() const noexcept { return failure_.code; }
  /// @return the message for `error()`.
  [[nodiscard]] std::string error_text() const { return failure_.words(); }

  /// For functions that record the outcome themselves, such as `postgres::conclude()`.
  /// @return the identity of the hold; its number is 0 if the run is not open.
  [[nodiscard]] HoldId hold() const;
  /// For the same functions.
  /// @return the store that has the hold; empty if the run is not open.
  [[nodiscard]] StoreId store() const;
  /// For the same functions.
  /// @return the memory settings in the request of this run; null if the run is not open.
  [[nodiscard]] std::shared_ptr<const Memory> memory() const noexcept;
  /// For the same functions: notes an outcome that the run has written in its own transaction. The
  /// transaction may still be rolled back. From now on, `succeed()` and the end of a body write
  /// nothing. Both only confirm this outcome. The last noted outcome counts. Does nothing if the
  /// run is not open.
  void note(std::shared_ptr<const Record> written) noexcept;
  /// For the same functions: the transaction with the last noted outcome was committed. Frees the
  /// key, as `succeed()` does. `outcome()` then returns the noted outcome without an error, even if
  /// the client could not free the key.
  void stands(std::shared_ptr<const Record> written) noexcept;

 private:
  friend class Once;
  friend class runtime::BeginCall;
  friend class runtime::PendingBegin;
  [[nodiscard]] Failure check(KeyState state, std::string_view bytes) const;
  Outcome conclude(KeyState state, std::string_view bytes);
  [[nodiscard]] Pending<Outcome> conclude_async(KeyState state, std::string_view bytes);

  std::shared_ptr<runtime::OpenRun> open_;
  std::string key_;
  std::uint64_t number_ = 0;
  Token token_;
  std::stop_token lost_;
  Outcome outcome_;
  Failure failure_;
};

}  // namespace mortise
