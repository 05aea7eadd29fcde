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
    // The kernel keeps a blocked signal even if it is ignored, and this one must stay ignored.
    if (action.sa_handler == SIG_IGN) continue;
    sigaddset(&handled_, number);
    sigaddset(&blocked, number);
  }
  // SIGTTOU: so that the front can give the terminal away and take it back from the background.
  // SIGPIPE: the reader of the output may go, and the lock stays.
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
