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
namespace {

/// What the caller should do about it. Advice that the words of the error already give is left out.
std::string_view advice_for(const std::error_code& code) noexcept {
  if (code.category() != error_category()) return {};
  switch (static_cast<Errc>(code.value())) {
    case Errc::timeout:
    case Errc::cancelled: return "Try again later, or wait longer with --wait.";
    case Errc::unavailable:
      return "Check that the store runs, and that this host reaches it: 'mortise check'.";
    case Errc::in_doubt:
      return "The request may have been carried out: look with 'mortise queue' before you repeat "
             "it.";
    case Errc::denied:
      return "Check the user and the password of the URL, and the permissions there.";
    case Errc::misconfigured:
      return "Options are in mortise(1); the URL is on the store's page of the docs.";
    case Errc::unsupported: return "Use another store; 'mortise check' prints what a store can do.";
    case Errc::exhausted: return "Free the resource that the message names, then try again.";
    case Errc::mismatch: return "Use another key, or the fingerprint of the first call.";
    case Errc::protocol:
      return "Another program may have written there: look with the store's client.";
    case Errc::lost:
    case Errc::not_owner:
    case Errc::closed: break;
  }
  return {};
}

}  // namespace

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
  if (const auto* const known = dynamic_cast<const Error*>(&error)) {
    return fail(known->code(), error.what());
  }
  complain(error.what());
  if (dynamic_cast<const std::bad_alloc*>(&error) != nullptr) return exhausted;
  if (const auto* const refused = dynamic_cast<const std::system_error*>(&error)) {
    const std::error_condition why = refused->code().default_error_condition();
    // EAGAIN: no process or thread more.
    const bool limit = why.value() == EAGAIN || base::is_limit(why.value());
    if (limit && why.category() == std::generic_category()) return exhausted;
  }
  return internal;
}

int fail(const std::error_code& code, std::string_view words) noexcept {
  complain(words, advice_for(code));
  return status_of(code);
}

void complain(std::string_view words, std::string_view advice) noexcept {
  try {
    std::string text = "mortise: " + printable(std::string(words)) + "\n";
    if (!advice.empty()) text += "mortise: " + printable(std::string(advice)) + "\n";
    say(text);  // one write, so that lines of several processes do not mix
  } catch (...) {
  }
}

int shell_status(int wait_status) noexcept {
  if (WIFSIGNALED(wait_status)) return by_signal + WTERMSIG(wait_status);
  return WEXITSTATUS(wait_status);
}

}  // namespace mortise::tool
