// SPDX-License-Identifier: MIT
// Where a password may come from, and what it must not be.
#include "remote/credentials.hpp"

#include <mortise/error.hpp>

#include <cstddef>
#include <cstdlib>
#include <fstream>
#include <utility>

namespace mortise::remote {
namespace {

constexpr std::size_t longest_password = 4096;

[[noreturn]] void refuse_credentials(const std::string& words) {
  throw LockError(Failure(Errc::misconfigured, words));
}

Credentials with_parameters(base::Url& url, const std::string& before, Credentials credentials) {
  int sources = credentials.password ? 1 : 0;
  if (const auto file = url.take(before + "password-file")) {
    // Or it would mean no password at all.
    if (file->empty()) refuse_credentials("URL: " + before + "password-file names no file");
    credentials.password_file = *file;
    ++sources;
  }
  if (const auto variable = url.take(before + "password-env")) {
    const char* const value = std::getenv(variable->c_str());
    if (value == nullptr) {
      refuse_credentials("URL: " + before + "password-env: no environment variable " + *variable);
    }
    credentials.password = value;
    ++sources;
  }
  if (sources > 1) refuse_credentials("URL: the password is given more than once");
  return credentials;
}

}  // namespace

Credentials Credentials::of(base::Url& url) {
  return with_parameters(url, {}, {.user = url.user(), .password = url.password()});
}

Credentials Credentials::of(base::Url& url, const std::string& before) {
  Credentials credentials;
  if (const auto user = url.take(before + "user")) credentials.user = *user;
  return with_parameters(url, before, std::move(credentials));
}

std::optional<std::string> Credentials::current() const {
  if (password_file.empty()) return password;
  std::ifstream file(password_file, std::ios::binary);
  std::string text;
  // Bounded, since the path may lead to anything.
  for (char c = 0; text.size() <= longest_password && file.get(c);) text += c;
  const std::string which = "password-file " + password_file;
  if (text.size() > longest_password) refuse_credentials(which + " is too long");
  if (!file.eof()) refuse_credentials(which + " cannot be read");
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
  if (text.empty()) refuse_credentials(which + " is empty");
  return text;
}

}  // namespace mortise::remote
