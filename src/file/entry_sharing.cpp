// SPDX-License-Identifier: MIT
// Readers, and how they and the writers take turns.
//
// A waiting writer is seen by the kernel's lock of its client on a byte: readers that come then
// wait, so that those who read come to an end. A reader goes before a writer that waits once an
// owner has had the name since it came, so that it waits for one of them, not for all. Both are
// found out by each reader itself; nothing is written that a killed process would leave behind.
#include "core/figures.hpp"
#include "file/entry.hpp"
#include "file/entry_drawing.hpp"
#include "file/entry_parts.hpp"

#include <algorithm>
#include <utility>

namespace mortise::file {
namespace {

using Kind = Decision::Kind;

// A writer that waits asks again each fallback period. One that has been silent for three of them
// is stopped, or will not come back: it keeps no readers out.
constexpr std::chrono::nanoseconds silence = core::fallback_period * 3;

}  // namespace

Failure Entry::open_if_closed(bool& open) {
  Failure why;
  if (!file_) why = open_file();
  open = file_ != nullptr;
  return why;
}

std::optional<Decision> Entry::refuse_replaced(bool& again) {
  again = false;
  const LockFile::Named named = file_->named();
  if (named == LockFile::Named::yes) return std::nullopt;
  if (named == LockFile::Named::unknown) return unseen_path();
  // What is held by the old file is lost, which is told to whoever holds it, not to us.
  if (!sharing_.empty()) return Decision{.kind = Kind::held, .passing = true};
  again = true;
  return std::nullopt;
}

Decision Entry::try_to_share(const Acquisition::Request& request, Instant counted_from, Nap& nap,
                             std::uint64_t& since) {
  // Memory first: nothing may fail between taking the lock and noting whose it is.
  if (sharing_.size() == sharing_.capacity()) sharing_.reserve(2 * sharing_.size() + 1);
  if (owner_) {
    if (request.beside && *request.beside == owner_->attempt) {
      return note_share(request, counted_from);
    }
    since = 0;
    nap = {.sleepers = file_->sleepers(), .seen = file_->word()};
    return {.kind = Kind::held, .holder = file_->holder()};
  }
  for (int round = 0; round < patience; ++round) {
    bool open = false;
    if (Failure why = open_if_closed(open)) return failed(std::move(why));
    if (!open) continue;
    Decision decision = share_once(request, counted_from, since);
    if (decision.kind == Kind::held) {
      // The word is read before the try that counts: a release after that try has changed it.
      nap = {.sleepers = file_->sleepers(), .seen = file_->word()};
      decision = share_once(request, counted_from, since);
    }
    if (decision.kind == Kind::retired) {
      abandon();
      continue;
    }
    if (decision.kind != Kind::held) return decision;
    // Whoever draws a number wakes nobody when it has it.
    if (decision.passing) nap.polite_until = BootClock::now() + drawing_pause;
    decision.holder = file_->holder();
    return decision;
  }
  return replaced_again();
}

// Kind::retired: the file is not the one of its name any more.
Decision Entry::share_once(const Acquisition::Request& request, Instant counted_from,
                           std::uint64_t& since) {
  Header header;
  bool waits = false;
  if (Failure why = writer_waits(header, waits)) return failed(std::move(why));
  // Its turn, since a writer has had one meanwhile?
  waits = waits && header.last_owned() <= since;
  Drawing drawing(file_);
  bool locked = false;
  if (!waits) {
    if (Failure why = drawing.begin(locked)) return failed(std::move(why));
  }
  if (!locked) {
    Conflict owner;
    Failure why = file_->conflict(reading_byte, ByteLock::shared, owner);
    if (why) return failed(std::move(why));
    if (owner.there) {
      since = 0;
    } else if (waits) {
      since = std::min(since, header.last_owned());
    }
    // Whoever holds a file that was replaced keeps nobody out, nor does whoever waits there.
    bool again = false;
    if (auto refused = refuse_replaced(again)) return std::move(*refused);
    if (again) return {.kind = Kind::retired};
    return {.kind = Kind::held, .passing = !owner.there && !waits};
  }
  if (sharing_.empty()) {
    Failure why = drawing.lock(reading_byte, ByteLock::shared, locked);
    if (why) return failed(std::move(why));
    if (!locked) return {.kind = Kind::held, .passing = true};  // no owner can be there
  }
  bool again = false;
  if (auto refused = refuse_replaced(again)) return std::move(*refused);
  if (again) return {.kind = Kind::retired};
  Decision decision = note_share(request, counted_from);
  if (decision.kind != Kind::failed) drawing.keep();
  return decision;
}

Decision Entry::note_share(const Acquisition::Request& request, Instant counted_from) {
  Grant grant{.number = 0, .counted_from = counted_from, .lease = no_lease};
  if (Failure why = file_->record_shared_grant(request.label, grant.number)) {
    return failed(std::move(why));
  }
  sharing_.push_back({.attempt = request.attempt, .grant = grant, .settled = !common_.flush});
  polite_until_ = {};
  return {.kind = common_.flush ? Kind::flushing : Kind::granted, .grant = grant};
}

Failure Entry::writer_waits(Header& header, bool& waits) const {
  const auto writes = [](const Waiter& waiter) {
    return waiter.operation->request().mode == Mode::exclusive;
  };
  // The kernel does not tell a description of its own lock.
  const bool here = std::any_of(waiters_.begin(), waiters_.end(), writes);
  Conflict elsewhere;
  if (!here) {
    Failure why = file_->conflict(waiting_byte, ByteLock::exclusive, elsewhere);
    if (why) return why;
  }
  waits = here || elsewhere.there;
  if (!waits) return {};
  if (Failure why = file_->read(header)) return why;
  const std::chrono::nanoseconds ago = BootClock::now().time_since_epoch() -
                                       std::chrono::nanoseconds(header.turns.writer_asked_at);
  waits = here || (ago <= silence && ago >= -silence);
  return {};
}

bool Entry::wanted() const {
  const std::lock_guard hold(mutex_);
  if (!file_ || sharing_.empty()) return false;
  Header header;
  bool waits = false;
  return !writer_waits(header, waits) && waits;
}

void Entry::announce(const Acquisition::Request& request) const noexcept {
  bool locked = false;
  // Without it nobody is let in who should not be; who waits may have to wait longer.
  static_cast<void>(
      try_lock_bytes(file_->descriptor(), waiting_byte, ByteLock::shared, locked));
  if (request.mode != Mode::exclusive) return;
  static_cast<void>(write_writer_asked_at(file_->descriptor(),
                                          BootClock::now().time_since_epoch().count()));
}

bool Entry::announces() const noexcept {
  return announced_ && std::any_of(waiters_.begin(), waiters_.end(), [](const Waiter& waiter) {
           return waiter.operation->request().mode != Mode::shared;
         });
}

void Entry::withdraw() noexcept {
  // The release of an owner withdraws it with all the rest, for nothing.
  if (announces() || (owner_ && sharing_.empty())) return;
  announced_ = false;
  file_->unlock(waiting_byte);
  if (common_.mode == Mode::permit || owner_) return;
  // Readers may have waited for that writer alone.
  Conflict owner;
  const int error =
      find_conflict(file_->descriptor(), reading_byte, ByteLock::shared, owner);
  if (error == 0 && !owner.there) file_->wake_all();
}

void Entry::drop_part(const AttemptId& attempt) noexcept {
  const auto part = std::find_if(sharing_.begin(), sharing_.end(),
                                 [&](const Own& own) { return own.attempt == attempt; });
  if (part == sharing_.end()) return;
  const std::uint32_t place = part->place;
  sharing_.erase(part);
  int woken = 0;
  if (common_.mode == Mode::permit) {
    file_->unlock(permit_byte(place));
    woken = file_->sleepers()->bump_and_wake(1);
  } else {
    if (owner_ || !sharing_.empty()) return;
    file_->unlock(owned_bytes);
    // The last of the readers wakes. Of two that leave at the same moment one sees the other gone.
    Conflict others;
    const int error =
        find_conflict(file_->descriptor(), owned_bytes, ByteLock::exclusive, others);
    if (error == 0 && others.there) return;
    woken = file_->wake_all();
  }
  if (woken > 0) let_the_woken_go_first(file_->word());
}

}  // namespace mortise::file
