// SPDX-License-Identifier: MIT
#include "status.hpp"

#include "text.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <string>

namespace mortise::tool {

int status_of(const std::error_code& code) noexcept {
  if (!code) return done;
  if (code.category() != error_category()) return internal;
  switch (static_cast<Errc>(code.value())) {
    case Errc::timeout:
    case Errc::cancelled: return busy;
    case Errc::unavailable:
    case Errc::in_doubt: return unavailable;
    case Errc::denied: return denied;
    case Errc::lost: return hold_lost;
    case Errc::misconfigured:
    case Errc::unsupported: return misconfigured;
    case Errc::exhausted: return exhausted;
    case Errc::mismatch: return bad_data;
    case Errc::not_owner:
    case Errc::protocol:
    case Errc::closed: break;
  }
  return internal;
}

void complain(std::string_view words) noexcept {
  try {
    // One write, so that lines of several processes do not mix.
    const std::string line = "mortise: " + printable(words) + "\n";
    [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
  } catch (...) {
  }
}

int shell_status(int wait_status) noexcept {
  if (WIFSIGNALED(wait_status)) return by_signal + WTERMSIG(wait_status);
  return WEXITSTATUS(wait_status);
}

}  // namespace mortise::tool
