// SPDX-License-Identifier: MIT
// One run of a key, for work that does not fit into one function. A run begins with
// `Once::begin()`. A run ends with or without an outcome.
#pragma once

#include <mortise/error.hpp>
#include <mortise/export.hpp>
#include <mortise/key.hpp>
#include <mortise/outcome.hpp>
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
class OpenRun;
}

/// The permission to run a key, and the duty to report its outcome. `Once::begin()` returns a run.
/// The body of `Once::run()` gets the run as its argument.
///
/// A run is *open* from its beginning until it is concluded, given back or destroyed. The client
/// renews its lease like the lease of a lock. An open run can be lost. Then `succeed()` and
/// `fail()` record nothing and return an outcome that is `lost()`. A run that is not open has an
/// `outcome()`.
/// @thread_safety One thread at a time. `token()`, `number()`, `valid_for()` and `lost()` may be
/// called concurrently with each other. A run may move to another thread.
class MORTISE_API Run {
 public:
  /// Makes a run that is not open.
  Run() noexcept;
  Run(Run&& other) noexcept;
  /// Gives its own run back first if that run is open. Then takes over the other run.
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
  /// If the run itself has recorded its success (`postgres::conclude()`), this call only confirms
  /// the record and ignores `result`. If that transaction was rolled back, the outcome is `lost()`
  /// and the key stays pending.
  /// @param result the result that every later caller gets: up to 65,536 bytes of any value
  /// @return the outcome: `succeeded`, or an outcome that is `lost()`
  /// @errors `misconfigured` (the result is too long; nothing was sent, and the run stays open),
  /// `not_owner` (the run is not open), `in_doubt` (no answer came: the result is recorded, or the
  /// key stays pending; the client repeats the request in the background until the lease ends),
  /// `denied`, `protocol`, `exhausted`, `closed`. After an error other than `misconfigured`, the
  /// run is not open
  /// @blocking At most one command timeout.
  Outcome succeed(std::string_view result = {});
  /// As above, but reports through `ec` instead of throwing `Error`. `ec` is clear on success, and
  /// also if the outcome is `lost()`.
  Outcome succeed(std::string_view result, std::error_code& ec);
  /// Records failure and frees the key.
  ///
  /// @param reason the reason that later callers can read: up to 65,536 bytes of any value
  /// @return the outcome: `failed`, or an outcome that is `lost()`; `succeeded` if the run itself
  /// has recorded its success and that record was committed
  /// @errors as `succeed()`
  Outcome fail(std::string_view reason = {});
  /// As above without exceptions.
  Outcome fail(std::string_view reason, std::error_code& ec);
  /// Frees the key without an outcome. The key stays pending, as if the runner had died. The next
  /// caller runs the key at once, with a `number()` that is one larger. Never throws. Does nothing
  /// if the run is not open.
  /// @blocking At most one command timeout.
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
  /// zero if it is not open.
  [[nodiscard]] std::chrono::nanoseconds valid_for() const noexcept;
  /// @return as `Lock::lost()`; a token that never requests a stop if the run was never open.
  [[nodiscard]] const std::stop_token& lost() const noexcept { return lost_; }

  /// @return the outcome that the run has recorded, or the outcome that prevented the run; `absent`
  /// while the run is open.
  [[nodiscard]] const Outcome& outcome() const noexcept { return outcome_; }
  /// @return why the run did not begin, if the reason was an error or contention (`timeout`,
  /// `cancelled`).
  [[nodiscard]] const std::error_code& error() const noexcept { return failure_.code; }
  /// @return the message for `error()`, or for the last error of `succeed()` or `fail()`.
  [[nodiscard]] std::string error_text() const { return failure_.words(); }

  /// For backends that record the outcome themselves, such as `postgres::conclude()`.
  /// @return the hold as the store knows it; its number is 0 if the run is not open.
  [[nodiscard]] HoldId hold() const;
  /// For the same backends.
  /// @return the store that has the hold; empty if the run is not open.
  [[nodiscard]] StoreId store() const;
  /// For the same backends.
  /// @return the memory settings in the request of this run; null if the run is not open.
  [[nodiscard]] std::shared_ptr<const Memory> memory() const noexcept;
  /// For the same backends: the run has written this outcome in a transaction that may still be
  /// rolled back. From now on, `succeed()` and the end of a body write nothing. Both only confirm
  /// this outcome. The last noted outcome counts. Does nothing if the run is not open.
  void note(std::shared_ptr<const Record> written) noexcept;
  /// For the same backends: the transaction with the last noted outcome was committed. Frees the
  /// key, as `succeed()` does. `outcome()` then returns this outcome without an error, even if the
  /// client could not free the key.
  void stands(std::shared_ptr<const Record> written) noexcept;

 private:
  friend class Once;
  Outcome conclude(KeyState state, std::string_view bytes);

  std::shared_ptr<runtime::OpenRun> open_;
  std::string key_;
  std::uint64_t number_ = 0;
  Token token_;
  std::stop_token lost_;
  Outcome outcome_;
  Failure failure_;
};

}  // namespace mortise
