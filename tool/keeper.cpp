// SPDX-License-Identifier: MIT
#include "keeper.hpp"

#include "capture.hpp"
#include "status.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <exception>
#include <string>
#include <thread>
#include <utility>

namespace mortise::tool {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

/// The pause between two KILLs. The second one reaches processes that were forked between the
/// search and the signal.
constexpr nanoseconds between_kills = 10ms;

sigset_t only(int number) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, number);
  return set;
}

void wake(int eventfd) noexcept {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(eventfd, &one, sizeof one);
}

void clear(int eventfd) noexcept {
  std::uint64_t count = 0;
  [[maybe_unused]] const ssize_t size = ::read(eventfd, &count, sizeof count);
}

}  // namespace

Keeper::Keeper(const Order& order, const Link& link, SharedMoment& alive_until,
               const Signals& signals, Speaker& speaker)
    : order_(order),
      link_(link),
      alive_until_(alive_until),
      signals_(signals),
      speaker_(speaker),
      children_(Signals::descriptor(only(SIGCHLD))),
      woken_(must(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC), "eventfd")) {
  ::setpgid(0, 0);
  must(::prctl(PR_SET_CHILD_SUBREAPER, 1), "prctl");
  ::prctl(PR_SET_NAME, "mortise-keeper");
}

int Keeper::keep() {
  hold_ = order_.verb == "once" ? key_hold(order_) : lock_hold(order_);
  if (!take()) return cancelled_by_ != 0 ? by_signal + cancelled_by_ : hold_->status();
  span_ = hold_->lease();
  try {
    start();
  } catch (...) {
    hold_->give_back();
    throw;
  }
  const std::stop_callback lost(hold_->lost(), [this] { wake(woken_.get()); });
  try {
    serve();
  } catch (const std::exception& error) {
    die(error.what());
  }
  return conclude();
}

// Not through destructors: they would free the lock before the command has ended.
void Keeper::die(const char* why) {
  command_->signal(SIGKILL);
  complain(why, "The program was killed: find out what it has done before you run it again.");
  speaker_.wait(100ms);
  ::kill(::getpid(), SIGKILL);
  ::_exit(internal);
}

bool Keeper::take() {
  std::stop_source stop;
  bool taken = false;
  bool answered = false;
  std::exception_ptr failure;
  // In another thread, because this one listens to the front. This one also forks the command: the
  // kernel kills the command when the thread that forked it ends.
  std::jthread taker([&] {
    try {
      taken = hold_->take(stop.get_token());
    } catch (...) {
      failure = std::current_exception();
    }
    wake(woken_.get());
  });
  while (!answered) {
    pollfd sources[] = {{woken_.get(), POLLIN, 0}, {front_gone_ ? -1 : link_.fd(), POLLIN, 0}};
    ::poll(sources, std::size(sources), -1);
    if (sources[1].revents != 0) hear();
    if (cancelled_by_ != 0 || front_gone_) stop.request_stop();
    answered = sources[0].revents != 0;
  }
  taker.join();
  if (failure) std::rethrow_exception(failure);
  clear(woken_.get());
  if (taken && (cancelled_by_ != 0 || front_gone_)) {
    hold_->give_back();
    return false;
  }
  return taken;
}

void Keeper::start() {
  Capture* const capture = hold_->capture();
  command_.emplace(order_.command.words, hold_->environment(),
                   capture != nullptr ? capture->outputs() : Outputs{}, signals_.before());
  if (capture != nullptr) capture->started();
}

void Keeper::serve() {
  Capture* const capture = hold_->capture();
  // Before the front learns of the command: the front watches this hold from then on.
  look_at_hold();
  link_.say(Message::started, command_->pid());
  while (!(wait_status_ && nothing_left_)) {
    look_at_hold();
    const bool room = capture == nullptr || speaker_.has_room();
    pollfd sources[] = {{children_.get(), POLLIN, 0},
                        {woken_.get(), POLLIN, 0},
                        {alarm_.fd(), POLLIN, 0},
                        {front_gone_ ? -1 : link_.fd(), POLLIN, 0},
                        {capture != nullptr ? capture->out() : -1, POLLIN, 0},
                        {capture != nullptr && room ? capture->err() : -1, POLLIN, 0},
                        {room ? -1 : speaker_.room(), POLLIN, 0}};
    ::poll(sources, std::size(sources), -1);
    clear(woken_.get());
    while (next_signal(children_.get()) != 0) {
    }
    // Before the link is read, whose end may have come: a command that has ended was not cut off.
    reap();
    if (sources[3].revents != 0) hear();
    if (capture != nullptr) capture->read(room);
  }
  if (capture != nullptr) capture->finish();
}

