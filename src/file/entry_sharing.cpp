// SPDX-License-Identifier: MIT
// Readers, and how they and the writers take turns.
//
// A waiting writer is seen by the kernel's lock of its client on a byte: readers that come then
// wait, so that those who read come to an end. A reader goes before a writer that waits once an
// owner has had the name since it came, so that it waits for one of them, not for all. Both are
// found out by each reader itself; nothing is written that a killed process would leave behind.
//
// Whom to wake: a release wakes one, as ever, and the last of the readers all, since they cannot
// know which of those who sleep may go on. Neither can an owner, so whoever reads first after it
// wakes all as well.
#include "core/figures.hpp"
#include "file/entry.hpp"
#include "file/entry_drawing.hpp"
#include "file/entry_parts.hpp"

#include <sched.h>

#include <algorithm>
#include <climits>
#include <memory>
#include <utility>

namespace mortise::file {
namespace {

using Kind = Decision::Kind;

// A writer that waits asks again each fallback period. One that has been silent for three of them
// is stopped, or will not come back: it keeps no readers out.
constexpr std::chrono::nanoseconds silence = core::fallback_period * 3;
// So it need not write that down each time.
constexpr std::chrono::nanoseconds asking_again = core::fallback_period / 2;

// `Waiter::since` of one that had to wait for an owner: it goes before every writer that waits.
constexpr std::uint64_t waits_for_an_owner = Waiter::has_not_asked - 1;

}  // namespace

// Lets the name go unless it is kept. Who would own it may have found it read, and gone to sleep.
class Entry::Reading {
 public:
  explicit Reading(std::shared_ptr<LockFile> file) noexcept : file_(std::move(file)) {}
  Reading(const Reading&) = delete;
  Reading& operator=(const Reading&) = delete;
  ~Reading() {
    if (!locked_) return;
    file_->unlock(reading_byte);
    file_->wake_all();
  }
  [[nodiscard]] Failure begin(bool& locked) {
    Failure why = file_->try_lock(reading_byte, locked, ByteLock::shared);
    locked_ = locked;
    return why;
  }
  void keep() noexcept { locked_ = false; }

 private:
  const std::shared_ptr<LockFile> file_;
  bool locked_ = false;
};

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
  // What is held by the old file is lost, which is told to whoever holds it, not to us. Its release
  // wakes those who wait.
  if (!sharing_.empty()) return Decision{.kind = Kind::held};
  again = true;
  return std::nullopt;
}

