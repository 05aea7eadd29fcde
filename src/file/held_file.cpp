// SPDX-License-Identifier: MIT
// A release wakes one waiter. The last reader wakes all, since it cannot know which of them may go
// on; and so does an owner that has read besides.
#include "file/held_file.hpp"

#include "file/file_name.hpp"

#include <algorithm>
#include <climits>

namespace mortise::file {
namespace {

using Kind = Decision::Kind;

/// The one of that attempt, constant where they are; null = none.
template <class Owner, class Sharing>
auto* hold_of(const AttemptId& attempt, Owner& owner, Sharing& sharing) noexcept {
  if (owner && owner->attempt == attempt) return &*owner;
  const auto found = std::find_if(sharing.begin(), sharing.end(),
                                  [&](const Hold& hold) { return hold.attempt == attempt; });
  return found == sharing.end() ? nullptr : &*found;
}

}  // namespace

const Hold* HeldFile::find(const AttemptId& attempt) const noexcept {
  return hold_of(attempt, owner, sharing);
}

Hold* HeldFile::find(const AttemptId& attempt) noexcept { return hold_of(attempt, owner, sharing); }

bool HeldFile::has(const HoldId& hold) const noexcept {
  const Hold* const found = find(hold.attempt);
  return found != nullptr && found->grant.number == hold.number;
}

Failure HeldFile::open(LockFile::Missing missing) {
  if (file) return {};
  if (common.mode != Mode::once) {
    return LockFile::open(common.directory, name, file, common.mode);
  }
  return LockFile::open_to_read(common.directory, name, Mode::once, missing, file);
}

std::optional<Decision> HeldFile::prepare() {
  bool same = false;
  if (Failure why = file->prepare(common.directory, same)) return failed(std::move(why));
  if (!same) return Decision{.kind = Kind::replaced};
  return std::nullopt;
}

void HeldFile::abandon() noexcept {
  owner.reset();
  sharing.clear();
  waiters.file_replaced();
  if (file->prepared()) file->unlock(INT_MAX);
  file.reset();
}

std::optional<Decision> HeldFile::refuse_replaced() const {
  const LockFile::Named named = file->named();
  if (named == LockFile::Named::yes) return std::nullopt;
  if (named == LockFile::Named::unknown) return unseen_path();
  // What is held by the old file is lost. The holder learns that, not this attempt. Its release
  // wakes the waiters.
  return Decision{.kind = sharing.empty() ? Kind::replaced : Kind::held};
}

Decision HeldFile::replaced_again() const {
  const std::string path = common.directory.path_of(file_name(name, common.mode));
  return failed(
      {Errc::unavailable,
       "file " + path + ": the file is replaced repeatedly; find the program that does so"});
}

Decision HeldFile::unseen_path() const {
  return failed({Errc::unavailable,
                 "file " + file->path() + ": cannot check whether the file is still there"});
}

Decision HeldFile::lock(Nap& nap) {
  bool locked = false;
  Failure why = file->try_lock(locked);
  if (!why && !locked) {
    // The word is read before the try that counts: a release after that try has changed it.
    nap = {.sleepers = file->sleepers(), .seen = file->word()};
    why = file->try_lock(locked);
  }
  if (why) return failed(std::move(why));
  // The holder of a file that was deleted or replaced excludes no client, be it us or another.
  const LockFile::Named named = file->named();
  if (named == LockFile::Named::no) return {.kind = Kind::replaced};
  if (!locked) return {.kind = Kind::held};
  if (named == LockFile::Named::yes) return {.kind = Kind::granted};
  const Unlocking unlock(*file, INT_MAX);
  return unseen_path();
}

Decision HeldFile::held_here(Nap& nap) const {
  nap = {.sleepers = file->sleepers(), .seen = file->word()};
  return {.kind = Kind::held,
          .holder = file->grants().holder(owner ? Mode::exclusive : Mode::shared)};
}

Decision HeldFile::note(Hold hold, Mode mode) {
  hold.settled = !common.flush;
  const Grant grant = hold.grant;
  if (mode == Mode::shared || mode == Mode::permit) {
    sharing.push_back(std::move(hold));
  } else {
    owner = std::move(hold);
  }
  politeness.end();
  return {.kind = common.flush ? Kind::flushing : Kind::granted, .grant = grant};
}

void HeldFile::drop(const AttemptId& attempt) noexcept {
  const bool owned = owner && owner->attempt == attempt;
  if (!owned) return drop_part(attempt);
  // If it has read besides, the next reader is not the first after an owner as the file records it,
  // and wakes no waiter.
  const int at_most = owner->read ? INT_MAX : 1;
  owner.reset();
  if (!sharing.empty()) {
    // It goes on as a reader, and every other reader may come in.
    file->keep_reading();
    file->wake_all();
    return;
  }
  int woken = 0;
  if (waiters.announces()) {
    file->unlock(owned_bytes);
    woken = file->sleepers()->bump_and_wake(at_most);
  } else {
    waiters.withdrawn();
    woken = file->unlock(at_most);
  }
  if (woken > 0) politeness.begin(file->word_after_unlock());
}

void HeldFile::drop_part(const AttemptId& attempt) noexcept {
  const auto part = std::find_if(sharing.begin(), sharing.end(),
                                 [&](const Hold& hold) { return hold.attempt == attempt; });
  if (part == sharing.end()) return;
  const std::uint32_t place = part->place;
  sharing.erase(part);
  int woken = 0;
  if (common.mode == Mode::permit) {
    file->unlock(permit_byte(place));
    woken = file->sleepers()->bump_and_wake(1);
  } else {
    if (is_held()) return;
    file->unlock(owned_bytes);
    woken = file->sleepers()->bump_and_wake(1);
    // A waiter was there: then the last of the readers wakes all. Of two that leave at the same
    // moment one sees the other gone.
    Conflict others;
    if (woken == 0) return;
    const int error = find_conflict(file->descriptor(), owned_bytes, ByteLock::exclusive, others);
    if (error == 0 && others.there) return;
    file->sleepers()->wake(INT_MAX);
  }
  if (woken > 0) politeness.begin(file->word());
}

void HeldFile::withdraw() noexcept {
  if (!waiters.announced()) return;
  // The release of an owner withdraws it with all the rest, for nothing.
  if (waiters.announces() || (owner && sharing.empty())) return;
  waiters.withdrawn();
  file->unlock(waiting_byte);
  if (common.mode == Mode::permit || owner) return;
  // Readers may have waited for that writer alone.
  Conflict owns;
  const int error = find_conflict(file->descriptor(), reading_byte, ByteLock::shared, owns);
  if (error == 0 && !owns.there) file->wake_all();
}

}  // namespace mortise::file
