// SPDX-License-Identifier: MIT
// One name of one client: the kernel's lock excludes other processes, this table the own threads.
#include "file/entry.hpp"

#include "file/entry_parts.hpp"
#include "file/file_name.hpp"

#include <algorithm>
#include <climits>
#include <utility>

namespace mortise::file {
namespace {

using Kind = Decision::Kind;

/// The one of that attempt, constant where they are; null = none.
template <class Owner, class Sharing>
auto* hold_of(const AttemptId& attempt, Owner& owner, Sharing& sharing) noexcept {
  if (owner && owner->attempt == attempt) return &*owner;
  const auto found = std::find_if(sharing.begin(), sharing.end(),
                                  [&](const auto& own) { return own.attempt == attempt; });
  return found == sharing.end() ? nullptr : &*found;
}

}  // namespace

std::vector<Waiter>::iterator Entry::find(const Acquisition& operation) {
  return std::find_if(waiters_.begin(), waiters_.end(),
                      [&](const Waiter& waiter) { return waiter.operation.get() == &operation; });
}

const Entry::Own* Entry::held_by(const AttemptId& attempt) const noexcept {
  return hold_of(attempt, owner_, sharing_);
}

Entry::Own* Entry::held_by(const AttemptId& attempt) noexcept {
  return hold_of(attempt, owner_, sharing_);
}

bool Entry::matches(const HoldId& hold) const noexcept {
  const Own* const own = held_by(hold.attempt);
  return own != nullptr && own->grant.number == hold.number;
}

// The file is not the one of its name any more. Whoever sleeps on it looks at the path again.
void Entry::abandon() noexcept {
  owner_.reset();
  sharing_.clear();
  announced_ = false;
  asked_at_ = {};
  writer_seen_ = false;
  drawing_seen_ = false;
  if (file_->prepared()) file_->unlock(INT_MAX);
  file_.reset();
}

void Entry::let_the_woken_go_first(std::uint32_t seen) noexcept {
  polite_seen_ = seen;
  polite_until_ = BootClock::now() + politeness;
}

void Entry::drop(const AttemptId& attempt) noexcept {
  const bool owned = owner_ && owner_->attempt == attempt;
  if (!owned) return drop_part(attempt);
  // Where it has read beside, who reads next is not the first after an owner as the file tells it,
  // and wakes nobody.
  const int at_most = owner_->read ? INT_MAX : 1;
  owner_.reset();
  if (!sharing_.empty()) {
    // It goes on as a reader, and every other reader may come in.
    file_->keep_reading();
    file_->wake_all();
    return;
  }
  int woken = 0;
  if (announces()) {
    file_->unlock(owned_bytes);
    woken = file_->sleepers()->bump_and_wake(at_most);
  } else {
    announced_ = false;
    woken = file_->unlock(at_most);
  }
  if (woken > 0) let_the_woken_go_first(file_->word_after_unlock());
}

Decision Entry::acquire(const std::shared_ptr<Acquisition>& operation, Instant counted_from) {
  const Change change(*this);
  if (closed_) return client_is_closed();
  if (retired_) return {.kind = Kind::retired};
  const Acquisition::Request& request = operation->request();
  if (const Own* const own = held_by(request.attempt)) {
    // Asked again while another thread flushes its grant: that thread answers.
    if (!own->settled) return {};
    return {.kind = Kind::granted, .grant = own->grant};
  }
  auto waiter = find(*operation);
  const bool joins = request.wait && waiter == waiters_.end();
  // Of a request that does not wait: what was recorded before it came is no news.
  std::uint64_t since = waiter == waiters_.end() ? Waiter::has_not_asked : waiter->since;
  // Memory first: nothing may fail between taking the lock and noting its owner.
  if (joins) waiters_.reserve(waiters_.size() + 1);
  Nap nap;
  Decision decision{.kind = Kind::held};
  if (common_.mode == Mode::once) decision = consult(request, since);
  // Readers look themselves whether a writer waits.
  const bool others_turn = request.mode != Mode::shared && polite_until_ != Instant{} &&
                           BootClock::now() < polite_until_;
  if (decision.kind == Kind::held && joins && others_turn && file_ && !owner_) {
    nap = {.sleepers = file_->sleepers(), .seen = polite_seen_, .polite_until = polite_until_};
    if (common_.mode == Mode::once) since = record_seen_;
    waiters_.push_back({.operation = operation, .nap = std::move(nap), .since = since});
    return decision;
  }
  if (decision.kind == Kind::held) decision = try_for(*operation, counted_from, nap, since);
  waiter = find(*operation);
  if (decision.kind != Kind::held) {
    if (waiter != waiters_.end()) waiters_.erase(waiter);
  } else if (waiter != waiters_.end()) {
    waiter->nap = std::move(nap);
    waiter->since = since;
  } else if (joins) {
    if (common_.mode == Mode::once) since = record_seen_;
    waiters_.push_back({.operation = operation, .nap = std::move(nap), .since = since});
  }
  return decision;
}

Decision Entry::retry(Acquisition& operation, Instant counted_from) {
  const Change change(*this);
  const auto waiter = find(operation);
  if (waiter == waiters_.end()) return {};
  Nap nap;
  Decision decision{.kind = Kind::held};
  if (common_.mode == Mode::once) decision = consult(operation.request(), waiter->since);
  if (decision.kind == Kind::held) decision = try_for(operation, counted_from, nap, waiter->since);
  if (decision.kind == Kind::held) {
    waiter->nap = std::move(nap);
  } else {
    waiters_.erase(waiter);
  }
  return decision;
}

Failure Entry::open_file() {
  if (common_.mode != Mode::once) {
    return LockFile::open(common_.directory, name_, file_, common_.mode);
  }
  using Opening = LockFile::Opening;
  bool same = false;
  Failure why = LockFile::open_key(common_.directory, name_, Opening::for_reading, file_);
  if (!why) why = file_->prepare(common_.directory, same);
  if (!same) file_.reset();
  return why;
}

Decision Entry::try_for(const Acquisition& operation, Instant counted_from, Nap& nap,
                        std::uint64_t& since) {
  const Acquisition::Request& request = operation.request();
  Decision decision;
  switch (request.mode) {
    case Mode::shared: return try_to_share(request, counted_from, nap, since);
    case Mode::permit: decision = try_for_permit(operation, counted_from, nap); break;
    case Mode::exclusive:
    case Mode::once: decision = try_to_take(operation, counted_from, nap); break;
  }
  if (decision.kind != Kind::held || !request.wait || common_.mode == Mode::once) return decision;
  announce(request);
  return decision;
}

Decision Entry::try_to_take(const Acquisition& operation, Instant counted_from, Nap& nap) {
  // The kernel would give the lock to the same description once more.
  if (owner_ || !sharing_.empty()) {
    nap = {.sleepers = file_->sleepers(), .seen = file_->word()};
    const Mode mode = owner_ ? Mode::exclusive : Mode::shared;
    return {.kind = Kind::held, .holder = file_->holder(mode)};
  }
  for (int round = 0; round < patience; ++round) {
    if (!file_) {
      if (Failure why = open_file()) return failed(std::move(why));
      if (!file_) continue;
    }
    bool locked = false;
    Failure why = file_->try_lock(locked);
    if (!why && !locked) {
      // The word is read before the try that counts: a release after that try has changed it.
      nap = {.sleepers = file_->sleepers(), .seen = file_->word()};
      why = file_->try_lock(locked);
    }
    if (why) return failed(std::move(why));
    // The holder of a file that was deleted or replaced excludes nobody, be it us or another.
    const LockFile::Named named = file_->named();
    if (named == LockFile::Named::no) {
      abandon();
      continue;
    }
    if (!locked && common_.mode == Mode::once) return consult_held(operation.request());
    if (!locked) return {.kind = Kind::held, .holder = file_->holder()};
    if (named == LockFile::Named::unknown) {
      const Unlocking unlock(*file_, INT_MAX);
      return unseen_path();
    }
    if (common_.mode == Mode::once) return begin_run(operation.request(), counted_from);
    return note_grant(operation.request(), counted_from);
  }
  return replaced_again();
}

Decision Entry::replaced_again() const {
  const std::string path = common_.directory.path_of(file_name(name_, common_.mode));
  return failed(
      {Errc::unavailable,
       "file " + path + ": the file is replaced repeatedly; find the program that does so"});
}

Decision Entry::unseen_path() const {
  return failed({Errc::unavailable,
                 "file " + file_->path() + ": cannot check whether the file is still there"});
}

Decision Entry::note_grant(const Acquisition::Request& request, Instant counted_from) {
  Unlocking unlock(*file_, INT_MAX);
  Grant grant{.number = 0, .counted_from = counted_from, .lease = no_lease};
  if (Failure why = file_->record_grant(request.label, grant.number)) return failed(std::move(why));
  owner_ = Own{.attempt = request.attempt, .grant = grant, .settled = !common_.flush};
  polite_until_ = {};
  unlock.keep();
  return {.kind = common_.flush ? Kind::flushing : Kind::granted, .grant = grant};
}

Decision Entry::settle(const AttemptId& attempt) {
  std::shared_ptr<LockFile> file;
  {
    const Change change(*this);
    if (held_by(attempt) == nullptr) return client_is_closed();
    file = file_;
  }
  // Not under the mutex: a cancelled waiter must not wait for the disk.
  Failure why = file->flush(common_.directory);
  const Change change(*this);
  Own* const own = held_by(attempt);
  if (own == nullptr) return client_is_closed();
  if (!why && own->mends) return mended();
  if (!why) {
    own->settled = true;
    return {.kind = Kind::granted, .grant = own->grant};
  }
  // A number that may not be on the disk could be given again after a crash: this was no grant.
  drop(attempt);
  return failed(std::move(why));
}

bool Entry::cancel(const Acquisition& operation) {
  const Change change(*this);
  const auto waiter = find(operation);
  if (waiter != waiters_.end()) {
    // It may have been woken for a permit, and then found another one drawing.
    const bool naps = waiter->nap.polite_until != Instant{};
    if (naps && common_.mode == Mode::permit) waiter->nap.sleepers->wake(1);
    waiters_.erase(waiter);
  }
  return held_by(operation.request().attempt) == nullptr;
}

std::optional<Nap> Entry::nap(const Acquisition& operation) const {
  const std::lock_guard hold(mutex_);
  for (const Waiter& waiter : waiters_) {
    if (waiter.operation.get() == &operation) return waiter.nap;
  }
  return std::nullopt;
}

Released Entry::release(const HoldId& hold, bool watched) {
  using Named = LockFile::Named;
  const Change change(*this);
  if (!matches(hold)) return Released::was_lost;
  const Named named = !watched ? file_->named() : file_->deleted() ? Named::no : Named::yes;
  if (named == Named::no) {
    abandon();
    return Released::was_lost;
  }
  drop(hold.attempt);
  return named == Named::yes ? Released::released : Released::unknown;
}

void Entry::undo(const Acquisition& operation) noexcept {
  const Change change(*this);
  if (const auto waiter = find(operation); waiter != waiters_.end()) waiters_.erase(waiter);
  if (held_by(operation.request().attempt) != nullptr) drop(operation.request().attempt);
}

bool Entry::owns(const HoldId& hold) const {
  const std::lock_guard guard(mutex_);
  return matches(hold) && file_->named() != LockFile::Named::no;
}

std::optional<Holder> Entry::own_holder() const {
  const std::lock_guard hold(mutex_);
  if (!owner_ && sharing_.empty()) return std::nullopt;
  return file_->holder(owner_ ? Mode::exclusive : Mode::shared);
}

std::vector<HoldId> Entry::notice_losses() {
  const Change change(*this);
  std::vector<HoldId> lost;
  if ((!owner_ && sharing_.empty()) || file_->named() != LockFile::Named::no) return lost;
  bool settled = true;
  const auto loses = [&](const Own& own, Mode mode) {
    settled = settled && own.settled;
    lost.push_back(
        {.name = name_, .attempt = own.attempt, .number = own.grant.number, .mode = mode});
  };
  if (owner_) loses(*owner_, common_.mode);
  const Mode part = common_.mode == Mode::permit ? Mode::permit : Mode::shared;
  for (const Own& own : sharing_) loses(own, part);
  // Whoever settles one finds it.
  if (!settled) return {};
  abandon();
  return lost;
}

void Entry::repair() const {
  const std::lock_guard hold(mutex_);
  // Where this fails, waiters are left to their re-checks.
  if (file_) static_cast<void>(file_->allocate());
}

bool Entry::retire() noexcept {
  // Whoever is inside may be opening the file, which takes its time; the caller holds up all names.
  const std::unique_lock hold(mutex_, std::try_to_lock);
  if (!hold || owner_ || !sharing_.empty() || !waiters_.empty()) return false;
  retired_ = true;
  return true;
}

std::vector<Waiter> Entry::close() noexcept {
  const Change change(*this);
  closed_ = true;
  // Readers, and those who wait for a writer of ours alone, may go on together.
  const bool all = !sharing_.empty() || announced_;
  if (owner_ || all) {
    owner_.reset();
    sharing_.clear();
    file_->unlock(all ? INT_MAX : 1);
  }
  announced_ = false;
  file_.reset();
  return std::exchange(waiters_, {});
}

}  // namespace mortise::file
