// SPDX-License-Identifier: MIT
// Where a password may come from, and what it must not be.
#include "remote/credentials.hpp"

#include <mortise/error.hpp>

#include "base/changing_file.hpp"

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <system_error>
#include <utility>

namespace mortise::remote {
namespace {

constexpr std::size_t longest_password = 4096;

[[noreturn]] void refuse_credentials(const std::string& words, Errc as = Errc::misconfigured) {
  throw Error(Failure(as, words));
}

Credentials with_parameters(base::Url& url, const std::string& before, Credentials credentials) {
  int sources = credentials.password ? 1 : 0;
  if (const auto file = url.take(before + "password-file")) {
    // An empty path would otherwise mean "no password".
    if (file->empty()) {
      refuse_credentials("URL: " + before + "password-file is empty; give the path of a file");
    }
    credentials.password_file = *file;
    credentials.option = before + "password-file";
    ++sources;
  }
  if (const auto variable = url.take(before + "password-env")) {
    const char* const value = std::getenv(variable->c_str());
    if (value == nullptr) {
      // Without its name, because that may be the password by mistake.
      refuse_credentials(
          "URL: " + before +
          "password-env names an environment variable that is not set; set it first");
    }
    credentials.password = value;
    ++sources;
  }
  if (sources > 1) {
    refuse_credentials("URL: the password is given more than once; use one of the URL, " + before +
                       "password-file and " + before + "password-env");
  }
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
  const auto refuse_file = [&](const std::string& words, int error = 0) {
    // Without its name, because that may be the password by mistake.
    refuse_credentials("the file given by " + option + words,
                       base::meaning_of_unusable_file(used_before->load(), error));
  };
  const auto refuse_unread = [&](int error) {
    refuse_file(" cannot be read: " + std::generic_category().message(error), error);
  };
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(
      std::fopen(password_file.c_str(), "rbe"), [](std::FILE* f) { return std::fclose(f); });
  if (!file) refuse_unread(errno);
  // Bounded, since the path may lead to anything.
  std::string text(longest_password + 1, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), file.get()));
  if (std::ferror(file.get()) != 0) refuse_unread(errno);
  if (text.size() > longest_password) {
    refuse_file(" is longer than " + std::to_string(longest_password) + " bytes");
  }
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
  if (text.empty()) refuse_file(" is empty");
  used_before->store(true);
  return text;
}

}  // namespace mortise::remote
