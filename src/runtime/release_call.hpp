// SPDX-License-Identifier: MIT
// One call of unlock() in its own thread: passes the name to the next waiter of this client, or
// frees it at the server. A key is never passed, since each run is counted and fenced by the store.
// Several can be under way at once: each leaves before the first answer is awaited.
#pragma once

#include <mortise/error.hpp>
#include <mortise/operation.hpp>
#include <mortise/owner.hpp>

#include "core/hold.hpp"
#include "runtime/aftermath.hpp"
#include "runtime/closing.hpp"

#include <cstdint>
#include <memory>
#include <optional>

namespace mortise::runtime {

class ClientState;
class HoldKeeper;
class KeptHold;
struct KeyEnding;
class Slot;
struct SharedName;

/// Who unlocks.
enum class Unlocking : std::uint8_t {
  owner,
  guard,      ///< it has what `Slot::guarded()` said, and has it no longer
  backs_out,  ///< who was granted one of several names, and did nothing: `min_hold` is not for that
};

/// Takes the slot's mutex to end the hold, and once more when the release has left: only then may
/// this client ask for the name again, so that its request cannot overtake its release.
class ReleaseCall {
 public:
  /// @param ending of a run that has an outcome: its record becomes what stands; null otherwise
  ReleaseCall(Slot& slot, Mode mode, KeyEnding* ending = nullptr) noexcept;
  ReleaseCall(const ReleaseCall&) = delete;
  ReleaseCall& operator=(const ReleaseCall&) = delete;
  /// The whole call.
  /// @param failure receives `not_owner`; of a key also why the answer is `unknown`
  Released run(Owner owner, Failure& failure, Unlocking by = Unlocking::owner);

  // The same in parts: `begin()`; `wait()` for half of the time that there is, `repeat()`, and
  // `wait()` for the other half; `settle()`; `tell()`.

  /// Ends the hold here. The server is told; of a key it is waited for.
  void begin(Owner owner, Failure& failure, Unlocking by = Unlocking::owner);
  /// @return half of the time in which an answer has to come.
  [[nodiscard]] core::Nanos half_of_its_time() const noexcept;
  /// @return whether there is nothing to be waited for any more.
  bool wait(core::Nanos at_most);
  /// Unless it was answered.
  void repeat();
  /// @param had_its_time false: the caller could not wait, so that a missing answer says nothing
  /// about the store. The background finishes it.
  /// @return what was found. The call is over for `close()`, which an observer may call.
  Released settle(bool had_its_time = true);
  /// Tells the observer.
  void tell();

 private:
  /// @param successor the terms of whoever is to come next; may be null
  void free_at_server(const core::Hold& ended, const std::shared_ptr<const core::Terms>& successor);
  /// The hold is younger than its `min_hold`: it ends at the server by itself.
  void keep_at_server(const core::Hold& ended);
  /// @param asked_at `KeyTalk::arrivals` when the hold ended
  Released free_key(const core::Hold& ended, std::uint64_t asked_at, Failure& failure);
  /// What the runner has written by itself may stand, although its hold is over here.
  Released confirm(Failure& failure);
  /// @return what its answer tells, if it came in time; it is over then.
  Released learned();
  Released answer();
  Released kept();
  void tell_released(const core::Hold& ended, Released outcome);
  /// @param asked the request that was not answered; may be null
  void tell_unanswered(const core::Hold& ended, const Operation* asked);
  void tell_failed(const core::Hold& ended, Failure why);

  void look_after_readers_locked(Instant now) noexcept;
  [[nodiscard]] Failure not_owner_locked() const;

  Slot& slot_;
  const Mode mode_;  // `shared`: of a reader
  KeyEnding* const ending_;
  SharedName& name_;
  HoldKeeper& keeper_;
  ClientState& client_;
  Aftermath after_;
  std::optional<core::Hold> ended_;         // passed on or freed
  std::optional<Closing::Inside> freeing_;  // the second
  std::shared_ptr<Release> release_;        // whose answer is not known
  std::shared_ptr<KeptHold> kept_;          // or it is kept, by a word that may not be heard yet
  std::shared_ptr<Operation> word_;         // the last one
  bool repeated_ = false;
  bool had_its_time_ = true;
  Released outcome_ = Released::unknown;
};

}  // namespace mortise::runtime
