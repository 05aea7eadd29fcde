// SPDX-License-Identifier: MIT
#include "terminal.hpp"

#include <fcntl.h>
#include <unistd.h>

namespace mortise::tool {

Terminal::Terminal() noexcept : fd_(::open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC)) {}

bool Terminal::give(pid_t group) const noexcept {
  return there() && group > 0 && ::tcgetpgrp(fd_.get()) == ::getpgrp() &&
         ::tcsetpgrp(fd_.get(), group) == 0;
}

void Terminal::take_back(pid_t group) const noexcept {
  if (there() && group > 0 && ::tcgetpgrp(fd_.get()) == group) {
    ::tcsetpgrp(fd_.get(), ::getpgrp());
  }
}

}  // namespace mortise::tool
