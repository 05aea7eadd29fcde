// SPDX-License-Identifier: MIT
// Who reads, who sleeps, and how the role of the reader passes from one thread to the next.
#include "runtime/engine.hpp"

#include "base/mutant.hpp"
#include "runtime/engine_frames.hpp"

#include <algorithm>
#include <utility>

namespace mortise::runtime {
namespace {

// With so many callers waiting a thread that does nothing but read is cheaper than the role going
// from hand to hand: the crossover was measured between 64 and 256 callers.
constexpr std::size_t crowd = 128;

// A caller with less time than this cannot spend part of it where no wake-up reaches it.
constexpr std::chrono::milliseconds shortest_linger{10};

// How soon the background thread comes to pushes that a caller has left while no other awaits one.
// A thread that passes a lock to and fro with another process is back before; waking the background
// at each turn, and again to take the pushes from it, would cost two switches a turn.
constexpr std::chrono::milliseconds pushes_unattended{1};

// What `Operation::poke()` adds to the signal.
constexpr std::uint32_t signal_of_a_poke = 2;

/// Has an operation's completion, and each poke, end a poll.
class NudgedThrough {
 public:
  NudgedThrough(Operation& operation, int eventfd) noexcept : operation_(operation) {
    operation_.nudge_through(eventfd);
  }
  NudgedThrough(const NudgedThrough&) = delete;
  NudgedThrough& operator=(const NudgedThrough&) = delete;
  ~NudgedThrough() { operation_.nudge_through(-1); }

