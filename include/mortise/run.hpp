// SPDX-License-Identifier: MIT
// One run of a key, for those who cannot put their work into one function: taken when it is begun,
// given back when it is destroyed, with an outcome or without.
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

/// The right to run a key, and the duty to say what became of it. Get it from `Once::begin()`, or
/// as the argument of the body of `Once::run()`.
///
/// *Open* from its begin until it is concluded, given back or destroyed; its lease is renewed as a
/// lock's is, and can be lost as a lock can: then nothing can be recorded any more, which
/// `succeed()` and `fail()` tell. A run that is not open has an `outcome()`.
/// @thread_safety one thread at a time; `token()`, `number()`, `valid_for()` and `lost()` may be
/// called concurrently with each other. May move to another thread.
class MORTISE_API Run {
 public:
  /// Not open.
  Run() noexcept;
  Run(Run&& other) noexcept;
  /// Gives back what was open before it takes over.
  Run& operator=(Run&& other) noexcept;
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;
  /// `give_back()`, where it is open.
  ~Run();

  /// @return whether the caller is the runner and has not said yet what became of it. It says
  /// nothing about loss.
  [[nodiscard]] explicit operator bool() const noexcept { return open_ != nullptr; }

  /// Records success and frees the key, in one step at the store.
  ///
  /// A run that has recorded its success by itself (`postgres::conclude()`) only has it confirmed:
  /// the outcome is what is recorded, whatever `result` says; or, where the transaction was rolled
  /// back, one that is `lost()`, and the key stays pending.
  /// @param result what every later caller gets: up to 65,536 bytes of any value
  /// @return the outcome: `succeeded`, or one that is `lost()`
  /// @errors `misconfigured` (the result is too long: nothing was sent, and the run stays open),
  /// `not_owner` (the run is not open), `in_doubt` (the answer did not come: it is recorded, or the
  /// key stays pending; it is said again in the background until the lease is over), `denied`,
  /// `protocol`, `exhausted`, `closed`; the run is not open afterwards, except where said
  /// @blocking bounded by a command time-out
  Outcome succeed(std::string_view result = {});
  /// The same, reporting through `ec` instead of throwing `Error`; clear on success, and where
  /// the outcome is `lost()`.
  Outcome succeed(std::string_view result, std::error_code& ec);
  /// Records failure and frees the key.
  ///
  /// @param reason what later callers get to read: up to 65,536 bytes of any value
  /// @return the outcome: `failed`, or one that is `lost()`; `succeeded`, where the run has
  /// recorded its success by itself and that stands
  /// @errors as `succeed()`
  Outcome fail(std::string_view reason = {});
  /// The same without exceptions.
  Outcome fail(std::string_view reason, std::error_code& ec);
  /// Frees the key without an outcome: it stays pending, as if the runner had died, and the next
  /// caller runs it at once, with a `number()` one higher. Never throws; nothing where not open.
  /// @blocking bounded by a command time-out
  void give_back() noexcept;

  /// @return the key; empty where the run was never open.
  [[nodiscard]] const std::string& key() const noexcept;
  /// @return 1 for the first run since the key was absent. More: an earlier run died or failed (or,
  /// by `Repeat::always`, succeeded), and may have had its effect. 0 where the run was never open.
  [[nodiscard]] std::uint64_t number() const noexcept { return number_; }
  /// @return the fencing token; empty where the run was never open. Stays after a loss.
  [[nodiscard]] Token token() const noexcept { return token_; }
  /// @return how long the run is certain to stand unless its lease is renewed, as
  /// `Lock::valid_for()`; zero where it is not open.
  [[nodiscard]] std::chrono::nanoseconds valid_for() const noexcept;
  /// @return as `Lock::lost()`; never requested where the run was never open.
  [[nodiscard]] const std::stop_token& lost() const noexcept { return lost_; }

  /// @return why the run is not open, or what it has recorded; `absent` while it is open.
  [[nodiscard]] const Outcome& outcome() const noexcept { return outcome_; }
  /// @return why it did not begin, where that was an error or contention (`timeout`, `cancelled`).
  [[nodiscard]] const std::error_code& error() const noexcept { return failure_.code; }
  /// @return the words to `error()`, or to what `succeed()` or `fail()` reported last.
  [[nodiscard]] std::string error_text() const { return failure_.words(); }

  /// For backends that record the outcome by themselves, such as `postgres::conclude()`.
  /// @return the hold as the store knows it; its number is 0 where the run is not open.
  [[nodiscard]] HoldId hold() const;
  /// For the same.
  /// @return which store the hold is in; empty where the run is not open.
  [[nodiscard]] StoreId store() const;
  /// For the same.
  /// @return what the run's request said about the key's memory; null where it is not open.
  [[nodiscard]] std::shared_ptr<const Memory> memory() const noexcept;
  /// For the same: the run has written this outcome by itself, as a part of what may be undone yet.
  /// From now on `succeed()` and the end of a body write nothing, and have only that confirmed. The
  /// one that is noted last counts; nothing where the run is not open.
  void note(std::shared_ptr<const Record> written) noexcept;
  /// For the same: what the run has noted last is not to be undone any more. Frees the key, as
  /// `succeed()` does; whatever comes of that, `outcome()` is this one, and no error.
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
