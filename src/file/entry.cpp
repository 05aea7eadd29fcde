// SPDX-License-Identifier: MIT
// One name of one client: the kernel's lock excludes other processes, this table the own threads.
#include "file/entry.hpp"

#include "file/file_name.hpp"

#include <algorithm>
#include <climits>
#include <utility>

namespace mortise::file {
namespace {

using Kind = Outcome::Kind;

// How long the waiter that our release woke has the first try. It needs a few microseconds; a
// stopped process must not cost us more than this.
constexpr std::chrono::nanoseconds politeness = std::chrono::milliseconds(1);

// How often a file that is replaced meanwhile is opened anew.
constexpr int patience = 8;

Outcome failed(Failure why) { return {.kind = Kind::failed, .failure = std::move(why)}; }

Outcome client_is_closed() { return failed({Errc::closed, "the client is closed"}); }

// Lets the lock go unless the grant was completed: also when an exception passes.
class Unlocking {
 public:
  explicit Unlocking(const LockFile& file) noexcept : file_(&file) {}
  Unlocking(const Unlocking&) = delete;
  Unlocking& operator=(const Unlocking&) = delete;
  ~Unlocking() {
    if (file_ != nullptr) file_->unlock(1);
  }
  void keep() noexcept { file_ = nullptr; }

 private:
  const LockFile* file_;
};

}  // namespace

class Entry::Change {
 public:
  explicit Change(Entry& entry) : entry_(entry), hold_(entry.mutex_) {}
  Change(const Change&) = delete;
  Change& operator=(const Change&) = delete;
  ~Change() {
    const bool in_use = entry_.owner_ || !entry_.waiters_.empty();
    if (in_use == entry_.in_use_.load()) return;
    entry_.in_use_.store(in_use);
    if (in_use) {
      entry_.count_in_use_.fetch_add(1);
    } else {
      entry_.count_in_use_.fetch_sub(1);
    }
  }

 private:
  Entry& entry_;
  std::lock_guard<std::mutex> hold_;
};

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
  file_->unlock(INT_MAX);
  file_.reset();
}

Outcome Entry::acquire(const std::shared_ptr<Acquisition>& operation, Instant counted_from) {
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
  // Memory first: nothing may fail between taking the lock and noting its owner.
  if (joins) waiters_.reserve(waiters_.size() + 1);
  Nap nap;
  const bool others_turn = polite_until_ != Instant{} && BootClock::now() < polite_until_;
  if (joins && others_turn && file_ && !owner_) {
    nap = {.sleepers = file_->sleepers(), .seen = polite_seen_, .polite_until = polite_until_};
    waiters_.push_back({.operation = operation, .nap = std::move(nap)});
    return {.kind = Kind::held};
  }
  Outcome outcome = try_to_take(*operation, counted_from, nap);
  waiter = find(*operation);
  if (outcome.kind != Kind::held) {
    if (waiter != waiters_.end()) waiters_.erase(waiter);
  } else if (waiter != waiters_.end()) {
    waiter->nap = std::move(nap);
  } else if (joins) {
    waiters_.push_back({.operation = operation, .nap = std::move(nap)});
  }
  return outcome;
}

Outcome Entry::retry(Acquisition& operation, Instant counted_from) {
  const Change change(*this);
  const auto waiter = find(operation);
  if (waiter == waiters_.end()) return {};
  Nap nap;
  Outcome outcome = try_to_take(operation, counted_from, nap);
  if (outcome.kind == Kind::held) {
    waiter->nap = std::move(nap);
  } else {
    waiters_.erase(waiter);
  }
  return outcome;
}

Outcome Entry::try_to_take(const Acquisition& operation, Instant counted_from, Nap& nap) {
  // The kernel would give the lock to the same description once more.
  if (owner_) {
    nap = {.sleepers = file_->sleepers(), .seen = file_->word()};
    return {.kind = Kind::held, .holder = file_->holder()};
  }
  for (int round = 0; round < patience; ++round) {
    if (!file_) {
      if (Failure why = LockFile::open(directory_, name_, file_)) return failed(std::move(why));
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
    if (!locked) return {.kind = Kind::held, .holder = file_->holder()};
    if (named == LockFile::Named::unknown) {
      const Unlocking unlock(*file_);
      return failed({Errc::unavailable, "file " + file_->path() + ": cannot look at the path"});
    }
    return record(operation.request(), counted_from);
  }
  return failed({Errc::unavailable,
                 "file " + directory_.path_of(file_name(name_)) + ": replaced again and again"});
}

Outcome Entry::record(const Acquisition::Request& request, Instant counted_from) {
  Unlocking unlock(*file_);
  Grant grant{.number = 0, .counted_from = counted_from, .lease = no_lease};
  if (Failure why = file_->record_grant(request.label, grant.number)) return failed(std::move(why));
  owner_ = Own{.attempt = request.attempt, .grant = grant, .settled = !flush_};
  polite_until_ = {};
  unlock.keep();
  return {.kind = flush_ ? Kind::flushing : Kind::granted, .grant = grant};
}

Outcome Entry::settle(const AttemptId& attempt) {
  std::shared_ptr<LockFile> file;
  {
    const Change change(*this);
    if (!owner_ || owner_->attempt != attempt) return client_is_closed();
    file = file_;
  }
  // Not under the mutex: a cancelled waiter must not wait for the disk.
  Failure why = file->flush(directory_);
  const Change change(*this);
  if (!owner_ || owner_->attempt != attempt) return client_is_closed();
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
  HoldId lost{.name = name_, .attempt = owner_->attempt, .number = owner_->grant.number};
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
