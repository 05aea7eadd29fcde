// SPDX-License-Identifier: MIT
// One statement on its way: what was asked for whom.
#pragma once

#include <mortise/listing_operation.hpp>
#include <mortise/operation.hpp>

#include "core/figures.hpp"
#include "remote/purpose.hpp"
#include "remote/server_clock.hpp"
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
    Instant left{};                   ///< our clock; unset: it did not leave
    std::chrono::nanoseconds time{};  ///< its answer might take that long: see patience()
    remote::ServerTime void_after{};  ///< it takes nothing after that, by the clock of the server
    std::uint64_t clock = 0;          ///< which clock that is
    bool is_decided = false;          ///< a cancel: its attempt was decided when it was made
  };

  Kind kind = Kind::check;
  remote::Purpose why = remote::Purpose::question;
  std::shared_ptr<Operation> operation{};
  SoFar so_far{};
  Instant asked{};  ///< the clock before it left
  Instant since{};  ///< when the library asked
  Text text = Text::inspect;
  Mode space = Mode::exclusive;      ///< names of locks, keys (`once`), or semaphores (`permit`)
  std::chrono::nanoseconds lease{};  ///< how long what it frees would keep others out
  Passage passage{};
  /// It may have been executed by now, without an answer that counts.
  bool executed = false;
  unsigned in_vain = 0;  ///< how often in a row the row was locked

  /// @param now when the library asks for it
  [[nodiscard]] static Call made(Kind kind, std::shared_ptr<Operation> of, Instant now) {
    return {
        .kind = kind, .why = why_of(kind), .operation = std::move(of), .asked = now, .since = now};
  }

  [[nodiscard]] remote::Purpose purpose() const noexcept { return why; }
  /// @return true if no library is behind it, to repeat it.
  [[nodiscard]] bool is_own() const noexcept {
    return why == remote::Purpose::look || why == remote::Purpose::undo ||
           why == remote::Purpose::give_back;
  }

  /// How long its answer may take. Unanswered for longer, its connection counts as dead.
  struct Patience {
    std::chrono::nanoseconds usual{};    ///< if the round trips of the connection are short
    std::chrono::nanoseconds longest{};  ///< if they are long
  };
  /// Twice what the library waits before it asks again: a statement waits for a disk, and another
  /// connection costs the server a process.
  [[nodiscard]] static Patience patience_for(core::Nanos of_lease) noexcept {
    return {std::min<core::Nanos>(usual_patience, 2 * core::command_timeout(of_lease)),
            core::longest_command(of_lease)};
  }
  static constexpr std::chrono::seconds usual_patience{1};
  [[nodiscard]] Patience patience() const noexcept {
    core::Nanos shortest = core::longest_lease;
    if (kind == Kind::wake) return {longest_chore, longest_chore};
    if (is_about_an_attempt()) shortest = acquisition().request().lease;
    if (kind == Kind::renew) {
      for (const Renewal::Item& item : renewal().items()) shortest = std::min(shortest, item.lease);
    }
    return patience_for(shortest);
  }
  /// @return until when it may take effect, if it is lost at that moment.
  [[nodiscard]] remote::VoidMoment void_moment(Instant now) const noexcept {
    return {.after = passage.void_after,
            .clock = passage.clock,
            .noted = now,
            .lasts = remote::VoidMoment::lasts_for(passage.time)};
  }

  /// @return true for a request that takes an attempt, or takes it back.
  [[nodiscard]] bool is_about_an_attempt() const noexcept {
    return kind == Kind::acquire || kind == Kind::cancel;
  }
  [[nodiscard]] bool is_release() const noexcept {
    return kind == Kind::release || kind == Kind::conclude;
  }
  [[nodiscard]] Acquisition& acquisition() const { return static_cast<Acquisition&>(*operation); }
  [[nodiscard]] std::shared_ptr<Acquisition> shared_acquisition() const {
    return std::static_pointer_cast<Acquisition>(operation);
  }
  [[nodiscard]] const AttemptId& attempt() const { return acquisition().request().attempt; }
  [[nodiscard]] Release& releasing() const { return static_cast<Release&>(*operation); }
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
