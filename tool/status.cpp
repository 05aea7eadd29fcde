// SPDX-License-Identifier: MIT
#include "status.hpp"

#include "base/system_error.hpp"
#include "speaker.hpp"
#include "text.hpp"

#include <sys/wait.h>

#include <cerrno>
#include <new>
#include <string>
#include <system_error>

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

int fail(const std::exception& error) noexcept {
  complain(error.what());
  if (const auto* const lock_error = dynamic_cast<const Error*>(&error)) {
    return status_of(lock_error->code());
  }
  if (dynamic_cast<const std::bad_alloc*>(&error) != nullptr) return exhausted;
  if (const auto* const refused = dynamic_cast<const std::system_error*>(&error)) {
    const std::error_condition why = refused->code().default_error_condition();
    // EAGAIN: no process or thread more.
    const bool limit = why.value() == EAGAIN || base::is_limit(why.value());
    if (limit && why.category() == std::generic_category()) return exhausted;
  }
  return internal;
}

void complain(std::string_view words) noexcept {
  try {
    // One write, so that lines of several processes do not mix.
    say("mortise: " + printable(std::string(words)) + "\n");
  } catch (...) {
  }
}

int shell_status(int wait_status) noexcept {
  if (WIFSIGNALED(wait_status)) return by_signal + WTERMSIG(wait_status);
  return WEXITSTATUS(wait_status);
}

}  // namespace mortise::tool