void Keeper::hear() {
  Message message;
  for (;;) {
    switch (link_.hear(message)) {
      case Link::Heard::nothing: return;
      case Link::Heard::end:
        front_gone_ = true;
        if (command_) end_command(Reason::front_gone, BootClock::now() + part_of_lease(6));
        return;
      case Link::Heard::message: break;
    }
    if (message.kind == Message::go && command_) {
      begin();
    } else if (message.kind == Message::forward && !command_) {
      if (ends_wait(message.value)) cancelled_by_ = message.value;
    } else if (message.kind == Message::forward) {
      command_->signal(message.value);
    }
  }
}

// This process may have been stopped since its last check, for longer than the hold.
void Keeper::begin() {
  look_at_hold();
  if (reason_ != Reason::none) return;
  begun_ = true;
  command_->begin();
}

void Keeper::reap() {
  for (;;) {
    int status = 0;
    const pid_t pid = ::waitpid(-1, &status, WNOHANG | WUNTRACED);
    if (pid < 0) nothing_left_ = errno == ECHILD;
    if (pid <= 0) break;
    if (pid != command_->pid() || wait_status_) continue;  // an orphaned child of the command
    if (WIFSTOPPED(status)) {
      link_.say(Message::stopped, WSTOPSIG(status));
    } else {
      wait_status_ = status;
    }
  }
  if (wait_status_ && !nothing_left_ && reason_ < Reason::leftovers) {
    end_command(Reason::leftovers, BootClock::now() + part_of_lease(6));
  }
}

// The hold has thirds. In the first the watchdog renews, and in the second it is late. In the last
// third the command is ended: the first half begins with TERM, and the second half with KILL.
void Keeper::look_at_hold() {
  const Instant now = BootClock::now();
  const nanoseconds valid = hold_->valid_for();
  Instant next = never;
  if (hold_->lost().stop_requested() || valid.count() == 0) {
    // If this process was stopped, the last moment may have passed long ago. Then KILL comes at
    // once.
    end_command(Reason::hold_lost,
                std::min(now + std::min<nanoseconds>(part_of_lease(6), 1s), last_moment_));
  } else if (valid != nanoseconds::max()) {
    if (valid > valid_) span_ = valid;
    valid_ = valid;
    last_moment_ = now + valid - part_of_lease(6);
    alive_until_.set(now + valid - part_of_lease(12));
    const nanoseconds left = valid - part_of_lease(3);
    if (left.count() <= 0) {
      end_command(Reason::hold_ends, last_moment_);
    } else {
      next = now + std::min(left, part_of_lease(6));
    }
  }
  if (kill_at_ <= now) {
    command_->signal(SIGKILL);
    offspring_.signal(SIGKILL);
    next = now + between_kills;
  }
  alarm_.set(std::min(next, std::max(kill_at_, now + between_kills)));
}

void Keeper::end_command(Reason reason, Instant by) {
  kill_at_ = std::min(kill_at_, by);
  if (reason <= reason_) return;  // it is being ended already
  const bool first = reason_ == Reason::none;
  reason_ = reason;
  if (!wait_status_) cut_off_ = true;
  if (!begun_) {
    command_->signal(SIGKILL);  // it has not started
  } else if (wait_status_) {
    if (first || reason == Reason::leftovers) ask_leftovers();
  } else if (first && kill_at_ > BootClock::now()) {
    command_->signal(SIGTERM);
    command_->signal(SIGCONT);  // a stopped process would not end
  }
  if (reason == Reason::hold_lost || reason == Reason::hold_ends) {
    const bool lost = reason == Reason::hold_lost;
    complain("the hold of '" + order_.name + (lost ? "' was lost" : "' cannot be renewed") +
                 ", so its program is being ended",
             lost ? "Another client may hold it now: check what both have written."
                  : "Check that the store answers: 'mortise check'.");
  }
}

void Keeper::ask_leftovers() const {
  if (offspring_.signal(SIGTERM) == 0) command_->signal(SIGTERM);  // /proc lists no process
  offspring_.signal(SIGCONT);
}

int Keeper::conclude() {
  alive_until_.set(never);  // no process is left that the front would have to end
  if (!cut_off_) return hold_->conclude(shell_status(*wait_status_));
  hold_->give_back();
  return hold_lost;
}

}  // namespace mortise::tool
