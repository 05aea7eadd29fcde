// SPDX-License-Identifier: MIT
// What an SQLSTATE means for whoever asked.
#include "postgres/server_error.hpp"

#include "base/printable.hpp"
#include "base/system_error.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace mortise::postgres {
namespace {

using enum ServerError::Kind;

struct Meaning {
  std::string_view begins;  ///< the state, or its class
  ServerError::Kind kind;
  Errc code;
  std::string_view advice;  ///< behind the server's own words
};

constexpr std::string_view migrate = "; run 'mortise migrate' or mortise::postgres::migrate()";

// The order counts: the first that fits.
constexpr std::array<Meaning, 29> meanings{{
    {"28", final, Errc::denied, ""},
    {"42501", final, Errc::denied, ""},
    {"3D000", final, Errc::misconfigured, ""},
    {"3F000", final, Errc::misconfigured, migrate},
    {"42P01", final, Errc::misconfigured, migrate},
    {"42703", final, Errc::misconfigured, migrate},
    {"42883", final, Errc::misconfigured, migrate},
    {"42704", final, Errc::misconfigured, migrate},
    {"55000", final, Errc::misconfigured, ""},
    // A pooler gave us another server's connection, which knows none of our statements.
    {"26000", final, Errc::misconfigured, "; behind a pooler set mortise.pooled=yes"},
    {"42P05", final, Errc::misconfigured, "; behind a pooler set mortise.pooled=yes"},
    {"22", final, Errc::protocol, ""},
    {"23", final, Errc::protocol, ""},
    {"42", final, Errc::protocol, ""},
    {"0A", final, Errc::unsupported, ""},
    {"53300", elsewhere, Errc::exhausted, ""},
    {"53", passing, Errc::exhausted, ""},
    {"25006", elsewhere, Errc::unavailable, ""},
    {"57014", passing, Errc::unavailable, ""},
    {"57P", elsewhere, Errc::unavailable, ""},
    // Time-outs of a session that is idle in a transaction, or of a transaction.
    {"25P03", elsewhere, Errc::unavailable, ""},
    {"25P04", elsewhere, Errc::unavailable, ""},
    {"08", elsewhere, Errc::unavailable, ""},
    {"40", passing, Errc::unavailable, ""},
    {"55P03", passing, Errc::unavailable, ""},
    {"58", passing, Errc::unavailable, ""},
    {"XX001", final, Errc::protocol, ""},
    {"XX002", final, Errc::protocol, ""},
    {"XX", passing, Errc::unavailable, ""},
}};

/// pgbouncer has one state for all that it says itself, 08P01, and one language.
struct PoolerMeaning {
  std::string_view words;  ///< a part of its own
  ServerError::Kind kind;
  Errc code;
};

constexpr std::string_view state_of_poolers = "08P01";

// What stands first in its words counts: it quotes servers, users and databases behind that. All
// else passes by itself.
constexpr std::array<PoolerMeaning, 12> meanings_of_poolers{{
    {"server login", elsewhere, Errc::unavailable},
    {"no more connections allowed", elsewhere, Errc::exhausted},
    {"client connections exceeded", elsewhere, Errc::exhausted},
    {"resources exhaustion", elsewhere, Errc::exhausted},
    {"memory", elsewhere, Errc::exhausted},
    {"authentication failed", final, Errc::denied},
    {"no such user", final, Errc::denied},
    {"login rejected", final, Errc::denied},
    {"not allowed", final, Errc::denied},
    {"no such database", final, Errc::misconfigured},
    {"unsupported", final, Errc::misconfigured},
    {"SSL required", final, Errc::misconfigured},
}};

ServerError of_pooler(const PqError& error, std::string text) {
  const auto place = [&](const PoolerMeaning& meaning) { return error.words.find(meaning.words); };
  const auto found = std::min_element(meanings_of_poolers.begin(), meanings_of_poolers.end(),
                                      [&](const PoolerMeaning& one, const PoolerMeaning& other) {
                                        return place(one) < place(other);
                                      });
  if (place(*found) == std::string::npos) {
    return {.kind = elsewhere, .failure = {Errc::unavailable, std::move(text)}};
  }
  return {.kind = found->kind, .failure = {found->code, std::move(text)}};
}

/// libpq's messages about bytes that no PostgreSQL server sends. They have no state, and libpq
/// translates them: in another language, the server counts as unavailable.
constexpr std::array<std::string_view, 3> messages_of_nonsense{
    "expected authentication request from server",
    "received invalid response to SSL negotiation",
    "lost synchronization with server",
};

bool is_nonsense(const PqError& error) {
  return error.state.empty() &&
         std::any_of(
             messages_of_nonsense.begin(), messages_of_nonsense.end(),
             [&](std::string_view words) { return error.words.find(words) != std::string::npos; });
}

/// What the server makes of the settings that a connection begins with (`options`, say).
bool refuses_settings(const PqError& error) {
  return error.at_connect && (error.state.starts_with("22") || error.state.starts_with("42")) &&
         error.state != "42501";
}

}  // namespace

std::string one_line(std::string_view words) {
  constexpr std::size_t enough = 240;
  std::string text(base::beginning_of(words, enough));
  std::replace_if(
      text.begin(), text.end(),
      [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }, ' ');
  while (!text.empty() && text.back() == ' ') text.pop_back();
  return text;
}

ServerError server_error(const std::string& where, const PqError& error, Advice advice) {
  const auto found = std::find_if(meanings.begin(), meanings.end(), [&](const Meaning& meaning) {
    return error.state.starts_with(meaning.begins);
  });
  ServerError known;
  std::string text = where + ": " + one_line(error.words);
  if (!error.state.empty()) text += " [" + error.state + "]";
  if (error.refusal == PqError::Refusal::password) {
    return {.kind = final, .failure = {Errc::denied, std::move(text)}};
  }
  if (error.refusal == PqError::Refusal::settings || refuses_settings(error)) {
    return {.kind = final, .failure = {Errc::misconfigured, std::move(text)}};
  }
  if (error.state == state_of_poolers) return of_pooler(error, std::move(text));
  if (is_nonsense(error)) {
    text += "; the reply is not from a PostgreSQL server; check host and port";
    return {.kind = elsewhere, .failure = {Errc::protocol, std::move(text)}};
  }
  if (found == meanings.end()) {
    // Without a state it is libpq that speaks: of the network, of a certificate, or of a limit of
    // this process, whose errno it keeps to itself.
    known.kind = error.state.empty() ? elsewhere : passing;
    const Errc code = error.state.empty() ? base::errc_of_words(error.words) : Errc::unavailable;
    known.failure = Failure(code, std::move(text));
    return known;
  }
  known.kind = found->kind;
  if (advice == Advice::given) text += found->advice;
  known.failure = Failure(found->code, std::move(text));
  return known;
}

}  // namespace mortise::postgres
