// SPDX-License-Identifier: MIT
// Goal: whoever mistypes a URL is told what to type. Method: what people type, and the words.
#include <mortise/memory.hpp>
#include <mortise/mortise.hpp>

#include "base/schemes.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace mortise {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

struct Refusal {
  Errc code{};
  std::string words{};
};

Refusal refusal(const std::string& url) {
  try {
    const Client client(url);
  } catch (const Error& error) {
    return {error.errc(), error.what()};
  }
  ADD_FAILURE() << "opened: " << url;
  return {};
}

TEST(ClientUrl, OfAnUnknownSchemeNamesWhatIsBuilt) {
  const Refusal refused = refusal("mysql://host");
  EXPECT_EQ(refused.code, Errc::unsupported);
  EXPECT_THAT(refused.words,
              AllOf(Not(HasSubstr("mysql")), HasSubstr("memory"), HasSubstr("file"),
                    HasSubstr("redlock"), HasSubstr("zookeeper+tls"), HasSubstr("postgresql")));
  EXPECT_THAT(refused.words, AllOf(HasSubstr("redis+sentinel"), HasSubstr("redis+cluster")));
}

TEST(ClientUrl, OfABackendThatIsNotInTheBuildNamesTheOption) {
  const base::Scheme known[] = {
      {.name = "memory", .open = &memory::backend},
      {.name = "redis", .open = nullptr, .option = "MORTISE_WITH_REDIS"},
  };
  try {
    static_cast<void>(base::scheme_of("redis://h", known));
    FAIL() << "it was found";
  } catch (const Error& error) {
    EXPECT_EQ(error.errc(), Errc::unsupported);
    EXPECT_THAT(error.what(), HasSubstr("MORTISE_WITH_REDIS=ON"));
  }
  EXPECT_EQ(base::scheme_of("memory:", known).name, "memory");
}

TEST(ClientUrl, WithoutASchemeSaysWhichIsMeant) {
  const struct {
    const char* url;
    const char* meant;
  } cases[] = {{"127.0.0.1:6379", "redis://"},
               {"localhost:6380/1", "redis://"},
               {"db.example:5432", "postgresql://"},
               {"zk1:2181", "zookeeper://"},
               {"zk1:2281", "zookeeper+tls://"}};
  for (const auto& each : cases) {
    const Refusal refused = refusal(each.url);
    EXPECT_EQ(refused.code, Errc::misconfigured) << each.url;
    EXPECT_THAT(refused.words, HasSubstr(std::string("did you mean ") + each.meant)) << each.url;
  }
}

TEST(ClientUrl, QuotesNoPassword) {
  for (const char* const url : {"user:123/4@host:6379", "user:1234?password=567@host"}) {
    EXPECT_THAT(refusal(url).words, AllOf(Not(HasSubstr("123")), Not(HasSubstr("567")))) << url;
  }
}

}  // namespace
}  // namespace mortise
