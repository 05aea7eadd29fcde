// SPDX-License-Identifier: MIT
#include "signals.hpp"

#include <sys/signalfd.h>

namespace mortise::tool {

Signals::Signals() {
  sigset_t blocked;
  sigemptyset(&blocked);
  sigemptyset(&handled_);
  for (const int number : {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGTSTP, SIGCONT}) {
    struct sigaction action {};
    ::sigaction(number, nullptr, &action);
    // A blocked signal is not thrown away even if it is ignored, and this one is to be.
    if (action.sa_handler == SIG_IGN) continue;
    sigaddset(&handled_, number);
    sigaddset(&blocked, number);
  }
  // SIGTTOU: to give the terminal away and to take it back from the background. SIGPIPE: whoever
  // reads the output may go, the lock stays.
  for (const int number : {SIGCHLD, SIGTTOU, SIGPIPE}) sigaddset(&blocked, number);
  struct sigaction wait_for_children {};
  wait_for_children.sa_handler = SIG_DFL;
  ::sigaction(SIGCHLD, &wait_for_children, nullptr);
  ::sigprocmask(SIG_BLOCK, &blocked, &before_);
}

Descriptor Signals::descriptor(const sigset_t& of) {
  return Descriptor(must(::signalfd(-1, &of, SFD_NONBLOCK | SFD_CLOEXEC), "signalfd"));
}

int next_signal(int descriptor) noexcept {
  signalfd_siginfo info{};
  const ssize_t size = ::read(descriptor, &info, sizeof info);
  return size == static_cast<ssize_t>(sizeof info) ? static_cast<int>(info.ssi_signo) : 0;
}

}  // namespace mortise::tool
