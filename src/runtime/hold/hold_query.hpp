// SPDX-License-Identifier: MIT
// The questions of owners and of new callers about the holds of a slot.
#pragma once

#include <mortise/holder.hpp>
#include <mortise/operation.hpp>
#include <mortise/token.hpp>

#include "core/figures.hpp"
#include "runtime/call/key_talk.hpp"
#include "runtime/client/announcements.hpp"

#include <cstddef>
#include <memory>
#include <optional>
#include <stop_token>

namespace mortise::runtime {

class Slot;

// Of a reader's part, or of the hold of one owner.
[[nodiscard]] std::size_t hold_count(Slot& slot, Owner owner, Mode mode);
[[nodiscard]] Token token_of(Slot& slot, Owner owner, Mode mode);
[[nodiscard]] core::Nanos valid_for(Slot& slot, Owner owner, Mode mode = Mode::exclusive);
[[nodiscard]] std::stop_token lost(Slot& slot, Owner owner, Mode mode = Mode::exclusive);

/// The same, for a call that is woken when the hold ends otherwise. The token can stop no more
/// then.
[[nodiscard]] std::stop_token watch_loss(Slot& slot, Owner owner, Mode mode, LossTask::Watch call);

struct Guarded {
  Token token;
  std::stop_token lost;
};
/// The hold that the owner has just taken belongs to a guard, which may outlive the owner's thread.
/// Call it once. The guard must unlock even if this throws.
[[nodiscard]] Guarded guard(Slot& slot, Owner owner, Mode mode);
/// The same of a guard of several names, which asks for neither token nor loss.
void guarded(Slot& slot, Owner owner, Mode mode) noexcept;

/// @return the hold of another owner of this process, as others would see it.
[[nodiscard]] std::optional<Holder> local_holder(Slot& slot);
/// @return what a caller that has just come may know without asking for the key.
/// @param asker see `KeyCall::begun_by`
[[nodiscard]] KeyGlance glance(Slot& slot, const Memory& asked, Owner asker);

/// Asks the server who holds the name.
[[nodiscard]] std::optional<Holder> ask_holder(Slot& slot, Failure& failure);
/// Asks the server what it remembers of the key, or has it forget that.
/// @param stop ends the wait early: `cancelled`
[[nodiscard]] std::shared_ptr<const Record> recall(Slot& slot, Recollection::Kind kind,
                                                   core::Nanos at_most, Failure& failure,
                                                   const std::stop_token& stop = {});

}  // namespace mortise::runtime
