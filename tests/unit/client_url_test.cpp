// SPDX-License-Identifier: MIT
// Goal: whoever mistypes a URL is told what to type. Method: what people type, and the words.
#include <mortise/memory.hpp>
#include <mortise/mortise.hpp>

#include "base/schemes.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <optional>
#include <string>
#include <system_error>

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

TEST(ClientOpen, WithoutExceptionsReturnsAClientOrTheReason) {
  std::error_code ec = Errc::protocol;
  std::optional<Client> client = Client::open("memory:", ec);
  ASSERT_TRUE(client);
  EXPECT_FALSE(ec);
  client->check();
  EXPECT_FALSE(Client::open("memory:", {.give_up = std::chrono::seconds(-1)}, ec));
  EXPECT_EQ(ec, Errc::misconfigured);
  Failure failure;
  EXPECT_FALSE(Client::open("redis://shop:hunter2@host:port", {}, failure));
  EXPECT_EQ(failure.code, Errc::misconfigured);
  EXPECT_THAT(failure.words(), AllOf(HasSubstr("port"), Not(HasSubstr("hunter2"))));
  EXPECT_TRUE(Client::open("memory:", {}, failure));
  EXPECT_FALSE(failure) << "a failure from before";
}

/// Sets the variable, and restores it at the end of the scope.
class UrlInEnvironment {
 public:
  explicit UrlInEnvironment(const char* value) {
    if (const char* const before = std::getenv(name); before != nullptr) before_ = before;
    value == nullptr ? ::unsetenv(name) : ::setenv(name, value, 1);
  }
  ~UrlInEnvironment() { before_ ? ::setenv(name, before_->c_str(), 1) : ::unsetenv(name); }
  UrlInEnvironment(const UrlInEnvironment&) = delete;
  UrlInEnvironment& operator=(const UrlInEnvironment&) = delete;

 private:
  static constexpr const char* name = "MORTISE_URL";
  std::optional<std::string> before_;
};

TEST(ClientOpen, FromTheEnvironmentNamesTheVariableThatIsMissing) {
  {
    const UrlInEnvironment set("memory:environment");
    Client client = Client::from_env();
    Client same("memory:environment");
    const Guard guard(client, "a");
    EXPECT_FALSE(Guard(same, "a", {.wait = std::chrono::seconds(0), .owner = Owner::unique()}))
        << "another store";
  }
  for (const char* const value : {static_cast<const char*>(nullptr), "", "hunter2@host"}) {
    const UrlInEnvironment set(value);
    try {
      static_cast<void>(Client::from_env());
      ADD_FAILURE() << (value == nullptr ? "not set" : value);
    } catch (const Error& error) {
      EXPECT_TRUE(error.errc() == Errc::misconfigured || error.errc() == Errc::unsupported);
      EXPECT_THAT(error.what(), Not(HasSubstr("hunter2")));
      if (value == nullptr) {
        EXPECT_THAT(error.what(), HasSubstr("MORTISE_URL is not set"));
      }
      if (value != nullptr && *value == 0) {
        EXPECT_THAT(error.what(), HasSubstr("MORTISE_URL is empty"));
      }
    }
  }
}

}  // namespace
}  // namespace mortise
