// SPDX-License-Identifier: MIT
// One statement on its way: what was asked for whom.
#pragma once

#include <mortise/listing_operation.hpp>
#include <mortise/operation.hpp>

#include "base/mutant.hpp"

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace mortise::postgres {

/// Copies of an attempt that may be on their way on connections that were lost.
struct Copies {
  std::int64_t number = 1;  ///< of the one that is sent now; grows
  bool older = false;       ///< there may be older ones
};

struct Call {
  enum class Kind : std::uint8_t {
    acquire,
    cancel,
    renew,
    release,
    conclude,  ///< a release that writes what became of a run: it is on disk before it is told
    inspect,
    recall,
    check,
    force,
    census,
    wake,
    list,
    queue
  };
  Kind kind = Kind::check;
  std::shared_ptr<Operation> operation{};
  std::int64_t forgets = 0;             ///< recall: see `Recalled::what()`; 0 = it looks first
  unsigned forgotten = 0;               ///< recall: how often it may have forgotten that
  std::int64_t first_seen = -1;         ///< check: what `written` returned first; -1 = not asked
  Instant asked{};                      ///< the clock before it left
  Instant since{};                      ///< when the library asked
  std::chrono::nanoseconds patience{};  ///< unanswered for so long: the connection counts as dead
  /// Which statement says it. All that acquire look first, since a look writes nothing, but for
  /// `take`; `peek` only at a row that is there. Those whose names end in `apart`, and `ask`, do
  /// not need a session of ours, nor an attempt without older copies.
  enum class Text : std::uint8_t {
    ask,
    look,
    peek,
    take,
    cancel,
    renew,
    release,
    release_apart,
    inspect,
    force_release,
    census,
    wake,
    ask_key,
    cancel_key,
    release_key,
    conclude_key,
    renew_all,
    look_key,
    forget_key,
    wake_all,
    share,
    ask_share,
    ask_permit,
    cancel_permit,
    release_permit,
    release_permit_apart,
    list,
    list_run,
    list_gate,
    queue,
    queue_run,
    queue_gate,
    check,
    write,   ///< check: the second statement, which writes what a lock would
    written  ///< check: whether another check has written that, while `write` finds it locked
  };
  /// @return the one of those three that is about keys, semaphores, or locks
  [[nodiscard]] static constexpr Text text_of(Text of_locks, Mode mode) noexcept {
    const int behind = mode == Mode::once ? 1 : mode == Mode::permit ? 2 : 0;
    return static_cast<Text>(static_cast<int>(of_locks) + behind);
  }
  Text text = Text::inspect;
  /// A release of that grant: its attempt may hold by another one. Nobody but the backend knows of
  /// it.
  bool grant_only = false;
  std::chrono::nanoseconds lease{};  ///< how long what it frees would keep others out
  bool alone = false;                ///< in a transaction of its own
  Copies copies{};                   ///< as it was sent last
  bool executed = false;  ///< once, without an answer that counts: it has to be asked once more
  unsigned in_vain = 0;   ///< how often in a row the row was locked
  std::uint32_t way = 0;  ///< that the pool has chosen for it

  /// It was executed, and no answer to that counts: it has to be asked once more. A mere look would
  /// find its own hold, and tell of it as of somebody else's.
  void executed_in_doubt() {
    executed = true;
    const bool looks = text == Text::look || text == Text::peek;
    if (looks && !base::mutant("postgres.own_hold_in_doubt_is_busy")) text = Text::ask;
  }

  [[nodiscard]] Acquisition& acquisition() const { return static_cast<Acquisition&>(*operation); }
  [[nodiscard]] Release& release() const { return static_cast<Release&>(*operation); }
  [[nodiscard]] Renewal& renewal() const { return static_cast<Renewal&>(*operation); }
  [[nodiscard]] Inspection& inspection() const { return static_cast<Inspection&>(*operation); }
  [[nodiscard]] Recollection& recollection() const {
    return static_cast<Recollection&>(*operation);
  }

  /// @return the name that it is about; null = none, or several.
  [[nodiscard]] const std::string* name() const {
    switch (kind) {
      case Kind::acquire:
      case Kind::cancel: return &acquisition().request().name;
      case Kind::release:
      case Kind::conclude:
      case Kind::force: return &release().hold().name;
      case Kind::recall: return &recollection().key();
      case Kind::inspect: return &inspection().name();
      case Kind::queue: return &static_cast<const QueueLook&>(*operation).name();
      case Kind::list:
      case Kind::renew:
      case Kind::check:
      case Kind::census:
      case Kind::wake: return nullptr;
    }
    return nullptr;
  }

  /// @return an attempt that it is about; null = none.
  [[nodiscard]] const AttemptId* attempt() const {
    switch (kind) {
      case Kind::acquire:
      case Kind::cancel: return &acquisition().request().attempt;
      case Kind::release:
      case Kind::conclude: return &release().hold().attempt;
      case Kind::renew: return &renewal().items().front().hold.attempt;
      default: return nullptr;
    }
  }
};

}  // namespace mortise::postgres
