// SPDX-License-Identifier: MIT
#include "runtime/engine.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

namespace mortise::runtime {
namespace {

// With so many callers waiting a thread that does nothing but read is cheaper than the role going
// from hand to hand: the crossover was measured between 64 and 256 callers.
constexpr std::size_t crowd = 128;

// Who has less time than this can not spend a part of it where no wake-up reaches him.
constexpr std::chrono::milliseconds shortest_linger{10};

// How long pushes may lie unread after a caller has left them, if nobody waits for one any more.
constexpr std::chrono::milliseconds pushes_unattended{400};

thread_local int calls_on_this_thread = 0;  // how deep inside Source::ready()

void signal(int eventfd) noexcept {
  const std::uint64_t one = 1;
  if (::write(eventfd, &one, sizeof one) < 0) return;  // EAGAIN: signalled already
}

void drain(int eventfd) noexcept {
  std::uint64_t count = 0;
  if (::read(eventfd, &count, sizeof count) < 0) return;  // EAGAIN: nothing to drain
}

base::UniqueFd make(const char* what, int (*create)()) {
  base::UniqueFd fd = base::UniqueFd::open(create);
  if (!fd) throw std::system_error(errno, std::system_category(), what);
  return fd;
}

void arm(int timer, std::chrono::nanoseconds in) noexcept {
  itimerspec spec{};
  const auto bounded =
      std::clamp<std::chrono::nanoseconds>(in, std::chrono::nanoseconds(1), std::chrono::hours(24));
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(bounded);
  spec.it_value = {.tv_sec = static_cast<time_t>(seconds.count()),
                   .tv_nsec = static_cast<long>((bounded - seconds).count())};
  ::timerfd_settime(timer, 0, &spec, nullptr);
}

}  // namespace

Engine::Engine(std::shared_ptr<Clock> clock)
    : clock_(std::move(clock)),
      leader_wake_(make("eventfd", [] { return ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); })),
      background_wake_(make("eventfd", [] { return ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); })),
      background_timer_(make(
          "timerfd", [] { return ::timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK); })) {
}

Engine::~Engine() = default;

void Engine::attach(Source& source) {
  {
    const std::lock_guard lock(mutex_);
    (source.pushes() ? pushes_ : replies_).push_back(&source);
  }
  nudge_all();
}

void Engine::detach(Source& source) noexcept {
  std::unique_lock lock(mutex_);
  std::erase(pushes_, &source);
  std::erase(replies_, &source);
  nudge_all();
  // A source that detaches itself, or another, from inside ready() can not wait for its own return.
  if (calls_on_this_thread == 0) left_.wait(lock, [&] { return !used_locked(source); });
}

void Engine::changed(Source& /*source*/) noexcept { nudge_all(); }

void Engine::nudge_all() noexcept {
  signal(leader_wake_.get());
  signal(background_wake_.get());
}

void Engine::interrupt() noexcept {
  interrupted_.store(true);
  signal(background_wake_.get());
}

bool Engine::replies_outstanding_locked() const {
  return std::any_of(replies_.begin(), replies_.end(),
                     [](const Source* source) { return source->outstanding(); });
}

void Engine::wait(Operation& operation, std::uint32_t seen, std::chrono::nanoseconds at_most) {
  std::unique_lock lock(mutex_);
  if (replies_.empty()) {
    lock.unlock();
    operation.sleep(seen, at_most);
    return;
  }
  if (leader_ == nullptr && followers_.size() < crowd) {
    lead(lock, operation, seen, at_most);
    return;
  }
  if (leader_ == nullptr) signal(background_wake_.get());
  followers_.push_back(&operation);
  lock.unlock();
  operation.sleep(seen, at_most);
  lock.lock();
  std::erase(followers_, &operation);
  if (last_ == &operation) send_gathered(lock);
  // It may have been poked to lead and leave instead: the role goes on.
  if (leader_ == nullptr) hand_on_locked();
}

void Engine::lead(std::unique_lock<std::mutex>& lock, Operation& operation, std::uint32_t seen,
                  std::chrono::nanoseconds at_most) {
  leader_ = &operation;
  bool take_over = std::exchange(background_leads_, false);
  std::vector<Source*> sources = replies_;
  // Who awaits no reply awaits a push: it reaches him sooner if he looks for it himself.
  if (!pushes_.empty() && !replies_outstanding_locked()) {
    leader_has_pushes_ = true;
    take_over = take_over || std::exchange(background_has_pushes_, false);
    sources.insert(sources.end(), pushes_.begin(), pushes_.end());
  }
  in_use_.push_back(&sources);
  lock.unlock();
  if (take_over) signal(background_wake_.get());
  if (at_most < shortest_linger || operation.signal() != seen || !linger(sources)) {
    operation.nudge_through(leader_wake_.get());
    if (operation.signal() == seen) {
      const Instant now = clock_->now();
      const Instant until = at_most >= never - now ? never : now + at_most;
      poll_sources(sources, leader_wake_.get(), -1, until, &operation);
    }
    operation.nudge_through(-1);
  }
  lock.lock();
  leader_ = nullptr;
  leader_has_pushes_ = false;  // the background comes back to them soon, and is not woken for it
  leave_sources_locked(sources);
  hand_on_locked();
  choose_last(lock);
}

