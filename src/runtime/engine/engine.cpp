// SPDX-License-Identifier: MIT
// Who reads, who sleeps, and what each of them does before it leaves.
#include "runtime/engine/engine.hpp"

#include "base/inside_source.hpp"
#include "base/mutant.hpp"
#include "runtime/engine/engine_frames.hpp"
#include "runtime/engine/loop_descriptor.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <span>
#include <utility>

namespace mortise::runtime {
namespace {

// A caller with less time than this cannot spend part of it where no wake-up reaches it.
constexpr std::chrono::milliseconds shortest_linger{10};

// What `Operation::poke()` adds to the signal.
constexpr std::uint32_t signal_of_a_poke = 2;

Instant after(Instant moment, std::chrono::nanoseconds span) noexcept {
  return span >= never - moment ? never : moment + span;
}

using Sources = std::span<Source* const>;

void choose(Attendance& attendance, Sources some, Sources more = {}) {
  attendance.sources.resize(some.size() + more.size());
  const auto rest = std::copy(some.begin(), some.end(), attendance.sources.items().begin());
  std::copy(more.begin(), more.end(), rest);
}

}  // namespace

Engine::Engine(std::shared_ptr<Clock> clock)
    : clock_(std::move(clock)),
      poll_(clock_),
      background_timer_(make_timer()),
      clock_watch_(make_clock_watch()) {}

Engine::~Engine() = default;

void Engine::attach(Source& source) {
  {
    const std::lock_guard lock(mutex_);
    if (!readers_.add_locked(source)) return;
  }
  nudge_all();
}

void Engine::detach(Source& source) noexcept {
  Lock lock(mutex_);
  readers_.remove_locked(source);
  nudge_all();
  // A source that detaches itself, or another, from inside ready() cannot wait for its own return.
  if (!base::InsideSource::on_this_thread()) left_.wait(lock, [&] { return !used_locked(source); });
}

void Engine::changed(Source& source) noexcept {
  // Only who polls it looks again: a waiter is not woken for the bytes of other callers.
  signal((source.pushes() ? readers_.pushes : readers_.replies).wake.get());
  signal(readers_.background_wake.get());
}

void Engine::nudge_all() noexcept { readers_.nudge_all(); }

void Engine::interrupt() noexcept {
  interrupted_.store(true);
  signal(readers_.background_wake.get());
}

void Engine::wait(Operation& operation, std::uint32_t seen, std::chrono::nanoseconds at_most) {
  wait(operation, seen, at_most, clock_->now());
}

// The moment comes with the time: whatever is done since is a part of the caller's time.
void Engine::wait(Operation& operation, std::uint32_t seen, std::chrono::nanoseconds at_most,
                  Instant now) {
  Follower self{.operation = operation, .seen = seen, .until = after(now, at_most)};
  if (read_alone(self, now)) return;
  self.back = after(BootClock::now(), at_most);
  Lock lock(mutex_);
  if (readers_.replies.sources.empty()) {
    lock.unlock();
    operation.sleep(seen, at_most);
    return;
  }
  ReaderRole* role = &readers_.role_of(operation);
  if (role == &readers_.pushes) {
    readers_.have_replies_read_locked();
  } else {
    readers_.close_shortcut_locked();
  }
  if (!role->may_be_taken()) {
    if (role->unattended() && !role->background) signal(readers_.background_wake.get());
    role = follow(lock, *role, self);
  }
  if (role != nullptr) read(lock, *role, self);
  readers_.open_shortcut_locked();
}

// Who comes meanwhile closes the way, and waits for this caller, or is called by it. So it reads
// once, and what takes longer it does as one of many. Of several servers it sleeps for the one that
// it has asked, where no other owes a reply; who asks another one meanwhile waits that moment, too.
bool Engine::read_alone(const Follower& self, Instant now) {
  const Operation& operation = self.operation;
  if (self.until - now < shortest_linger || operation.awaits_push()) return false;
  if (operation.signal() != self.seen) return false;
  if (!readers_.shortcut.take()) return false;
  bool goes_on = false;
  {
    Alone alone(*this);
    if (base::TunedSource* const source = readers_.shortcut.outstanding_alone()) {
      SourcePoll::linger(*source);
      if (source->gathering()) {
        Lock lock(mutex_);
        choose_last(lock);
      }
    }
    // Asked once, and behind all that may throw: a push that another thread reads may complete the
    // operation from here on, and what is left would be read by nobody.
    goes_on = operation.signal() == self.seen;
    if (goes_on) alone.go_on();
  }
  return !goes_on;
}

void Engine::read(Lock& lock, ReaderRole& role, Follower& self) {
  {
    Attending attending(*this, lock);
    const Reading reading(*this, lock, role);  // first: there may be no memory for what follows
    choose(attending.attendance(), role.sources);
    for (std::uint64_t version = role.version;;) {
      lock.unlock();
      poll_for(role, attending.attendance(), self);
      const Instant now = clock_->now();
      lock.lock();
      // Others' answers are no reason to leave: the role would have to be handed on, and be taken
      // again by this very thread.
      const bool stays = self.operation.signal() == self.seen && now < self.until &&
                         BootClock::now() < self.back && !role.crowded() &&
                         &readers_.role_of(self.operation) == &role;
      if (!stays) break;
      if (&role == &readers_.pushes) readers_.have_replies_read_locked();
      choose_last(lock);
      if (version != role.version) {
        choose(attending.attendance(), role.sources);
        // detach() waits for whoever is inside its source, and not until this caller has what it
        // wants.
        left_.notify_all();
      }
      version = role.version;
    }
  }
  choose_last(lock);
}

ReaderRole* Engine::follow(Lock& lock, ReaderRole& role, Follower& self) {
  const Following following(*this, lock, role, self);
  for (;;) {
    lock.unlock();
    self.operation.sleep(self.seen, self.until - clock_->now());
    lock.lock();
    while (last_ == &self) send_gathered(lock);
    ReaderRole& mine = *self.role;
    if (mine.called != &self) return nullptr;
    // The call itself changes the signal once; anything else is the caller's business.
    if (self.operation.signal() != self.seen + signal_of_a_poke) return nullptr;
    if (&readers_.role_of(self.operation) != &mine) return nullptr;
    self.seen += signal_of_a_poke;
    mine.called = nullptr;
    if (mine.may_be_taken()) return &mine;
    // Somebody who came meanwhile reads, or there are too many.
    if (!mine.taken) readers_.hand_on_locked(mine);
  }
}

void Engine::poll_for(ReaderRole& role, const Attendance& attendance, Follower& self) {
  const auto sources = attendance.sources.items();
  const Instant now = clock_->now();
  auto* const only = &role == &readers_.replies && sources.size() == 1
                         ? dynamic_cast<base::TunedSource*>(sources.front())
                         : nullptr;
  if (only != nullptr && self.until - now >= shortest_linger &&
      self.operation.signal() == self.seen && SourcePoll::linger(*only)) {
    return;
  }
  const Instant until = base::mutant("core.moment_after_linger") && self.until != never
                            ? self.until + (clock_->now() - now) * 2
                            : self.until;
  const NudgedThrough nudged(self.operation, role.wake.get());
  if (self.operation.signal() != self.seen) return;
  poll_.once(sources, {.wake = role.wake.get(),
                       .until = until,
                       .own = &self.operation,
                       .asleep_until = &role == &readers_.pushes ? &role.asleep_until : nullptr});
}

// Whoever was answered last runs last, if there are more of them than CPUs, and soon if not.
void Engine::choose_last(Lock& lock) {
  const auto gathering = [](const base::TunedSource* source) { return source->gathering(); };
  const ReaderRole& replies = readers_.replies;
  if (std::none_of(replies.tuned.begin(), replies.tuned.end(), gathering)) return;
  for (const Follower* each = replies.followers.last(); each != nullptr; each = each->before) {
    if (!each->operation.done()) continue;
    last_ = each;
    return;
  }
  send_gathered(lock);
}

template <class Visit>
void Engine::each_tuned(Lock& lock, Visit visit) {
  Attending attending(*this, lock);
  choose(attending.attendance(), readers_.replies.sources);
  lock.unlock();
  for (Source* const source : attending.attendance().sources.items()) {
    if (auto* const tuned = dynamic_cast<base::TunedSource*>(source)) visit(*tuned);
  }
  lock.lock();
}

void Engine::send_gathered(Lock& lock) {
  last_ = nullptr;
  each_tuned(lock, [](base::TunedSource& source) {
    if (source.gathering()) source.send_gathered();
  });
}

void Engine::have_replies_read() noexcept {
  const Lock lock(mutex_);
  readers_.have_replies_read_locked();
}

void Engine::keep_requests_back() noexcept {
  try {
    Lock lock(mutex_);
    each_tuned(lock, [](base::TunedSource& source) { source.gather(); });
  } catch (const std::exception&) {
    // Out of memory: each leaves by itself.
  }
}

void Engine::send_kept_back() noexcept {
  try {
    Lock lock(mutex_);
    send_gathered(lock);
  } catch (const std::exception&) {
    // Out of memory, or the connection broke: as if they were lost on their way.
  }
}

bool Engine::used_locked(const Source& source) const noexcept {
  if (readers_.reads_by_shortcut_locked(source)) return true;
  for (const Attendance* each = attended_.first(); each != nullptr; each = each->after) {
    const auto chosen = each->sources.items();
    if (std::find(chosen.begin(), chosen.end(), &source) != chosen.end()) return true;
  }
  return false;
}

bool Engine::background(Instant until) {
  if (interrupted_.exchange(false) && until != Instant{}) return false;  // one that does not sleep
  bool clock_was_set = false;
  Lock lock(mutex_);
  {
    Attending attending(*this, lock);
    const bool pushes = readers_.pushes.unattended() && !base::mutant("core.pushes_left_unread");
    const bool awaited = readers_.outstanding_locked();
    if (awaited) readers_.close_shortcut_locked();
    const bool replies = awaited && readers_.replies.unattended();
    choose(attending.attendance(), pushes ? Sources(readers_.pushes.sources) : Sources(),
           replies ? Sources(readers_.replies.sources) : Sources());
    const InBackground roles(*this, lock, pushes, replies);
    lock.unlock();
    std::atomic<Instant>& asleep_until = readers_.background_asleep_until;
    clock_was_set = poll_.once(attending.attendance().sources.items(),
                               {.wake = readers_.background_wake.get(),
                                .timers = {background_timer_.get(), readers_.unread_timer.get()},
                                .clock_watch = clock_watch_.get(),
                                .until = until,
                                .asleep_until = pushes ? &asleep_until : nullptr});
    asleep_until.store(Instant::min());
    lock.lock();
  }
  choose_last(lock);
  readers_.open_shortcut_locked();
  return clock_was_set;
}

std::unique_ptr<LoopDescriptor> Engine::make_loop_descriptor() const {
  return std::make_unique<LoopDescriptor>(
      std::array{readers_.background_wake.get(), background_timer_.get(),
                 readers_.unread_timer.get(), clock_watch_.get()});
}

void Engine::pause_loop(std::chrono::nanoseconds pause) noexcept {
  arm(background_timer_.get(), pause);
}

void Engine::sleep_through(LoopDescriptor& loop, Instant until) {
  Lock lock(mutex_);
  Attending attending(*this, lock);
  // What `background()` would poll. A caller that reads meanwhile wakes the loop when it leaves.
  const bool pushes = readers_.pushes.unattended();
  const bool replies = readers_.outstanding_locked() && readers_.replies.unattended();
  choose(attending.attendance(), pushes ? Sources(readers_.pushes.sources) : Sources(),
         replies ? Sources(readers_.replies.sources) : Sources());
  lock.unlock();
  const auto sources = attending.attendance().sources.items();
  Few<pollfd, 12> polled;
  polled.resize(sources.size());
  const auto left = poll_.ask(sources, polled.items(),
                              {.timers = {background_timer_.get(), -1},
                               .until = until,
                               .asleep_until = &readers_.background_asleep_until});
  loop.watch(polled.items());
  if (left.count() == 0) signal(readers_.background_wake.get());
}

}  // namespace mortise::runtime
