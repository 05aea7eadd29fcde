// SPDX-License-Identifier: MIT
// One name of one client: the kernel's lock excludes other processes, this table the own threads.
#include "file/entry.hpp"

#include <climits>

namespace mortise::file {
namespace {

using Kind = Decision::Kind;

}  // namespace

class Entry::Change {
 public:
  explicit Change(Entry& entry) : entry_(entry), hold_(entry.mutex_) {}
  Change(const Change&) = delete;
  Change& operator=(const Change&) = delete;
  ~Change() {
    HeldFile& held = entry_.held_;
    held.withdraw();
    const bool in_use = held.is_held() || !held.waiters.empty();
    if (in_use == entry_.in_use_.load()) return;
    entry_.in_use_.store(in_use);
    if (in_use) {
      held.common.in_use.fetch_add(1);
    } else {
      held.common.in_use.fetch_sub(1);
    }
  }

 private:
  Entry& entry_;
  std::lock_guard<std::mutex> hold_;
};

Decision Entry::acquire(const std::shared_ptr<Acquisition>& operation, Instant counted_from) {
  const Change change(*this);
  if (closed_) return client_is_closed();
  if (retired_) return {.kind = Kind::retired};
  const Acquisition::Request& request = operation->request();
  if (const Hold* const own = held_.find(request.attempt)) {
    // Asked again while another thread flushes its grant: that thread answers.
    if (!own->settled) return {};
    return {.kind = Kind::granted, .grant = own->grant};
  }
  Waiters& waiters = held_.waiters;
  Waiter* const waiter = waiters.find(*operation);
  const bool joins = request.wait && waiter == nullptr;
  // Of a request that does not wait: what was recorded before it came is no news.
  std::uint64_t since = waiter == nullptr ? Waiter::has_not_asked : waiter->since;
  // Memory first: nothing may fail between taking the lock and noting its owner.
  if (joins) waiters.make_room();
  Nap nap;
  Decision decision{.kind = Kind::held};
  if (is_of_keys()) decision = runs_.consult(request, since);
  // Readers look themselves whether a writer waits.
  const bool others_turn = joins && request.mode != Mode::shared && held_.politeness.lasts() &&
                           held_.file && !held_.owner;
  if (decision.kind == Kind::held && others_turn) {
    nap = held_.politeness.nap(*held_.file);
  } else if (decision.kind == Kind::held) {
    decision = try_for(*operation, counted_from, nap, since);
  }
  if (decision.kind != Kind::held) {
    waiters.erase(*operation);
  } else if (joins) {
    if (is_of_keys()) since = runs_.last_seen();
    waiters.add({.operation = operation, .nap = std::move(nap), .since = since});
  } else if (waiter != nullptr) {
    waiter->nap = std::move(nap);
    waiter->since = since;
  }
  return decision;
}

Decision Entry::retry(Acquisition& operation, Instant counted_from) {
  const Change change(*this);
  Waiter* const waiter = held_.waiters.find(operation);
  if (waiter == nullptr) return {};
  Nap nap;
  Decision decision{.kind = Kind::held};
  if (is_of_keys()) decision = runs_.consult(operation.request(), waiter->since);
  if (decision.kind == Kind::held) decision = try_for(operation, counted_from, nap, waiter->since);
  if (decision.kind == Kind::held) {
    waiter->nap = std::move(nap);
  } else {
    held_.waiters.erase(operation);
  }
  return decision;
}

Decision Entry::try_for(const Acquisition& operation, Instant counted_from, Nap& nap,
                        std::uint64_t& since) {
  const Acquisition::Request& request = operation.request();
  Decision decision;
  switch (request.mode) {
    case Mode::shared: return readers_.try_for(request, counted_from, nap, since);
    case Mode::once: return runs_.try_for(request, counted_from, nap);
    case Mode::permit: decision = permits_.try_for(operation, counted_from, nap); break;
    case Mode::exclusive: decision = try_to_own(request, counted_from, nap); break;
  }
  if (decision.kind == Kind::held && request.wait) {
    held_.waiters.announce(*held_.file, request.mode);
  }
  return decision;
}

Decision Entry::try_to_own(const Acquisition::Request& request, Instant counted_from, Nap& nap) {
  if (held_.is_held()) return held_.held_here(nap);
  return held_.try_with_file([&] {
    Decision decision = held_.lock(nap);
    if (decision.kind == Kind::held) decision.holder = held_.file->holder();
    return decision.kind == Kind::granted ? note_owner(request, counted_from) : decision;
  });
}

Decision Entry::note_owner(const Acquisition::Request& request, Instant counted_from) {
  Unlocking unlock(*held_.file, INT_MAX);
  Grant grant{.number = 0, .counted_from = counted_from, .lease = no_lease};
  Failure why = held_.file->grants().record(request.label, grant.number);
  if (why) return failed(std::move(why));
  unlock.keep();
  return held_.note({.attempt = request.attempt, .grant = grant}, Mode::exclusive);
}

Decision Entry::settle(const AttemptId& attempt) {
  std::shared_ptr<LockFile> file;
  {
    const Change change(*this);
    if (held_.find(attempt) == nullptr) return client_is_closed();
    file = held_.file;
  }
  // Not under the mutex: a cancelled waiter must not wait for the disk.
  Failure why = file->flush(held_.common.directory);
  const Change change(*this);
  Hold* const own = held_.find(attempt);
  if (own == nullptr) return client_is_closed();
  if (!why && own->mends) return runs_.mended();
  if (!why) {
    own->settled = true;
    return {.kind = Kind::granted, .grant = own->grant};
  }
  // A number that may not be on the disk could be given again after a crash: this was no grant.
  held_.drop(attempt);
  return failed(std::move(why));
}

bool Entry::cancel(const Acquisition& operation) {
  const Change change(*this);
  if (const Waiter* const waiter = held_.waiters.find(operation)) {
    // It may have been woken for a permit, and then found another one drawing.
    const bool naps = waiter->nap.polite_until != Instant{};
    if (naps && held_.common.mode == Mode::permit) waiter->nap.sleepers->wake(1);
    held_.waiters.erase(operation);
  }
  return held_.find(operation.request().attempt) == nullptr;
}

std::optional<Nap> Entry::nap(const Acquisition& operation) {
  const std::lock_guard hold(mutex_);
  const Waiter* const waiter = held_.waiters.find(operation);
  return waiter == nullptr ? std::nullopt : std::optional<Nap>(waiter->nap);
}

Released Entry::release(const HoldId& hold, bool watched) {
  using Named = LockFile::Named;
  const Change change(*this);
  if (!held_.has(hold)) return Released::was_lost;
  const LockFile& file = *held_.file;
  const Named named = !watched ? file.named() : file.deleted() ? Named::no : Named::yes;
  if (named == Named::no) {
    held_.abandon();
    return Released::was_lost;
  }
  held_.drop(hold.attempt);
  return named == Named::yes ? Released::released : Released::unknown;
}

Released Entry::conclude(const HoldId& hold, const Conclusion& conclusion, Failure& why) {
  std::shared_ptr<LockFile> file;
  {
    const Change change(*this);
    if (const auto known = outcomes_.write(hold, conclusion, why)) return *known;
    file = held_.file;
  }
  why = file->flush(held_.common.directory);
  const Change change(*this);
  return outcomes_.settle(hold, conclusion, *file, why);
}

Decision Entry::forget() {
  std::shared_ptr<LockFile> file;
  Decision decision;
  {
    const Change change(*this);
    if (closed_) return client_is_closed();
    if (retired_) return {.kind = Kind::retired};
    decision = outcomes_.write_absence();
    if (decision.kind != Kind::flushing) return decision;
    file = held_.file;
  }
  decision.kind = Kind::recorded;
  Failure why = file->flush(held_.common.directory);
  const Change change(*this);
  outcomes_.settle_absence(*file, why);
  return why ? failed(std::move(why)) : decision;
}

void Entry::undo(const Acquisition& operation) noexcept {
  const Change change(*this);
  held_.waiters.erase(operation);
  held_.drop(operation.request().attempt);
}

bool Entry::owns(const HoldId& hold) const {
  const std::lock_guard guard(mutex_);
  return held_.has(hold) && held_.file->named() != LockFile::Named::no;
}

bool Entry::wanted() const {
  const std::lock_guard hold(mutex_);
  return readers_.exclude_a_writer();
}

std::optional<Holder> Entry::own_holder() const {
  const std::lock_guard hold(mutex_);
  if (!held_.is_held()) return std::nullopt;
  return held_.file->grants().holder(held_.owner ? Mode::exclusive : Mode::shared);
}

std::vector<HoldId> Entry::notice_losses() {
  const Change change(*this);
  std::vector<HoldId> lost;
  if (!held_.is_held() || held_.file->named() != LockFile::Named::no) return lost;
  bool settled = true;
  const auto loses = [&](const Hold& own, Mode mode) {
    settled = settled && own.settled;
    lost.push_back(
        {.name = held_.name, .attempt = own.attempt, .number = own.grant.number, .mode = mode});
  };
  const Mode mode = held_.common.mode;
  if (held_.owner) loses(*held_.owner, mode);
  for (const Hold& own : held_.sharing) loses(own, mode == Mode::permit ? mode : Mode::shared);
  // The thread that settles one finds it.
  if (!settled) return {};
  held_.abandon();
  return lost;
}

void Entry::repair() const {
  const std::lock_guard hold(mutex_);
  // Where this fails, waiters are left to their re-checks.
  if (held_.file) static_cast<void>(held_.file->allocate());
}

bool Entry::retire() noexcept {
  // A thread inside may be opening the file, which takes its time; the caller holds up all names.
  const std::unique_lock hold(mutex_, std::try_to_lock);
  if (!hold || held_.is_held() || !held_.waiters.empty()) return false;
  retired_ = true;
  return true;
}

std::vector<Waiter> Entry::close() noexcept {
  const Change change(*this);
  closed_ = true;
  // Readers, and those who wait for a writer of ours alone, may go on together.
  const bool all = !held_.sharing.empty() || held_.waiters.announced();
  if (held_.owner || all) {
    held_.owner.reset();
    held_.sharing.clear();
    held_.file->unlock(all ? INT_MAX : 1);
  }
  std::vector<Waiter> waited = held_.waiters.take();
  held_.file.reset();
  return waited;
}

}  // namespace mortise::file
