// SPDX-License-Identifier: MIT
// The process that the shell sees. It forwards signals, gives the command the terminal, stops and
// continues like a job, and ends the command if the keeper dies.
#include "alarm.hpp"
#include "keeper.hpp"
#include "link.hpp"
#include "offspring.hpp"
#include "signals.hpp"
#include "speaker.hpp"
#include "status.hpp"
#include "terminal.hpp"

#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <exception>
#include <optional>
#include <string>
#include <utility>

namespace mortise::tool {
namespace {

class Front {
 public:
  Front(pid_t keeper, Link link, const SharedMoment& alive_until, const Signals& signals,
        const Offspring& offspring)
      : keeper_(keeper),
        link_(std::move(link)),
        alive_until_(alive_until),
        signals_(signals),
        offspring_(offspring),
        heard_(Signals::descriptor(signals.handled())) {}

  int serve() {
    while (!status_) {
      alarm_.set(alive_until_.get());
      pollfd sources[] = {{link_.fd(), static_cast<short>(owes_go_ ? POLLIN | POLLOUT : POLLIN), 0},
                          {heard_.get(), POLLIN, 0},
                          {alarm_.fd(), POLLIN, 0}};
      ::poll(sources, std::size(sources), -1);
      if (sources[0].revents != 0) hear();
      if (owes_go_) owes_go_ = !link_.say(Message::go);
      while (!status_) {
        const int number = next_signal(heard_.get());
        if (number == 0) break;
        on_signal(number);
      }
      // The keeper is stopped while the lease runs, and cannot end the command.
      if (!status_ && alive_until_.get() <= BootClock::now()) {
        ::kill(keeper_, SIGKILL);
        end_command("is stopped");
      }
    }
    terminal_.take_back(group_);
    return *status_;
  }

 private:
  void hear() {
    Message message;
    for (;;) {
      switch (link_.hear(message)) {
        case Link::Heard::nothing: return;
        case Link::Heard::end: keeper_ended(); return;
        case Link::Heard::message: break;
      }
      switch (message.kind) {
        case Message::started:
          group_ = message.value;
          resume();
          owes_go_ = !link_.say(Message::go);
          break;
        case Message::stopped: stop_too(message.value); break;
        case Message::freed:
          terminal_.take_back(std::exchange(group_, 0));
          freed_ = true;
          break;
        case Message::go:
        case Message::forward: break;
      }
    }
  }

  void on_signal(int number) {
    if (number == SIGCONT) {
      if (group_ > 0) resume();
    } else if (number == SIGTSTP && group_ <= 0) {
      stop(number);
    } else if (freed_ && ends_wait(number)) {
      // The keeper waits for a reader of its output.
      end_keeper();
      status_ = by_signal + number;
    } else {
      link_.say(Message::forward, number);
    }
  }

  /// The command was stopped, so the shell must see a stopped job: this process, and the other
  /// processes of the job. SIGSTOP was meant for the command alone.
  void stop_too(int number) {
    if (number == SIGSTOP) return;
    if ((number == SIGTTIN || number == SIGTTOU) && terminal_.give(group_)) {
      wants_terminal_ = true;
      link_.say(Message::forward, SIGCONT);
      return;
    }
    terminal_.take_back(group_);
    stop(number);
    resume();
  }

  /// Stops this process as the signal does by default. Returns when the process continues. (In an
  /// orphaned group no shell would see it: there the kernel does not stop it.)
  void stop(int number) const {
    ::kill(terminal_.there() ? 0 : ::getpid(), number);
    sigset_t one;
    sigemptyset(&one);
    sigaddset(&one, number);
    ::sigprocmask(SIG_UNBLOCK, &one, nullptr);
    if (sigismember(&signals_.handled(), number) != 0 || number == SIGTTOU) {
      ::sigprocmask(SIG_BLOCK, &one, nullptr);
    }
  }

  void resume() {
    if (wants_terminal_) terminal_.give(group_);
    if (group_ > 0) link_.say(Message::forward, SIGCONT);
  }

  /// The keeper exits with the final status when everything is over. Otherwise it was killed.
  void keeper_ended() {
    int ended = 0;
    ::waitpid(keeper_, &ended, 0);
    if (WIFEXITED(ended) || freed_) {
      status_ = shell_status(ended);
    } else {
      end_command("has died");
    }
  }

  void end_keeper() const {
    ::kill(keeper_, SIGKILL);
    ::waitpid(keeper_, nullptr, 0);
  }

  /// No lock protects the command any longer, so every remaining process of it is killed now. The
  /// wait for the keeper comes last: it may not get the time to die, or may hang in the kernel.
  void end_command(const char* how) {
    offspring_.kill_all(group_);  // the keeper's children become children of this process
    complain(std::string("the process that holds the lock ") + how + ", so the program was killed",
             "Find out what the program has done before you run it again.");
    status_ = hold_lost;
  }

  pid_t keeper_;
  Link link_;
  const SharedMoment& alive_until_;
  const Signals& signals_;
  const Offspring& offspring_;
  Descriptor heard_;
  Alarm alarm_;
  Terminal terminal_;
  pid_t group_ = 0;  ///< of the command
  /// If false, the command gets the terminal when it asks for it: the output may go to a pager in
  /// this job, which must read the keyboard.
  bool wants_terminal_ = ::isatty(STDOUT_FILENO) == 1;
  bool owes_go_ = false;  ///< `go` must still be sent: the link was full
  bool freed_ = false;
  std::optional<int> status_;
};

int keep(const Order& order, const Link& link, SharedMoment& alive_until, const Signals& signals) {
  int status = internal;
  try {
    Speaker speaker;
    try {
      Keeper keeper(order, link, alive_until, signals, speaker);
      status = keeper.keep();
      link.say(Message::freed);
      status = keeper.print(status);
    } catch (const std::exception& error) {
      status = fail(error);
    }
    alive_until.set(never);
    link.say(Message::freed);
  } catch (const std::exception& error) {
    status = fail(error);
  }
  return status;
}

/// @return the default label of the holder: the process that the shell knows, so that an
/// administrator can send it a signal.
std::string own_label() {
  char host[65] = {};
  if (::gethostname(host, sizeof host - 1) != 0) return {};
  return std::string(host) + ":" + std::to_string(::getpid());
}

}  // namespace

int run_front(const Order& asked) {
  Order order = asked;
  if (order.command.label.empty()) order.command.label = own_label();
  const Signals signals;
  SharedMoment alive_until;
  int ends[2];
  must(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), "socketpair");
  Link front_end{Descriptor(ends[0])};
  Link keeper_end{Descriptor(ends[1])};
  // When the keeper dies, its children become children of this process, which finds them then.
  must(::prctl(PR_SET_CHILD_SUBREAPER, 1), "prctl");
  const Offspring offspring;
  std::fflush(nullptr);
  // Before the first thread starts: the threads of the library belong to the keeper.
  const pid_t keeper = must(::fork(), "fork");
  if (keeper == 0) {
    { const Link closed(std::move(front_end)); }
    ::_exit(keep(order, keeper_end, alive_until, signals));
  }
  { const Link closed(std::move(keeper_end)); }
  return Front(keeper, std::move(front_end), alive_until, signals, offspring).serve();
}

}  // namespace mortise::tool
