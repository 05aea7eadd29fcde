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

// Of a request that does not wait: what was recorded before it came is no news.
constexpr std::uint64_t no_record = ~std::uint64_t{0};

}  // namespace

std::vector<Waiter>::iterator Entry::find(const Acquisition& operation) {
  return std::find_if(waiters_.begin(), waiters_.end(),
                      [&](const Waiter& waiter) { return waiter.operation.get() == &operation; });
}

bool Entry::matches(const HoldId& hold) const noexcept {
  return owner_ && owner_->attempt == hold.attempt && owner_->grant.number == hold.number;
}

// The file is not the one of its name any more. Whoever sleeps on it looks at the path again.
void Entry::abandon() noexcept {
  owner_.reset();
  if (file_->prepared()) file_->unlock(INT_MAX);
  file_.reset();
}

Decision Entry::acquire(const std::shared_ptr<Acquisition>& operation, Instant counted_from) {
  const Change change(*this);
  if (closed_) return client_is_closed();
  if (retired_) return {.kind = Kind::retired};
  const Acquisition::Request& request = operation->request();
  if (owner_ && owner_->attempt == request.attempt) {
    // Asked again while another thread flushes its grant: that thread answers.
    if (!owner_->settled) return {};
    return {.kind = Kind::granted, .grant = owner_->grant};
  }
  auto waiter = find(*operation);
  const bool joins = request.wait && waiter == waiters_.end();
  const std::uint64_t since = waiter == waiters_.end() ? no_record : waiter->since;
  // Memory first: nothing may fail between taking the lock and noting its owner.
  if (joins) waiters_.reserve(waiters_.size() + 1);
  Nap nap;
  Decision decision{.kind = Kind::held};
  if (common_.mode == Mode::once) decision = consult(request, since);
  const bool others_turn = polite_until_ != Instant{} && BootClock::now() < polite_until_;
  if (decision.kind == Kind::held && joins && others_turn && file_ && !owner_) {
    nap = {.sleepers = file_->sleepers(), .seen = polite_seen_, .polite_until = polite_until_};
    waiters_.push_back({.operation = operation, .nap = std::move(nap), .since = record_seen_});
    return decision;
  }
  if (decision.kind == Kind::held) decision = try_to_take(*operation, counted_from, nap);
  waiter = find(*operation);
  if (decision.kind != Kind::held) {
    if (waiter != waiters_.end()) waiters_.erase(waiter);
  } else if (waiter != waiters_.end()) {
    waiter->nap = std::move(nap);
  } else if (joins) {
    waiters_.push_back({.operation = operation, .nap = std::move(nap), .since = record_seen_});
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
  if (decision.kind == Kind::held) decision = try_to_take(operation, counted_from, nap);
  if (decision.kind == Kind::held) {
    waiter->nap = std::move(nap);
  } else {
    waiters_.erase(waiter);
  }
  return decision;
}

Failure Entry::open_file() {
  if (common_.mode == Mode::exclusive) return LockFile::open(common_.directory, name_, file_);
  using Opening = LockFile::Opening;
  bool same = false;
  Failure why = LockFile::open_key(common_.directory, name_, Opening::for_reading, file_);
  if (!why) why = file_->prepare(common_.directory, same);
  if (!same) file_.reset();
  return why;
}

Decision Entry::try_to_take(const Acquisition& operation, Instant counted_from, Nap& nap) {
  // The kernel would give the lock to the same description once more.
  if (owner_) {
    nap = {.sleepers = file_->sleepers(), .seen = file_->word()};
    return {.kind = Kind::held, .holder = file_->holder()};
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
      const Unlocking unlock(*file_);
      return failed({Errc::unavailable, "file " + file_->path() + ": cannot look at the path"});
    }
    if (common_.mode == Mode::once) return begin_run(operation.request(), counted_from);
    return note_grant(operation.request(), counted_from);
  }
  return replaced_again();
}

Decision Entry::replaced_again() const {
  const std::string path = common_.directory.path_of(file_name(name_, common_.mode));
  return failed({Errc::unavailable, "file " + path + ": replaced again and again"});
}

Decision Entry::note_grant(const Acquisition::Request& request, Instant counted_from) {
  Unlocking unlock(*file_);
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
    if (!owner_ || owner_->attempt != attempt) return client_is_closed();
    file = file_;
  }
  // Not under the mutex: a cancelled waiter must not wait for the disk.
  Failure why = file->flush(common_.directory);
  const Change change(*this);
  if (!owner_ || owner_->attempt != attempt) return client_is_closed();
  if (!why && owner_->mends) return mended();
  if (!why) {
    owner_->settled = true;
    return {.kind = Kind::granted, .grant = owner_->grant};
  }
  // A number that may not be on the disk could be given again after a crash: this was no grant.
  owner_.reset();
  file_->unlock(1);
  return failed(std::move(why));
}

bool Entry::cancel(const Acquisition& operation) {
  const Change change(*this);
  const auto waiter = find(operation);
  if (waiter != waiters_.end()) waiters_.erase(waiter);
  return !owner_ || owner_->attempt != operation.request().attempt;
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
  owner_.reset();
  if (file_->unlock(1) > 0) {
    polite_seen_ = file_->word_after_unlock();
    polite_until_ = BootClock::now() + politeness;
  }
  return named == Named::yes ? Released::released : Released::unknown;
}

void Entry::undo(const Acquisition& operation) noexcept {
  const Change change(*this);
  if (const auto waiter = find(operation); waiter != waiters_.end()) waiters_.erase(waiter);
  if (!owner_ || owner_->attempt != operation.request().attempt) return;
  owner_.reset();
  file_->unlock(1);
}

bool Entry::owns(const HoldId& hold) const {
  const std::lock_guard guard(mutex_);
  return matches(hold) && file_->named() != LockFile::Named::no;
}

std::optional<Holder> Entry::own_holder() const {
  const std::lock_guard hold(mutex_);
  if (!owner_) return std::nullopt;
  return file_->holder();
}

std::optional<HoldId> Entry::notice_loss() {
  const Change change(*this);
  if (!owner_ || !owner_->settled || file_->named() != LockFile::Named::no) return std::nullopt;
  HoldId lost{.name = name_,
              .attempt = owner_->attempt,
              .number = owner_->grant.number,
              .mode = common_.mode};
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
  if (!hold || owner_ || !waiters_.empty()) return false;
  retired_ = true;
  return true;
}

std::vector<Waiter> Entry::close() noexcept {
  const Change change(*this);
  closed_ = true;
  if (owner_) {
    owner_.reset();
    file_->unlock(1);
  }
  file_.reset();
  return std::exchange(waiters_, {});
}

}  // namespace mortise::file
