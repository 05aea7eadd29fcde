// SPDX-License-Identifier: MIT
// How a client proves who it is: a user and a password, as URLs, files and the environment give
// them. The password never appears in a message.
#pragma once

#include "base/url.hpp"

#include <atomic>
#include <memory>
#include <optional>
#include <string>

namespace mortise::remote {

struct Credentials {
  std::string user{};                     ///< empty: none is named
  std::optional<std::string> password{};  ///< given in the URL, or by an environment variable
  std::string password_file{};            ///< read anew at each use, so that it may change
  std::string option = "password-file";   ///< the parameter that names it
  /// The file was read, by whatever copy of this.
  std::shared_ptr<std::atomic<bool>> used_before = std::make_shared<std::atomic<bool>>(false);

  /// Takes the parameters `password-file` and `password-env`, too.
  /// @throws Error (`misconfigured`) where the password is given more than once, or not found
  [[nodiscard]] static Credentials of(base::Url& url);
  /// Those for other servers than the URL's own: the parameters `<before>user`,
  /// `<before>password-file` and `<before>password-env`; no password stands in the URL itself.
  /// @throws Error (`misconfigured`) likewise
  [[nodiscard]] static Credentials of(base::Url& url, const std::string& before);
  /// @return whether a password is given, wherever it is.
  [[nodiscard]] bool has_password() const noexcept { return password || !password_file.empty(); }
  /// @return the password of now; nothing = none is given
  /// @throws Error that names the parameter and what is wrong with its file, but not the file:
  /// `misconfigured` before the file was read once, `unavailable` later, since somebody replaces
  /// it; `exhausted` where this process has no descriptor or memory left
  [[nodiscard]] std::optional<std::string> current() const;
};

}  // namespace mortise::remote
