// SPDX-License-Identifier: MIT
// Splits a backend's URL and hands out its parameters; whatever is not asked for is an error.
//
// What a message may quote of a URL is decided here, for every backend: nothing. Any part of a URL
// that was not understood may be a piece of a password whose '/', '?' or '@' was not escaped. So a
// refusal is made of literals of the source code; it names the parameter and what is accepted.
// After a URL was understood, messages name the servers and paths that it leads to.
#pragma once

#include <mortise/error.hpp>

#include "base/literal.hpp"

#include <initializer_list>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace mortise::base {

/// Refuses a URL. The words are joined; each stands in the source code.
/// @throws Error always
[[noreturn]] void refuse_url(std::initializer_list<Literal> words, Errc as = Errc::misconfigured);
[[noreturn]] void refuse_url(Literal words, Errc as = Errc::misconfigured);

/// `scheme:[//[user[:password]@]host[,host...]][/path][?key=value&...]`, percent-decoded.
/// Behind a host an '@' must be escaped, since it may end a password that has a '/' or a '?'.
/// @throws Error (`misconfigured`) that names the part that is wrong
class Url {
 public:
  explicit Url(std::string_view text);

  [[nodiscard]] const std::string& scheme() const noexcept { return scheme_; }
  [[nodiscard]] bool has_authority() const noexcept { return has_authority_; }
  [[nodiscard]] const std::string& user() const noexcept { return user_; }
  [[nodiscard]] const std::optional<std::string>& password() const noexcept { return password_; }
  /// Hosts as written, with their ports ("a:1", "[::1]:2").
  [[nodiscard]] const std::vector<std::string>& hosts() const noexcept { return hosts_; }
  /// What follows the authority, or the scheme where there is none.
  [[nodiscard]] const std::string& path() const noexcept { return path_; }

  /// @return whether a parameter is there that nobody has taken.
  [[nodiscard]] bool has(std::string_view key) const { return query_.contains(key); }
  /// Takes a parameter out of the URL. @return its value, or nothing.
  [[nodiscard]] std::optional<std::string> take(std::string_view key);
  /// The same for `yes` and `no`.
  [[nodiscard]] bool take_flag(Literal key, bool otherwise);
  /// To be called last: refuses parameters that were not taken. The message lists those that the
  /// backend has asked for.
  void refuse_the_rest() const;

 private:
  void parse_authority(std::string_view text);
  void parse_query(std::string_view text);

  std::string scheme_;
  bool has_authority_ = false;
  std::string user_;
  std::optional<std::string> password_;
  std::vector<std::string> hosts_;
  std::string path_;
  std::map<std::string, std::string, std::less<>> query_;
  std::set<std::string, std::less<>> asked_;  // what `take()` was called with: names of our own
};

/// @return the scheme of a URL without looking further: "redis" of "redis://...".
/// @throws Error (`misconfigured`)
[[nodiscard]] std::string url_scheme(std::string_view text);

/// @throws Error (`misconfigured`) where a byte of the text is a control character
void refuse_control_characters(std::string_view text);

/// @throws Error (`misconfigured`) where what follows the host has an '@': a password may end
/// there. @param rest what follows the authority, as written
void refuse_open_password(std::string_view rest);

}  // namespace mortise::base
