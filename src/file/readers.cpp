// SPDX-License-Identifier: MIT
// The first reader after an owner wakes all waiters: the owner that has woken one cannot know which
// of them may go on.
#include "file/readers.hpp"

#include "core/figures.hpp"
#include "file/drawing.hpp"

#include <sched.h>

#include <chrono>
#include <climits>
#include <memory>
#include <utility>

namespace mortise::file {
namespace {

using Kind = Decision::Kind;

// A writer that waits asks again each fallback period. One that has been silent for three of them
// is stopped, or will not come back: it keeps no readers out.
constexpr std::chrono::nanoseconds silence = core::fallback_period * 3;

// `Waiter::since` of one that had to wait for an owner: it goes before every writer that waits.
constexpr std::uint64_t waits_for_an_owner = Waiter::has_not_asked - 1;

// Frees the name unless it is kept. A writer may have found it read, and gone to sleep.
class Reading {
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

}  // namespace

Decision Readers::try_for(const Acquisition::Request& request, Instant counted_from, Nap& nap,
                          std::uint64_t& since) {
  // Memory first: nothing may fail between taking the lock and noting whose it is.
  std::vector<Hold>& readers = held_.sharing;
  if (readers.size() == readers.capacity()) readers.reserve(2 * readers.size() + 1);
  if (held_.owner) return beside_the_owner(request, counted_from, nap, since);
  return held_.try_with_file([&] {
    Decision decision = try_once(request, counted_from, since);
    if (decision.kind == Kind::held) {
      // The word is read before the try that counts: a release after that try has changed it.
      nap = {.sleepers = held_.file->sleepers(), .seen = held_.file->word()};
      decision = try_once(request, counted_from, since);
    }
    if (decision.kind != Kind::held) return decision;
    // A client that draws a number wakes no waiter when it has it.
    if (decision.passing) nap.polite_until = BootClock::now() + drawing_pause;
    decision.holder = held_.file->holder();
    return decision;
  });
}

Decision Readers::beside_the_owner(const Acquisition::Request& request, Instant counted_from,
                                   Nap& nap, std::uint64_t& since) {
  if (!request.beside || *request.beside != held_.owner->attempt) {
    since = waits_for_an_owner;
    return held_.held_here(nap);
  }
  Header header;
  if (Failure why = held_.file->grants().read(header)) return failed(std::move(why));
  held_.owner->read = true;
  return note(request, counted_from, header);
}

Decision Readers::try_once(const Acquisition::Request& request, Instant counted_from,
                           std::uint64_t& since) {
  bool refused = false;
  if (Failure why = look_before(since, refused)) return failed(std::move(why));
  bool locked = false;
  Reading reading(held_.file);
  if (!refused && held_.sharing.empty()) {
    if (Failure why = reading.begin(locked)) return failed(std::move(why));
    if (!locked) since = waits_for_an_owner;
    refused = !locked;
  }
  // The holder of a file that was replaced excludes no client, nor does a waiter there.
  if (auto lost = held_.refuse_replaced()) return std::move(*lost);
  if (refused) return {.kind = Kind::held, .passing = drawing_seen_};
  // Once more: the number stands as long as it is read.
  Header header;
  Failure why = held_.file->grants().read(header);
  if (!why) why = gives_way(header, since, refused);
  if (why) return failed(std::move(why));
  if (refused) return {.kind = Kind::held};
  why = draw(header);
  if (why) return failed(std::move(why));
  if (drawing_seen_) return {.kind = Kind::held, .passing = true};
  Decision decision = note(request, counted_from, header);
  if (decision.kind != Kind::failed) reading.keep();
  return decision;
}

// A reader that was refused lately, by a writer that waits or a client that draws, looks for them
// first: a reader that locks and thinks better of it has kept writers out for that moment, and has
// to wake them.
Failure Readers::look_before(std::uint64_t& since, bool& refused) {
  refused = false;
  if (!writer_seen_ && !drawing_seen_) return {};
  Header header;
  Conflict owner;
  Conflict drawing;
  const LockFile& file = *held_.file;
  Failure why = file.grants().read(header);
  if (!why) why = gives_way(header, since, refused);
  if (!why) why = file.conflict(reading_byte, ByteLock::shared, owner);
  if (!why && drawing_seen_) why = file.conflict(drawing_byte, ByteLock::exclusive, drawing);
  // An owner's lock is on that byte as well.
  drawing_seen_ = drawing.there && !owner.there;
  if (owner.there) since = waits_for_an_owner;
  refused = refused || owner.there || drawing_seen_;
  return why;
}

Failure Readers::draw(Header& header) {
  Failure why;
  bool drawn = Grants::serves_readers(header);
  for (int tried = 0; !why && !drawn && tried < drawing_tries; ++tried) {
    if (tried > 0) ::sched_yield();
    Drawing drawing(held_.file);
    why = drawing.try_once();
    // The client that draws does it for all of us.
    if (!why) why = held_.file->grants().read(header);
    drawn = !why && Grants::serves_readers(header);
    if (why || drawn || !drawing.locked()) continue;
    why = held_.file->grants().draw_for_readers(header);
    drawn = !why;
  }
  drawing_seen_ = !drawn;
  return why;
}

Decision Readers::note(const Acquisition::Request& request, Instant counted_from, Header& header) {
  Grant grant{.number = 0, .counted_from = counted_from, .lease = no_lease};
  Grants& grants = held_.file->grants();
  Failure why;
  // Truncated. An owner is alone with it.
  if (held_.owner && header.blank()) why = grants.draw_for_readers(header);
  if (!why) why = grants.record_reader(header, request.label, grant.number);
  if (why) return failed(std::move(why));
  if (!held_.owner && !header.grant.shared()) held_.file->sleepers()->wake(INT_MAX);
  return held_.note({.attempt = request.attempt, .grant = grant}, Mode::shared);
}

// It does if one waits, unless an owner has had the name since this reader came.
Failure Readers::gives_way(const Header& header, std::uint64_t& since, bool& waits) {
  Failure why = writer_waits(header, waits);
  writer_seen_ = waits;
  if (!waits) return why;
  if (since == Waiter::has_not_asked) since = header.turn;
  waits = since == header.turn;
  return why;
}

Failure Readers::writer_waits(const Header& header, bool& waits) const {
  // The kernel does not tell a description of its own lock.
  waits = held_.waiters.has_writer();
  const std::chrono::nanoseconds ago =
      BootClock::now().time_since_epoch() - std::chrono::nanoseconds(header.turns.writer_asked_at);
  if (waits || ago > silence || ago < -silence) return {};
  Conflict elsewhere;
  Failure why = held_.file->conflict(waiting_byte, ByteLock::exclusive, elsewhere);
  waits = elsewhere.there;
  return why;
}

bool Readers::exclude_a_writer() const {
  if (!held_.file || held_.sharing.empty()) return false;
  Header header;
  bool waits = false;
  return !held_.file->grants().read(header) && !writer_waits(header, waits) && waits;
}

}  // namespace mortise::file
