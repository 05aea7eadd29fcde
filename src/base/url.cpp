// SPDX-License-Identifier: MIT
// The parts of a URL, each refused by the name of its place.
#include "base/url.hpp"

#include <mortise/error.hpp>

#include <algorithm>
#include <cctype>

namespace mortise::base {
namespace {

int hex_digit(char c) noexcept {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::string decode(std::string_view text, Literal part) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    const int high = i + 2 < text.size() ? hex_digit(text[i + 1]) : -1;
    const int low = i + 2 < text.size() ? hex_digit(text[i + 2]) : -1;
    if (high < 0 || low < 0)
      refuse_url({"URL: invalid percent escape in the ", part, "; write '%' as %25"});
    const char byte = static_cast<char>(high * 16 + low);
    // The C libraries that get it would take the text to end here.
    if (byte == '\0') refuse_url({"URL: NUL byte in the ", part});
    out += byte;
    i += 2;
  }
  return out;
}

}  // namespace

void refuse_url(std::initializer_list<Literal> words, Errc as) {
  std::string text;
  for (const Literal& each : words) text += each.text();
  throw Error({as, text});
}

void refuse_url(Literal words, Errc as) { refuse_url({words}, as); }

void refuse_control_characters(std::string_view text) {
  const auto control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; };
  if (std::any_of(text.begin(), text.end(), control))
    refuse_url("URL: it contains a control character");
}

void refuse_open_password(std::string_view rest) {
  if (rest.find('@') == std::string_view::npos) return;
  refuse_url(
      "URL: there is an '@' after the host, perhaps from a password; in a password write '/' as "
      "%2F, '?' as %3F and '@' as %40; after the host write '@' as %40");
}

std::string url_scheme(std::string_view text) {
  const std::size_t colon = text.find(':');
  const auto letter = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '+' || c == '-' || c == '.';
  };
  if (colon == std::string_view::npos || colon == 0 ||
      !std::all_of(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(colon), letter)) {
    refuse_url("URL: the scheme is missing; a URL starts like memory: or file:///directory");
  }
  std::string scheme(text.substr(0, colon));
  std::transform(scheme.begin(), scheme.end(), scheme.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return scheme;
}

Url::Url(std::string_view text) : scheme_(url_scheme(text)) {
  refuse_control_characters(text);
  text.remove_prefix(scheme_.size() + 1);
  if (const std::size_t mark = text.find('#'); mark != std::string_view::npos) {
    refuse_url("URL: a fragment (#) is not allowed; in a password write '#' as %23");
  }
  if (text.starts_with("//")) {
    const std::size_t end = std::min(text.find_first_of("/?", 2), text.size());
    if (end > 2) refuse_open_password(text.substr(end));
    parse_authority(text.substr(2, end - 2));
    text.remove_prefix(end);
  }
  if (const std::size_t mark = text.find('?'); mark != std::string_view::npos) {
    parse_query(text.substr(mark + 1));
    text = text.substr(0, mark);
  }
  path_ = decode(text, "path");
}

void Url::parse_authority(std::string_view text) {
  has_authority_ = true;
  // The last '@', because people forget to escape it in passwords; the hosts never hold one.
  if (const std::size_t at = text.rfind('@'); at != std::string_view::npos) {
    const std::string_view info = text.substr(0, at);
    const std::size_t colon = info.find(':');
    user_ = decode(info.substr(0, colon), "user");
    if (colon != std::string_view::npos) password_ = decode(info.substr(colon + 1), "password");
    text.remove_prefix(at + 1);
  }
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    if (comma == 0) refuse_url("URL: empty host name in the list of hosts");
    hosts_.push_back(decode(text.substr(0, comma), "host"));
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
}

void Url::parse_query(std::string_view text) {
  while (!text.empty()) {
    const std::string_view pair = text.substr(0, text.find('&'));
    text.remove_prefix(std::min(pair.size() + 1, text.size()));
    const std::size_t equals = pair.find('=');
    if (equals == std::string_view::npos || equals == 0) {
      refuse_url("URL: a query parameter has no name or no '='; write name=value");
    }
    std::string key = decode(pair.substr(0, equals), "query");
    if (!query_.emplace(std::move(key), decode(pair.substr(equals + 1), "query")).second) {
      refuse_url("URL: a query parameter is given twice");
    }
  }
}

std::optional<std::string> Url::take(std::string_view key) {
  asked_.emplace(key);
  const auto found = query_.find(key);
  if (found == query_.end()) return std::nullopt;
  std::string value = std::move(found->second);
  query_.erase(found);
  return value;
}

bool Url::take_flag(Literal key, bool otherwise) {
  const std::optional<std::string> value = take(key.text());
  if (!value) return otherwise;
  if (*value == "yes") return true;
  if (*value == "no") return false;
  refuse_url({"URL: parameter ", key, " must be yes or no"});
}

// The one list that is no literal: each of these names was in the source code of a caller.
void Url::refuse_the_rest() const {
  if (query_.empty()) return;
  std::string known;
  for (const std::string& each : asked_) known += (known.empty() ? "" : ", ") + each;
  throw Error(
      {Errc::misconfigured,
       "URL: unknown parameter; " + (known.empty() ? std::string("this store has no parameters")
                                                   : "the parameters of this store are " + known)});
}

}  // namespace mortise::base
