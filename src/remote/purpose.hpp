// SPDX-License-Identifier: MIT
// The fate of a call that has no answer: whether it is sent again, when, and by which part. One
// table for all calls.
#pragma once

#include <cstdint>

namespace mortise::remote {

/// The purpose of a call.
enum class Purpose : std::uint8_t {
  take,       ///< asks for an attempt; its course sends it again on each connection
  look,       ///< looks for a hold that a lost request took; so does this
  undo,       ///< takes back an attempt whose caller has an error; so does this
  cancel,     ///< takes back an attempt; its caller repeats it
  release,    ///< ends a hold; its caller repeats it
  give_back,  ///< ends a hold that no caller wants; only the client repeats it
  renew,      ///< its caller repeats it within the lease
  question,   ///< nothing depends on it but its answer
  hint,       ///< nothing depends on it
  route,      ///< asks which call goes by which line; other calls wait for its answer
};

[[nodiscard]] constexpr bool is_of_attempt(Purpose purpose) noexcept {
  return purpose <= Purpose::cancel;
}
[[nodiscard]] constexpr bool is_release(Purpose purpose) noexcept {
  return purpose == Purpose::release || purpose == Purpose::give_back;
}

enum class Fate : std::uint8_t {
  drop,        ///< what has to be repeated of it is noted elsewhere
  keep,        ///< the next connection sends it again
  later,       ///< it is sent again after a pause
  report,      ///< its caller learns why there is no answer, and repeats it
  unanswered,  ///< the same, and it is complete without an answer
  fail,        ///< its caller gets the error
};

/// The connection broke before it was answered, or could not be made.
/// @param final the next connection will fail as well
/// @param was_up the connection broke; as a rule the next one is up at once
[[nodiscard]] constexpr Fate fate_of_lost(Purpose purpose, bool final, bool was_up) noexcept {
  switch (purpose) {
    case Purpose::take: return final ? Fate::fail : Fate::drop;
    case Purpose::question: return final ? Fate::fail : Fate::keep;
    case Purpose::renew: return final || !was_up ? Fate::unanswered : Fate::keep;
    case Purpose::undo:
    case Purpose::cancel:
    case Purpose::release:
    // They stay: they free what other clients wait for.
    case Purpose::give_back: return Fate::keep;
    case Purpose::look:
    case Purpose::hint:
    case Purpose::route: break;
  }
  return Fate::drop;
}

/// The server refused it and did nothing. @param final it will refuse it again
[[nodiscard]] constexpr Fate fate_of_refused(Purpose purpose, bool final) noexcept {
  if (final) return Fate::fail;
  switch (purpose) {
    case Purpose::take:
    case Purpose::cancel:
    case Purpose::release: return Fate::report;
    case Purpose::look:
    case Purpose::undo:
    case Purpose::give_back: return Fate::later;
    case Purpose::renew:
    case Purpose::question:
    case Purpose::hint:
    case Purpose::route: break;
  }
  return Fate::fail;
}

/// Its answer made no sense. The connection is dropped, and it may have been executed.
[[nodiscard]] constexpr Fate fate_of_misread(Purpose purpose) noexcept {
  switch (purpose) {
    case Purpose::look:
    case Purpose::undo:
    case Purpose::cancel:
    case Purpose::release:
    case Purpose::give_back: return Fate::keep;
    case Purpose::take:
    case Purpose::renew:
    case Purpose::question:
    case Purpose::hint:
    case Purpose::route: break;
  }
  return Fate::fail;
}

}  // namespace mortise::remote
