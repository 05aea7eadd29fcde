// SPDX-License-Identifier: MIT
// One statement on its way: what was asked for whom.
#pragma once

#include <mortise/listing_operation.hpp>
#include <mortise/operation.hpp>

#include "core/figures.hpp"
#include "remote/call.hpp"
#include "remote/void_moment.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace mortise::postgres {

/// Asks which of these processes of the server live. No caller waits for the answer.
struct Census final : Operation {
  explicit Census(std::vector<std::int64_t> of) : processes(std::move(of)) {}
  const std::vector<std::int64_t> processes;
};

struct Call : remote::Call {
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
  /// Which statement says it: see `Statements`.
  enum class Text : std::uint8_t {
    look,  ///< a try for a lock: it takes what is free, and otherwise writes nothing
    take,
    cancel,
    release,
    conclude,
    renew,
    wake,
    inspect,
    look_key,
    forget_key,
    force_release,
    list,
    queue,
    census,
    check,
    write,   ///< check: the second statement, which writes what a lock would
    written  ///< check: whether another check has written that, while `write` finds it locked
  };
  /// The results of the earlier statements of the call.
  struct SoFar {
    std::int64_t forgets = 0;  ///< recall: see `Recalled::what()`; 0 = it looks first
    unsigned forgotten = 0;    ///< recall: how often it may have forgotten that
    std::int64_t seen = -1;    ///< check: what `written` returned first; -1 = not asked
  };
  /// The circumstances of its last departure.
  struct Passage {
    Instant left{};                ///< our clock; unset: it did not leave
    remote::VoidTime void_time{};  ///< it takes nothing after that
    std::uint64_t clock = 0;       ///< by the clock of the server with that number
    bool is_decided = false;       ///< a cancel: its attempt was decided when it was made
  };

  Kind kind = Kind::check;
  SoFar so_far{};
  Text text = Text::inspect;
  Mode space = Mode::exclusive;  ///< names of locks, keys (`once`), or semaphores (`permit`)
  Passage passage{};
  /// It may have been executed by now, without an answer that counts.
  bool executed = false;
  unsigned in_vain = 0;  ///< how often in a row the row was locked

  /// @param now when the library asks for it
  [[nodiscard]] static Call made(Kind kind, std::shared_ptr<Operation> of, Instant now) {
    Call call;
    call.kind = kind;
    call.why = why_of(kind);
    call.operation = std::move(of);
    call.asked = call.since = now;
    return call;
  }

  /// @return true if no library is behind it, to repeat it.
  [[nodiscard]] bool is_own() const noexcept {
    return why == remote::Purpose::look || why == remote::Purpose::undo ||
           why == remote::Purpose::give_back;
  }

  /// Twice the command timeout of a fast link: a statement waits for a disk, and another connection
  /// costs the server a process.
  [[nodiscard]] static remote::Patience patience_for(core::Nanos of_lease) noexcept {
    return {std::min<core::Nanos>(usual_patience, 2 * core::command_timeout(of_lease)),
            core::longest_command(of_lease)};
  }
  static constexpr std::chrono::seconds usual_patience{1};
  [[nodiscard]] remote::Patience patience() const noexcept {
    if (kind == Kind::wake) return {longest_chore, longest_chore};
    return patience_for(shortest_lease());
  }
  /// @return until when it may take effect, if it is lost at that moment.
  [[nodiscard]] remote::VoidMoment void_moment(Instant now) const noexcept {
    return passage.void_time.lost(passage.clock, now);
  }

  /// @return true for a request that takes an attempt, or takes it back.
  [[nodiscard]] bool is_about_an_attempt() const noexcept {
    return kind == Kind::acquire || kind == Kind::cancel;
  }
  [[nodiscard]] bool is_release() const noexcept {
    return kind == Kind::release || kind == Kind::conclude;
  }

  /// @return the name that it is about; null = none, or several.
  [[nodiscard]] const std::string* name() const {
    switch (kind) {
      case Kind::acquire:
      case Kind::cancel: return &acquisition().request().name;
      case Kind::release:
      case Kind::conclude:
      case Kind::force: return &releasing().hold().name;
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

  /// @return any attempt of its client; null = none is known.
  [[nodiscard]] const AttemptId* of_client() const {
    if (is_about_an_attempt()) return &attempt();
    if (is_release()) return &releasing().hold().attempt;
    return kind == Kind::renew ? &renewal().items().front().hold.attempt : nullptr;
  }

 private:
  [[nodiscard]] static remote::Purpose why_of(Kind kind) noexcept {
    switch (kind) {
      case Kind::acquire: return remote::Purpose::take;
      case Kind::cancel: return remote::Purpose::cancel;
      case Kind::release:
      case Kind::conclude: return remote::Purpose::release;
      case Kind::renew: return remote::Purpose::renew;
      // The bell keeps the names until other clients are notified of them.
      case Kind::wake:
      case Kind::census: return remote::Purpose::hint;
      default: return remote::Purpose::question;
    }
  }
  /// A notification waits for those of all other clients of the server.
  static constexpr std::chrono::minutes longest_chore{1};
};

}  // namespace mortise::postgres
