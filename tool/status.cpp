// SPDX-License-Identifier: MIT
#include "status.hpp"

#include "base/system_error.hpp"
#include "speaker.hpp"
#include "text.hpp"

#include <sys/wait.h>

#include <cerrno>
#include <cstddef>
#include <new>
#include <string>
#include <system_error>
#include <utility>

namespace mortise::tool {
namespace {

constexpr std::string_view report = "This is a defect of mortise: please report it.";

/// @return what the caller should do about it.
std::string_view advice_for(const std::error_code& code) noexcept {
  if (code.category() != error_category()) return {};
  switch (static_cast<Errc>(code.value())) {
    case Errc::timeout:
    case Errc::cancelled: return "Try again later, or wait longer with --wait.";
    case Errc::unavailable:
      return "Check that the store runs, and that this host reaches it: run 'mortise check'.";
    case Errc::in_doubt:
      return "The store may have carried out the request: run 'mortise queue' before you repeat "
             "it.";
    case Errc::denied:
      return "Check the user and the password in the URL, and the permissions of this user.";
    case Errc::misconfigured:
      return "Correct the option or the URL: see mortise(1), and the store's page in docs/stores.";
    case Errc::unsupported:
      return "Use a store that supports it: 'mortise check' prints what a store can do.";
    case Errc::exhausted: return "Free the resource that the message names, and try again.";
    case Errc::mismatch: return "Use another key, or the fingerprint of the first call.";
    case Errc::protocol:
      return "Another program may have written there: read the name with the store's own client.";
    case Errc::lost: return "Another client may hold it now: check what both have written.";
    case Errc::not_owner:
    case Errc::closed: return report;
  }
  return {};
}

/// @return the text with words of the tool instead of names of the library: "--lease" instead of
/// "LockOptions::lease".
std::string in_own_words(std::string_view words) {
  constexpr std::pair<std::string_view, std::string_view> names[] = {
      {"LockOptions::lease", "--lease"},
      {"OnceOptions::lease", "--lease"},
      {"LockOptions::label", "--label"},
      {"OnceOptions::label", "--label"},
      {"LockOptions::min_hold", "--min-hold"},
      {"OnceOptions::keep", "--keep"},
      {"OnceOptions::fingerprint", "--fingerprint"},
      {"Mode::shared", "--shared"},
      {"Mode::exclusive", "an exclusive lock"},
      {"Client::make_once()", "'mortise once'"}};
  std::string text(words);
  for (const auto& [name, own] : names) {
    for (std::size_t at = 0; (at = text.find(name, at)) != std::string::npos; at += own.size()) {
      text.replace(at, name.size(), own);
    }
  }
  return text;
}

/// @return whether the system refused memory, a descriptor, a process or a thread.
bool is_limit(const std::exception& error) noexcept {
  if (dynamic_cast<const std::bad_alloc*>(&error) != nullptr) return true;
  const auto* const refused = dynamic_cast<const std::system_error*>(&error);
  if (refused == nullptr) return false;
  const std::error_condition why = refused->code().default_error_condition();
  // EAGAIN: the limit of processes or threads.
  return why.category() == std::generic_category() &&
         (why.value() == EAGAIN || base::is_limit(why.value()));
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
  const bool limit = is_limit(error);
  complain(error.what(), limit ? advice_for(Errc::exhausted) : report);
  return limit ? exhausted : internal;
}

int fail(const std::error_code& code, std::string_view words) noexcept {
  try {
    complain(in_own_words(words), advice_for(code));
  } catch (const std::bad_alloc&) {
    complain(words);
  }
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