Decision Entry::try_to_share(const Acquisition::Request& request, Instant counted_from, Nap& nap,
                             std::uint64_t& since) {
  // Memory first: nothing may fail between taking the lock and noting whose it is.
  if (sharing_.size() == sharing_.capacity()) sharing_.reserve(2 * sharing_.size() + 1);
  if (owner_) {
    if (request.beside && *request.beside == owner_->attempt) {
      Header header;
      if (Failure why = file_->read(header)) return failed(std::move(why));
      owner_->read = true;
      return note_share(request, counted_from, header);
    }
    since = waits_for_an_owner;
    nap = {.sleepers = file_->sleepers(), .seen = file_->word()};
    return {.kind = Kind::held, .holder = file_->holder(Mode::exclusive)};
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
  bool refused = false;
  if (Failure why = look_before(since, refused)) return failed(std::move(why));
  bool locked = false;
  Reading reading(file_);
  if (!refused && sharing_.empty()) {
    if (Failure why = reading.begin(locked)) return failed(std::move(why));
    if (!locked) since = waits_for_an_owner;
    refused = !locked;
  }
  // Whoever holds a file that was replaced keeps nobody out, nor does whoever waits there.
  bool again = false;
  if (auto lost = refuse_replaced(again)) return std::move(*lost);
  if (again) return {.kind = Kind::retired};
  if (refused) return {.kind = Kind::held, .passing = drawing_seen_};
  // Once more: the number stands as long as it is read.
  Header header;
  Failure why = file_->read(header);
  if (!why) why = gives_way(header, since, refused);
  if (why) return failed(std::move(why));
  if (refused) return {.kind = Kind::held};
  why = draw_for_readers(header);
  if (why) return failed(std::move(why));
  if (drawing_seen_) return {.kind = Kind::held, .passing = true};
  Decision decision = note_share(request, counted_from, header);
  if (decision.kind != Kind::failed) reading.keep();
  return decision;
}

// Where it was refused lately, by a writer that waits or one who draws, that is looked for first:
// who locks and thinks better of it has kept writers out for that moment, and has to wake them.
Failure Entry::look_before(std::uint64_t& since, bool& refused) {
  refused = false;
  if (!writer_seen_ && !drawing_seen_) return {};
  Header header;
  Conflict owner;
  Conflict drawing;
  Failure why = file_->read(header);
  if (!why) why = gives_way(header, since, refused);
  if (!why) why = file_->conflict(reading_byte, ByteLock::shared, owner);
  if (!why && drawing_seen_) why = file_->conflict(drawing_byte, ByteLock::exclusive, drawing);
  // An owner's lock is on that byte as well.
  drawing_seen_ = drawing.there && !owner.there;
  if (owner.there) since = waits_for_an_owner;
  refused = refused || owner.there || drawing_seen_;
  return why;
}

Failure Entry::draw_for_readers(Header& header) {
  Failure why;
  bool drawn = LockFile::serves_readers(header);
  for (int tried = 0; !why && !drawn && tried < drawing_tries; ++tried) {
    if (tried > 0) ::sched_yield();
    Drawing drawing(file_);
    why = drawing.try_once();
    // Whoever draws does it for all of us.
    if (!why) why = file_->read(header);
    drawn = !why && LockFile::serves_readers(header);
    if (why || drawn || !drawing.locked()) continue;
    why = file_->draw_for_readers(header);
    drawn = !why;
  }
  drawing_seen_ = !drawn;
  return why;
}

Decision Entry::note_share(const Acquisition::Request& request, Instant counted_from,
                           Header& header) {
  Grant grant{.number = 0, .counted_from = counted_from, .lease = no_lease};
  Failure why;
  // Truncated. An owner is alone with it.
  if (owner_ && header.blank()) why = file_->draw_for_readers(header);
  if (!why) why = file_->record_reader(header, request.label, grant.number);
  if (why) return failed(std::move(why));
  sharing_.push_back({.attempt = request.attempt, .grant = grant, .settled = !common_.flush});
  polite_until_ = {};
  if (!owner_ && !header.grant.shared()) file_->sleepers()->wake(INT_MAX);
  return {.kind = common_.flush ? Kind::flushing : Kind::granted, .grant = grant};
}

// It does where one waits, unless an owner has had the name since this reader came.
Failure Entry::gives_way(const Header& header, std::uint64_t& since, bool& waits) {
  Failure why = writer_waits(header, waits);
  writer_seen_ = waits;
  if (!waits) return why;
  if (since == Waiter::has_not_asked) since = header.turn;
  waits = since == header.turn;
  return why;
}

Failure Entry::writer_waits(const Header& header, bool& waits) const {
  const auto writes = [](const Waiter& waiter) {
    return waiter.operation->request().mode == Mode::exclusive;
  };
  // The kernel does not tell a description of its own lock.
  waits = std::any_of(waiters_.begin(), waiters_.end(), writes);
  const std::chrono::nanoseconds ago =
      BootClock::now().time_since_epoch() - std::chrono::nanoseconds(header.turns.writer_asked_at);
  if (waits || ago > silence || ago < -silence) return {};
  Conflict elsewhere;
  Failure why = file_->conflict(waiting_byte, ByteLock::exclusive, elsewhere);
  waits = elsewhere.there;
  return why;
}

bool Entry::wanted() const {
  const std::lock_guard hold(mutex_);
  if (!file_ || sharing_.empty()) return false;
  Header header;
  bool waits = false;
  return !file_->read(header) && !writer_waits(header, waits) && waits;
}

void Entry::announce(const Acquisition::Request& request) noexcept {
  // Where these fail nobody is let in who should not be; who waits may have to wait longer.
  if (!announced_) {
    static_cast<void>(
        try_lock_bytes(file_->descriptor(), waiting_byte, ByteLock::shared, announced_));
  }
  const Instant now = BootClock::now();
  if (request.mode != Mode::exclusive || now - asked_at_ < asking_again) return;
  asked_at_ = now;
  static_cast<void>(write_writer_asked_at(file_->descriptor(), now.time_since_epoch().count()));
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
  const int error = find_conflict(file_->descriptor(), reading_byte, ByteLock::shared, owner);
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
    woken = file_->sleepers()->bump_and_wake(1);
    // Somebody waits: then the last of the readers wakes all. Of two that leave at the same moment
    // one sees the other gone.
    Conflict others;
    if (woken == 0) return;
    const int error = find_conflict(file_->descriptor(), owned_bytes, ByteLock::exclusive, others);
    if (error == 0 && others.there) return;
    file_->sleepers()->wake(INT_MAX);
  }
  if (woken > 0) let_the_woken_go_first(file_->word());
}

}  // namespace mortise::file
