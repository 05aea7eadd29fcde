// SPDX-License-Identifier: MIT
#include "process.hpp"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <utility>

namespace mortise::bench {

Process::Process(const std::function<void()>& work) : pid_(::fork()) {
  if (pid_ < 0) throw std::system_error(errno, std::generic_category(), "fork");
  if (pid_ > 0) return;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  int status = 0;
  try {
    work();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "mortise_bench: child: %s\n", error.what());
    status = 1;
  }
  ::_exit(status);  // no destructor of the parent's objects may run here
}

Process::~Process() {
  if (pid_ <= 0) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

void Process::wait() {
  int status = 0;
  const pid_t pid = std::exchange(pid_, -1);
  if (::waitpid(pid, &status, 0) != pid || status != 0) {
    throw std::runtime_error("the other process failed");
  }
}

}  // namespace mortise::bench