 private:
  Operation& operation_;
};

bool crowded(const ReaderRole& role) noexcept { return role.followers.size() >= crowd; }

bool may_read(const ReaderRole& role) noexcept { return !role.taken && !crowded(role); }

/// Whether no caller reads, nor is about to.
bool unattended(const ReaderRole& role) noexcept { return !role.taken && role.called == nullptr; }

Instant after(Instant moment, std::chrono::nanoseconds span) noexcept {
  return span >= never - moment ? never : moment + span;
}

void choose(Attendance& attendance, const std::vector<Source*>& some,
            const std::vector<Source*>& more = {}) {
  attendance.sources.resize(some.size() + more.size());
  const auto rest = std::copy(some.begin(), some.end(), attendance.sources.items().begin());
  std::copy(more.begin(), more.end(), rest);
}

}  // namespace

Engine::Engine(std::shared_ptr<Clock> clock)
    : clock_(std::move(clock)),
      poll_(clock_),
      background_wake_(make_eventfd()),
      background_timer_(make_timer()),
      unread_timer_(make_timer()),
      clock_watch_(make_clock_watch()) {
  replies_.wake = make_eventfd();
  pushes_.wake = make_eventfd();
}

Engine::~Engine() = default;

void Engine::attach(Source& source) {
  {
    const std::lock_guard lock(mutex_);
    ReaderRole& role = source.pushes() ? pushes_ : replies_;
    if (&role == &replies_) close_shortcut_locked();
    const auto found = std::find(role.sources.begin(), role.sources.end(), &source);
    if (found != role.sources.end()) return;
    auto* const tuned = dynamic_cast<base::TunedSource*>(&source);
    role.sources.reserve(role.sources.size() + 1);  // in both lists or in none
    if (tuned != nullptr) role.tuned.push_back(tuned);
    role.sources.push_back(&source);
    ++role.version;
  }
  nudge_all();
}

void Engine::detach(Source& source) noexcept {
  Lock lock(mutex_);
  close_shortcut_locked();
  for (ReaderRole* const role : {&replies_, &pushes_}) {
    std::erase(role->tuned, &source);
    std::erase(role->sources, &source);
    ++role->version;
  }
  nudge_all();
  // A source that detaches itself, or another, from inside ready() cannot wait for its own return.
  if (!SourcePoll::inside()) left_.wait(lock, [&] { return !used_locked(source); });
}

void Engine::changed(Source& source) noexcept {
  // Only who polls it looks again: a waiter is not woken for the bytes of other callers.
  signal((source.pushes() ? pushes_ : replies_).wake.get());
  signal(background_wake_.get());
}

void Engine::nudge_all() noexcept {
  signal(replies_.wake.get());
  signal(pushes_.wake.get());
  signal(background_wake_.get());
}

void Engine::interrupt() noexcept {
  interrupted_.store(true);
  signal(background_wake_.get());
}

ReaderRole& Engine::role_of(const Operation& operation) noexcept {
  // Where pushes come on the connection of the replies there is but one role.
  return operation.awaits_push() && !pushes_.sources.empty() ? pushes_ : replies_;
}

bool Engine::outstanding_locked() const noexcept {
  return std::any_of(replies_.sources.begin(), replies_.sources.end(),
                     [](const Source* source) { return source->outstanding(); });
}

Instant Engine::due_locked() const noexcept {
  Instant due = never;
  for (const Source* const source : replies_.sources) due = std::min(due, source->due());
  return due;
}

void Engine::wait(Operation& operation, std::uint32_t seen, std::chrono::nanoseconds at_most) {
  // Before anything that takes time: whatever is done here is a part of the caller's time.
  const Instant now = clock_->now();
  Follower self{.operation = operation, .seen = seen, .until = after(now, at_most)};
  if (read_alone(self, now)) return;
  self.back = after(BootClock::now(), at_most);
  Lock lock(mutex_);
  if (replies_.sources.empty()) {
    lock.unlock();
    operation.sleep(seen, at_most);
    return;
  }
  ReaderRole* role = &role_of(operation);
  if (role == &pushes_) {
    have_replies_read_locked();
  } else {
    close_shortcut_locked();
  }
  if (!may_read(*role)) {
    if (unattended(*role) && !role->background) signal(background_wake_.get());
    role = follow(lock, *role, self);
  }
  if (role != nullptr) read(lock, *role, self);
  open_shortcut_locked();
}

// Whoever awaits a push leaves to others even the replies that it has asked for on the way.
void Engine::have_replies_read_locked() noexcept {
  if (!outstanding_locked()) return;
  // Whoever is on it may have looked already whether it leaves a reply behind.
  close_shortcut_locked();
  if (unattended(replies_) && !replies_.background) signal(background_wake_.get());
}

void Engine::close_shortcut_locked() noexcept {
  if (!shortcut_.close()) return;
  replies_.taken = true;
  by_shortcut_ = true;
}

void Engine::open_shortcut_locked() noexcept {
  const bool nobody =
      unattended(replies_) && !replies_.background && replies_.followers.size() == 0;
  if (nobody && replies_.only() != nullptr) shortcut_.open(*replies_.only());
}

// Who comes meanwhile closes the way, and waits for this caller, or is called by it. So it reads
// once, and what takes longer it does as one of many.
bool Engine::read_alone(const Follower& self, Instant now) {
  const Operation& operation = self.operation;
  if (self.until - now < shortest_linger || operation.awaits_push()) return false;
  if (operation.signal() != self.seen) return false;
  base::TunedSource* const source = shortcut_.take();
  if (source == nullptr) return false;
  bool gathering = false;
  {
    const Alone alone(*this, *source);
    SourcePoll::linger(*source);
    gathering = source->gathering();
  }
  if (gathering) {
    Lock lock(mutex_);
    choose_last(lock);
  }
  return operation.signal() != self.seen;
}

void Engine::read(Lock& lock, ReaderRole& role, Follower& self) {
  {
    Attending attending(*this, lock);
    choose(attending.attendance(), role.sources);
    const Reading reading(*this, lock, role);
    for (std::uint64_t version = role.version;;) {
      if (&role == &pushes_) role.asleep_until = std::min(self.until, due_locked());
      lock.unlock();
      poll_for(role, attending.attendance(), self);
      const Instant now = clock_->now();
      lock.lock();
      // Others' answers are no reason to leave: the role would have to be handed on, and be taken
      // again by this very thread.
      const bool stays = self.operation.signal() == self.seen && now < self.until &&
                         BootClock::now() < self.back && !crowded(role) &&
                         &role_of(self.operation) == &role;
      if (!stays) break;
      if (&role == &pushes_) have_replies_read_locked();
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
    if (&role_of(self.operation) != &mine) return nullptr;
    self.seen += signal_of_a_poke;
    mine.called = nullptr;
    if (may_read(mine)) return &mine;
    // Somebody who came meanwhile reads, or there are too many.
    if (!mine.taken) hand_on_locked(mine);
  }
}

void Engine::poll_for(ReaderRole& role, const Attendance& attendance, Follower& self) {
  const auto sources = attendance.sources.items();
  const Instant now = clock_->now();
  auto* const only = &role == &replies_ && sources.size() == 1
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
  poll_.once(sources, {.wake = role.wake.get(), .until = until, .own = &self.operation});
}

// Whoever was answered last runs last, if there are more of them than CPUs, and soon if not.
void Engine::choose_last(Lock& lock) {
  const auto gathering = [](const base::TunedSource* source) { return source->gathering(); };
  if (std::none_of(replies_.tuned.begin(), replies_.tuned.end(), gathering)) return;
  for (const Follower* each = replies_.followers.last(); each != nullptr; each = each->before) {
    if (!each->operation.done()) continue;
    last_ = each;
    return;
  }
  send_gathered(lock);
}

void Engine::send_gathered(Lock& lock) {
  last_ = nullptr;
  Attending attending(*this, lock);
  choose(attending.attendance(), replies_.sources);
  lock.unlock();
  for (Source* const source : attending.attendance().sources.items()) {
    auto* const tuned = dynamic_cast<base::TunedSource*>(source);
    if (tuned != nullptr && tuned->gathering()) tuned->send_gathered();
  }
  lock.lock();
}

bool Engine::used_locked(const Source& source) const noexcept {
  if (by_shortcut_ && shortcut_.source() == &source) return true;
  for (const Attendance* each = attended_.first(); each != nullptr; each = each->after) {
    const auto chosen = each->sources.items();
    if (std::find(chosen.begin(), chosen.end(), &source) != chosen.end()) return true;
  }
  return false;
}

Follower* Engine::successor_locked(ReaderRole& role) noexcept {
  // The caller that came last has the longest to wait, so it keeps the role longest.
  for (Follower* each = role.followers.last(); each != nullptr;) {
    Follower* const earlier = each->before;
    ReaderRole& fit = role_of(each->operation);
    if (!each->operation.done()) {
      if (&fit == &role) return each;
      // It was told since that it has to await a push.
      if (role.called != each) {
        if (&fit == &replies_) close_shortcut_locked();
        role.followers.remove(*each);
        each->role = &fit;
        fit.followers.push_back(*each);
      }
    }
    each = earlier;
  }
  return nullptr;
}

void Engine::hand_on_locked(ReaderRole& role) noexcept {
  if (role.called != nullptr) return;  // it comes
  if (base::mutant("core.leave_without_a_call")) return;
  const std::size_t replies_before = replies_.followers.size();
  Follower* const successor = crowded(role) ? nullptr : successor_locked(role);
  if (successor != nullptr) {
    role.called = successor;
    successor->operation.poke();
  } else if (&role == &pushes_) {
    arm(unread_timer_.get(), pushes_unattended);
  } else if (!role.background) {
    // What nobody awaits is read when it is due; who reads the pushes, asleep since before it was
    // sent, does not know of that moment.
    const Instant due = due_locked();
    if (outstanding_locked() || due < asleep_until_) signal(background_wake_.get());
    if (due < pushes_.asleep_until) signal(pushes_.wake.get());
  }
  // Who follows the replies and turned out to await a push is to read the pushes itself.
  if (&role == &replies_ && may_read(pushes_) && pushes_.followers.size() > 0) {
    hand_on_locked(pushes_);
  }
  // And who was asked for once more, as it waited for a push, has its reply to read.
  if (replies_.followers.size() > replies_before && unattended(replies_) && !replies_.background) {
    hand_on_locked(replies_);
  }
}

bool Engine::background(Instant until) {
  if (interrupted_.exchange(false)) return false;
  bool clock_was_set = false;
  Lock lock(mutex_);
  {
    Attending attending(*this, lock);
    const bool pushes = unattended(pushes_) && !base::mutant("core.pushes_left_unread");
    const bool awaited = outstanding_locked();
    if (awaited) close_shortcut_locked();
    const bool replies = awaited && unattended(replies_);
    static const std::vector<Source*> none;
    choose(attending.attendance(), pushes ? pushes_.sources : none,
           replies ? replies_.sources : none);
    const InBackground roles(*this, lock, pushes, replies);
    if (pushes) asleep_until_ = std::min(until, due_locked());
    lock.unlock();
    clock_was_set = poll_.once(attending.attendance().sources.items(),
                               {.wake = background_wake_.get(),
                                .timers = {background_timer_.get(), unread_timer_.get()},
                                .clock_watch = clock_watch_.get(),
                                .until = until});
    lock.lock();
    asleep_until_ = Instant::min();
  }
  choose_last(lock);
  open_shortcut_locked();
  return clock_was_set;
}

}  // namespace mortise::runtime
