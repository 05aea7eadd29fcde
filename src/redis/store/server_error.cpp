// SPDX-License-Identifier: MIT
// Only the first words of an error are the server's interface; the rest is for people, and differs
// from version to version. What is not known is final: to ask again and again a server that means
// no would look like waiting.
#include "redis/store/server_error.hpp"

#include "base/printable.hpp"

#include <algorithm>
#include <array>

namespace mortise::redis {
namespace {

struct Meaning {
  std::string_view begins;
  ServerError::Kind kind;
  Errc code;
};

using enum ServerError::Kind;

// By the first words of the reply. The order counts: the first that fits.
constexpr std::array<Meaning, 31> meanings{{
    {"NOSCRIPT", script, Errc::unavailable},
    {"LOADING", passing, Errc::unavailable},
    {"BUSY ", passing, Errc::unavailable},
    {"MASTERDOWN", passing, Errc::unavailable},
    {"NOREPLICAS", passing, Errc::unavailable},
    {"MISCONF", passing, Errc::unavailable},
    {"TRYAGAIN", passing, Errc::unavailable},
    {"CLUSTERDOWN", passing, Errc::unavailable},
    {"UNBLOCKED", passing, Errc::unavailable},
    // A slot is on its way, and one of the keys of a lock is not here.
    {"ERR Script attempted to access a non local key", passing, Errc::unavailable},
    {"Script attempted to access a non local key", passing, Errc::unavailable},
    {"OOM", passing, Errc::exhausted},
    {"ERR max number of clients", elsewhere, Errc::exhausted},
    {"READONLY", elsewhere, Errc::unavailable},
    {"ERR WAIT cannot be used with replica", elsewhere, Errc::unavailable},
    {"WAIT cannot be used with replica", elsewhere, Errc::unavailable},
    {"NOAUTH", final, Errc::denied},
    {"WRONGPASS", final, Errc::denied},
    {"NOPERM", final, Errc::denied},
    {"ERR invalid password", final, Errc::denied},
    {"ERR AUTH", final, Errc::denied},
    {"ERR Client sent AUTH", final, Errc::denied},
    {"DENIED", final, Errc::denied},
    {"ERR The user executing the script", final, Errc::denied},
    {"The user executing the script", final, Errc::denied},
    {"ERR ACL failure in script", final, Errc::denied},
    {"ACL failure in script", final, Errc::denied},
    {"ERR DB index is out of range", final, Errc::misconfigured},
    {"ERR invalid DB index", final, Errc::misconfigured},
    {"MOVED", final, Errc::unsupported},
    {"ASK", final, Errc::unsupported},
}};

// Scripts add their hash and line to an error of a command inside; Redis 6 puts words in front.
std::string_view core_of(std::string_view words) {
  if (words.starts_with("ERR Error running script")) {
    if (const std::size_t at = words.find(": -"); at != std::string_view::npos) {
      words.remove_prefix(at + 3);
    } else if (const std::size_t last = words.rfind(": "); last != std::string_view::npos) {
      words.remove_prefix(last + 2);
    }
  }
  // The last one: "ERR ACL failure in script: ..." has words of its own behind the first.
  if (const std::size_t at = words.rfind(" script: "); at != std::string_view::npos) {
    words = words.substr(0, at);
  }
  return words;
}

}  // namespace

ServerError server_error(const std::string& where, std::string_view words) {
  constexpr std::size_t enough = 200;
  words = core_of(words);
  const auto found = std::find_if(meanings.begin(), meanings.end(), [&](const Meaning& meaning) {
    return words.starts_with(meaning.begins);
  });
  ServerError error;
  const bool known = found != meanings.end();
  if (known) error.kind = found->kind;
  std::string text = where + ": " + std::string(base::beginning_of(words, enough));
  // A server's text may end up in a log, so it becomes one line of visible characters.
  std::replace_if(
      text.begin(), text.end(),
      [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }, ' ');
  // WRONGTYPE and all that is not known: what is there is not ours.
  error.failure = Failure(known ? found->code : Errc::protocol, std::move(text));
  return error;
}

ServerError refusal_of_auth(const std::string& where, std::string_view words) {
  ServerError error = server_error(where, words);
  if (error.kind != ServerError::Kind::final) return error;
  // An unknown error may repeat the command with the password in it. Servers that have renamed AUTH
  // reply "ERR unknown command 'AUTH', with args beginning with: ...".
  if (error.failure.code == make_error_code(Errc::protocol)) {
    error.failure.text =
        where +
        ": the server refused AUTH; check the user, the password and the name of the command";
  }
  error.failure.code = make_error_code(Errc::denied);
  return error;
}

}  // namespace mortise::redis