// Whoever was answered last runs last, if there are more of them than CPUs, and soon if not.
void Engine::choose_last(std::unique_lock<std::mutex>& lock) {
  const auto gathering = [](const Source* source) { return source->gathering(); };
  if (std::none_of(replies_.begin(), replies_.end(), gathering)) return;
  const auto done = [](const Operation* follower) { return follower->done(); };
  const auto last = std::find_if(followers_.rbegin(), followers_.rend(), done);
  if (last == followers_.rend()) {
    send_gathered(lock);
  } else {
    last_ = *last;
  }
}

void Engine::send_gathered(std::unique_lock<std::mutex>& lock) {
  last_ = nullptr;
  const std::vector<Source*> sources = replies_;
  in_use_.push_back(&sources);
  lock.unlock();
  for (Source* const source : sources) {
    if (source->gathering()) source->send_gathered();
  }
  lock.lock();
  leave_sources_locked(sources);
}

bool Engine::linger(const std::vector<Source*>& sources) {
  if (sources.size() != 1) return false;
  ++calls_on_this_thread;
  const bool came = sources.front()->linger();
  --calls_on_this_thread;
  return came;
}

void Engine::leave_sources_locked(const std::vector<Source*>& sources) {
  std::erase(in_use_, &sources);
  left_.notify_all();
}

bool Engine::used_locked(const Source& source) const {
  return std::any_of(in_use_.begin(), in_use_.end(), [&](const std::vector<Source*>* chosen) {
    return std::find(chosen->begin(), chosen->end(), &source) != chosen->end();
  });
}

void Engine::hand_on_locked() noexcept {
  // The caller that came last has the longest to wait, so it keeps the role longest.
  if (!followers_.empty() && followers_.size() < crowd) {
    followers_.back()->poke();
  } else if (!background_leads_ && replies_outstanding_locked()) {
    signal(background_wake_.get());
  }
}

void Engine::background(Instant until) {
  if (interrupted_.exchange(false)) return;
  std::vector<Source*> sources;
  {
    const std::lock_guard lock(mutex_);
    background_has_pushes_ = !leader_has_pushes_;
    if (background_has_pushes_) {
      sources = pushes_;
    } else {
      until = std::min(until, clock_->now() + pushes_unattended);
    }
    const bool unattended =
        leader_ == nullptr && (followers_.empty() || followers_.size() >= crowd);
    if (unattended && replies_outstanding_locked()) {
      background_leads_ = true;
      sources.insert(sources.end(), replies_.begin(), replies_.end());
    }
    in_use_.push_back(&sources);
  }
  poll_sources(sources, background_wake_.get(), background_timer_.get(), until, nullptr);
  std::unique_lock lock(mutex_);
  background_leads_ = false;
  background_has_pushes_ = false;
  leave_sources_locked(sources);
  choose_last(lock);
}

void Engine::poll_sources(const std::vector<Source*>& sources, int wake, int timer, Instant until,
                          Operation* own) {
  std::vector<pollfd> polled{{.fd = wake, .events = POLLIN, .revents = 0}};
  if (timer >= 0) polled.push_back({.fd = timer, .events = POLLIN, .revents = 0});
  const std::size_t first = polled.size();
  {
    const std::lock_guard calling(calling_);
    for (const Source* source : sources) {
      until = std::min(until, source->due());
      polled.push_back({source->descriptor(), source->interest(), 0});
    }
  }
  const Instant before = clock_->now();
  const auto left = until == never ? std::chrono::nanoseconds(std::chrono::hours(24))
                                   : std::max(until - before, std::chrono::nanoseconds(0));
  const auto bounded = std::min<std::chrono::nanoseconds>(left, std::chrono::hours(24));
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(bounded);
  const timespec limit{.tv_sec = static_cast<time_t>(seconds.count()),
                       .tv_nsec = static_cast<long>((bounded - seconds).count())};
  if (timer >= 0 && left.count() > 0) arm(timer, left);
  ::ppoll(polled.data(), polled.size(), &limit, nullptr);
  // Awake: what completes the own operation from here on, this thread itself most of all, need not
  // say so through a descriptor that would only end the next poll too early.
  if (own != nullptr) own->nudge_through(-1);
  if (polled[0].revents != 0) drain(wake);
  if (timer >= 0 && polled[1].revents != 0) drain(timer);

  const Instant now = clock_->now();
  const std::lock_guard calling(calling_);
  ++calls_on_this_thread;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const short events = polled[first + i].revents;
    // A source may have been detached by another source's ready() just now: its owner waits in
    // detach() until we leave, so the object is still there, and a late call does no harm.
    if (events != 0 || sources[i]->due() <= now) sources[i]->ready(events, now);
  }
  --calls_on_this_thread;
}

}  // namespace mortise::runtime
