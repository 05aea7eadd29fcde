// SPDX-License-Identifier: MIT
// The parts of a URL, each refused by the name of its place and never by its text: any of them may
// be a piece of a password.
#include "base/url.hpp"

#include <mortise/error.hpp>

#include <algorithm>
#include <cctype>

namespace mortise::base {
namespace {

[[noreturn]] void refuse(const std::string& words) {
  throw LockError(Failure(Errc::misconfigured, words));
}

int hex_digit(char c) noexcept {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// `part` names the place in messages: the text itself may hold a password.
std::string decode(std::string_view text, const char* part) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    const int high = i + 2 < text.size() ? hex_digit(text[i + 1]) : -1;
    const int low = i + 2 < text.size() ? hex_digit(text[i + 2]) : -1;
    if (high < 0 || low < 0) refuse(std::string("URL: bad percent escape in the ") + part);
    const char byte = static_cast<char>(high * 16 + low);
    // The C libraries that get it would take the text to end here.
    if (byte == '\0') refuse(std::string("URL: NUL byte in the ") + part);
    out += byte;
    i += 2;
  }
  return out;
}

/// Whether what a message would quote may be a piece of a password whose '/' or '?' nobody escaped.
bool may_hold_password(std::string_view url) {
  const std::size_t begin = url.find("//");
  if (begin == std::string_view::npos) return false;
  const std::size_t end = url.find_first_of("/?#", begin + 2);
  return end != begin + 2 && end != std::string_view::npos &&
         url.find('@', end) != std::string_view::npos;
}

}  // namespace

void refuse_control_characters(std::string_view text) {
  const auto control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; };
  if (std::any_of(text.begin(), text.end(), control)) refuse("URL: control character");
}

void refuse_without_password(std::string_view url, const LockError& error) {
  if (error.errc() != Errc::misconfigured || !may_hold_password(url)) throw LockError(error);
  refuse(
      "URL: wrong, and not repeated, since an '@' behind the host may end a password; in one "
      "'/' is %2F, '?' is %3F and '@' is %40");
}

std::string url_scheme(std::string_view text) {
  const std::size_t colon = text.find(':');
  const auto letter = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '+' || c == '-' || c == '.';
  };
  if (colon == std::string_view::npos || colon == 0 ||
      !std::all_of(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(colon), letter)) {
    refuse("URL: no scheme (expected something like memory: or file:///directory)");
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
    refuse("URL: a fragment (#) means nothing here");
  }
  if (const std::size_t mark = text.find('?'); mark != std::string_view::npos) {
    parse_query(text.substr(mark + 1));
    text = text.substr(0, mark);
  }
  if (text.substr(0, 2) == "//") {
    text.remove_prefix(2);
    const std::size_t slash = std::min(text.find('/'), text.size());
    parse_authority(text.substr(0, slash));
    text.remove_prefix(slash);
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
    if (comma == 0) refuse("URL: empty host name in the list of hosts");
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
      refuse("URL: parameter without a value: " + decode(pair.substr(0, equals), "query"));
    }
    const std::string key = decode(pair.substr(0, equals), "query");
    if (!query_.emplace(key, decode(pair.substr(equals + 1), "query")).second) {
      refuse("URL: parameter given twice: " + key);
    }
  }
}

std::optional<std::string> Url::take(std::string_view key) {
  const auto found = query_.find(key);
  if (found == query_.end()) return std::nullopt;
  std::string value = std::move(found->second);
  query_.erase(found);
  return value;
}

bool Url::take_flag(std::string_view key, bool otherwise) {
  const std::optional<std::string> value = take(key);
  if (!value) return otherwise;
  if (*value == "yes") return true;
  if (*value == "no") return false;
  refuse("URL: parameter " + std::string(key) + " is yes or no, not '" + *value + "'");
}

void Url::refuse_the_rest() const {
  if (query_.empty()) return;
  refuse("URL: unknown parameter for " + scheme_ + ": " + query_.begin()->first);
}

}  // namespace mortise::base
