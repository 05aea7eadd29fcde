// SPDX-License-Identifier: MIT
// Goal: URLs are split right, refused in words that name the culprit, and keep their secrets.
// Method: one URL at a time.
#include "base/url.hpp"

#include <mortise/error.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mortise::base {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

std::string refusal(std::string_view text) {
  try {
    Url url(text);
    url.refuse_the_rest();
  } catch (const Error& error) {
    EXPECT_EQ(error.errc(), Errc::misconfigured) << text;
    return error.what();
  }
  ADD_FAILURE() << "accepted: " << text;
  return "";
}

TEST(UrlTest, AllParts) {
  Url url("REDIS://us%40er:p%3Aw@a:1,[::1]:2/data%20base?x=1&y=a%26b");
  EXPECT_EQ(url.scheme(), "redis");
  EXPECT_EQ(url.user(), "us@er");
  EXPECT_EQ(url.password(), "p:w");
  EXPECT_THAT(url.hosts(), ElementsAre("a:1", "[::1]:2"));
  EXPECT_EQ(url.path(), "/data base");
  EXPECT_EQ(url.take("x"), "1");
  EXPECT_EQ(url.take("y"), "a&b");
  EXPECT_EQ(url.take("x"), std::nullopt);
  url.refuse_the_rest();
}

TEST(UrlTest, NoAuthority) {
  const Url memory("memory:shop");
  EXPECT_FALSE(memory.has_authority());
  EXPECT_EQ(memory.path(), "shop");
  const Url file("file:///var/lib");
  EXPECT_TRUE(file.has_authority());
  EXPECT_TRUE(file.hosts().empty());
  EXPECT_EQ(file.path(), "/var/lib");
}

TEST(UrlTest, RefusalsNameTheCulprit) {
  EXPECT_THAT(refusal(""), HasSubstr("the scheme is missing"));
  EXPECT_THAT(refusal("/just/a/path"), HasSubstr("the scheme is missing"));
  EXPECT_THAT(refusal("x://h/%zz"), HasSubstr("percent escape in the path"));
  EXPECT_THAT(refusal("x://h/%4"), HasSubstr("percent escape in the path"));
  EXPECT_THAT(refusal("x://h/a%00b"), HasSubstr("NUL byte in the path"));
  EXPECT_THAT(refusal("x://h/\n"), HasSubstr("control character"));
  EXPECT_THAT(refusal("x://a,,b/"), HasSubstr("empty host"));
  EXPECT_THAT(refusal("x://h/#frag"), HasSubstr("fragment"));
  EXPECT_THAT(refusal("x://h/?color=red"),
              HasSubstr("unknown parameter; this store has no parameters"));
  EXPECT_THAT(refusal("x://h/?color"), HasSubstr("no '='"));
  EXPECT_THAT(refusal("x://h/?a=1&a=2"), HasSubstr("given twice"));
}

TEST(UrlTest, FlagsAreYesOrNo) {
  Url url("x:?a=yes&b=no&c=1");
  EXPECT_TRUE(url.take_flag("a", false));
  EXPECT_FALSE(url.take_flag("b", true));
  EXPECT_TRUE(url.take_flag("absent", true));
  EXPECT_THROW(static_cast<void>(url.take_flag("c", true)), Error);
}

TEST(UrlTest, ListsTheParametersThatWereAskedFor) {
  Url url("x://h?b=1&colour=red");
  EXPECT_EQ(url.take("b"), "1");
  EXPECT_EQ(url.take("a"), std::nullopt);
  try {
    url.refuse_the_rest();
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("the parameters of this store are a, b"));
  }
}

TEST(UrlTest, RefusesAnAtBehindTheHost) {
  for (const char* const text : {"x://u:1/2@h", "x://u:1?2@h", "x://u:1?a=2@h", "x://u:p@h/a@b"}) {
    EXPECT_THAT(refusal(text), HasSubstr("%40")) << text;
  }
  EXPECT_EQ(Url("x:///a@b").path(), "/a@b");
  EXPECT_EQ(Url("x:a@b").path(), "a@b");
  EXPECT_EQ(Url("x://u:p@h/a%40b").path(), "/a@b");
}

TEST(UrlTest, PasswordsNeverAppearInMessages) {
  EXPECT_THAT(refusal("x://user:sec%zzret@h/"), Not(HasSubstr("sec")));
  EXPECT_THAT(refusal("x://user:secret@h/?bad=1"), Not(HasSubstr("secret")));
  EXPECT_THAT(refusal("x://user:secret@a,,b/"), Not(HasSubstr("secret")));
  EXPECT_THAT(refusal("x://user:sec\nret@h/"), Not(HasSubstr("ret")));
}

}  // namespace
}  // namespace mortise::base
