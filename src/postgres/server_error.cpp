// SPDX-License-Identifier: MIT
// What an SQLSTATE means for whoever asked.
#include "postgres/server_error.hpp"

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

constexpr std::string_view migrate = " (run mortise::postgres::migrate, or its printed SQL)";

// The order counts: the first that fits.
constexpr std::array<Meaning, 28> meanings{{
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
    {"26000", final, Errc::misconfigured, " (behind a pooler: mortise.pooled=yes)"},
    {"42P05", final, Errc::misconfigured, " (behind a pooler: mortise.pooled=yes)"},
    {"22", final, Errc::protocol, ""},
    {"23", final, Errc::protocol, ""},
    {"42", final, Errc::protocol, ""},
    {"0A", final, Errc::unsupported, ""},
    {"53300", elsewhere, Errc::exhausted, ""},
    {"53", passing, Errc::exhausted, ""},
    {"25006", elsewhere, Errc::unavailable, ""},
    {"57014", passing, Errc::unavailable, ""},
    {"57P", elsewhere, Errc::unavailable, ""},
    {"08P01", elsewhere, Errc::protocol, ""},
    {"08", elsewhere, Errc::unavailable, ""},
    {"40", passing, Errc::unavailable, ""},
    {"55P03", passing, Errc::unavailable, ""},
    {"58", passing, Errc::unavailable, ""},
    {"XX001", final, Errc::protocol, ""},
    {"XX002", final, Errc::protocol, ""},
    {"XX", passing, Errc::unavailable, ""},
}};

}  // namespace

std::string one_line(std::string_view words) {
  constexpr std::size_t enough = 240;
  std::string text(words.substr(0, enough));
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
