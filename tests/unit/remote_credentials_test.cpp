// SPDX-License-Identifier: MIT
// Goal: a password is found where the user has put it, and is in no message. Method: known answers;
// files for passwords that stand in one.
#include <mortise/error.hpp>

#include "model/temporary.hpp"
#include "remote/credentials.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/resource.h>

#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>

namespace mortise::remote {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Credentials credentials_of(std::string_view text) {
  base::Url url(text);
  return Credentials::of(url);
}

TEST(RemoteCredentials, AreThoseOfTheUrl) {
  EXPECT_FALSE(credentials_of("any://h").has_password());
  EXPECT_EQ(credentials_of("any://h").current(), std::nullopt);
  EXPECT_EQ(credentials_of("any://app@h").user, "app");
  EXPECT_FALSE(credentials_of("any://app@h").has_password());
  const Credentials both = credentials_of("any://app:se%40cret@h");
  EXPECT_TRUE(both.has_password());
  EXPECT_EQ(both.current(), "se@cret");
}

TEST(RemoteCredentials, APasswordComesFromOnePlace) {
  ::setenv("MORTISE_TEST_PASSWORD", "secret", 1);
  EXPECT_EQ(credentials_of("any://app@h?password-env=MORTISE_TEST_PASSWORD").current(), "secret");
  for (const char* const wrong :
       {"any://app:secret@h?password-file=/x", "any://app:secret@h?password-env=PATH",
        "any://app@h?password-file=/x&password-env=PATH",
        "any://app@h?password-file=", "any://app@h?password-env=MORTISE_NO_SUCH_VARIABLE"}) {
    try {
      static_cast<void>(credentials_of(wrong));
      ADD_FAILURE() << wrong;
    } catch (const Error& error) {
      EXPECT_EQ(error.errc(), Errc::misconfigured);
      EXPECT_THAT(error.what(), Not(HasSubstr("secret")));
    }
  }
}

class RemotePasswordFile : public ::testing::Test {
 protected:
  void write(std::string_view text) {
    std::ofstream(path_, std::ios::binary | std::ios::trunc) << text;
  }
  Credentials credentials() const {
    base::Url url("any://app@h?password-file=" + path_);
    Credentials credentials = Credentials::of(url);
    url.refuse_the_rest();
    return credentials;
  }
  static std::string refused(const Credentials& credentials, Errc as = Errc::misconfigured) {
    try {
      static_cast<void>(credentials.current());
    } catch (const Error& error) {
      EXPECT_EQ(error.errc(), as);
      EXPECT_THAT(error.what(), HasSubstr("the file given by " + credentials.option));
      EXPECT_THAT(error.what(), Not(HasSubstr(credentials.password_file)));
      EXPECT_THAT(error.what(), Not(HasSubstr("secret")));
      return error.what();
    }
    ADD_FAILURE() << "accepted";
    return {};
  }

  const model::TemporaryDirectory directory_;
  const std::string path_ = directory_.file("password");
};

TEST_F(RemotePasswordFile, IsReadAnewAndEndsWithItsLine) {
  const Credentials of_file = credentials();
  EXPECT_EQ(of_file.user, "app");
  for (const std::string_view end : {"", "\n", "\r\n", "\n\n\r\n"}) {
    write("sec ret\t\n!" + std::string(end));
    EXPECT_EQ(of_file.current(), "sec ret\t\n!");
  }
  write("another");
  EXPECT_EQ(of_file.current(), "another");
  write(std::string(4096, 'x'));
  EXPECT_EQ(of_file.current(), std::string(4096, 'x'));
}

TEST_F(RemotePasswordFile, IsRefusedByItsName) {
  const Credentials of_file = credentials();  // not looked at yet
  EXPECT_EQ(
      refused(of_file),
      "the file given by password-file cannot be read: No such file or directory: misconfigured");
  write("");
  EXPECT_THAT(refused(of_file), HasSubstr("empty"));
  write("\r\n\n");
  EXPECT_THAT(refused(of_file), HasSubstr("empty"));
  write("secret" + std::string(4091, 'x'));
  EXPECT_THAT(refused(of_file), HasSubstr("longer than 4096 bytes"));
  EXPECT_THAT(refused({.password_file = "/dev/zero"}), HasSubstr("longer than 4096 bytes"));
  EXPECT_THAT(refused({.password_file = directory_.path()}),
              HasSubstr("cannot be read: Is a directory"));
  base::Url url("any://h?sentinel-password-file=/no/such");
  EXPECT_THAT(refused(Credentials::of(url, "sentinel-")),
              HasSubstr("sentinel-password-file cannot be read: No such file"));
}

// Whoever changes a password may empty the file first, or put another one in its place.
TEST_F(RemotePasswordFile, IsReplacedWhereItWasReadBefore) {
  write("secret");
  const Credentials of_file = credentials();
  const Credentials copy = of_file;
  EXPECT_EQ(of_file.current(), "secret");
  write("");
  EXPECT_THAT(refused(copy, Errc::unavailable), HasSubstr("is empty"));
  ASSERT_EQ(::unlink(path_.c_str()), 0);
  EXPECT_THAT(refused(of_file, Errc::unavailable), HasSubstr("No such file"));
  write("another");
  EXPECT_EQ(copy.current(), "another");
}

// It may be read when this process has closed something: no reason to give up.
TEST_F(RemotePasswordFile, IsAskedForAgainWhereOnlyThisProcessHasNoRoom) {
  write("secret");
  const Credentials of_file = credentials();
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none{.rlim_cur = 0, .rlim_max = before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  const std::string words = refused(of_file, Errc::exhausted);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_THAT(words, HasSubstr("cannot be read: Too many open files"));
  EXPECT_EQ(of_file.current(), "secret");
}

}  // namespace
}  // namespace mortise::remote
