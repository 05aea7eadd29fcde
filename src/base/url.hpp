// SPDX-License-Identifier: MIT
// Splits a backend's URL and hands out its parameters; whatever is not asked for is an error. The
// user part never appears in a message.
#pragma once

#include <mortise/error.hpp>

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mortise::base {

/// `scheme:[//[user[:password]@]host[,host...]][/path][?key=value&...]`, percent-decoded.
/// @throws LockError (`misconfigured`) that names the part that is wrong, without credentials
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

  /// Takes a parameter out of the URL. @return its value, or nothing.
  [[nodiscard]] std::optional<std::string> take(std::string_view key);
  /// The same for `yes` and `no`.
  [[nodiscard]] bool take_flag(std::string_view key, bool otherwise);
  /// To be called last: refuses parameters that nobody took, by name.
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
};

/// @return the scheme of a URL without looking further: "redis" of "redis://...".
/// @throws LockError (`misconfigured`)
[[nodiscard]] std::string url_scheme(std::string_view text);

/// @throws LockError (`misconfigured`) where a byte of the text is a control character
void refuse_control_characters(std::string_view text);

/// Throws what refused a URL on, without repeating a word of it that may be a piece of a password
/// whose '/' or '?' nobody escaped.
[[noreturn]] void refuse_without_password(std::string_view url, const LockError& error);

}  // namespace mortise::base
