// SPDX-License-Identifier: MIT
// Goal: no message repeats a part of a URL that may be a secret, however the URL is mistyped.
// Method: a canary at each place of malformed URLs of every scheme; then valid URLs whose
// punctuation is changed at random, from a seed that is printed.
#include <mortise/guard.hpp>
#include <mortise/mortise.hpp>

#include "model/seed.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cstddef>
#include <iterator>
#include <random>
#include <string>
#include <string_view>

namespace mortise {
namespace {

// Letters and digits only, so that it fits everywhere; in both cases, since schemes are lowered.
const std::string canary = "CaNaRy7x";

std::string lowered(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

bool sings(std::string_view words) {
  // Half of it would do for a thief.
  const std::string all = lowered(std::string(words));
  return all.find(lowered(canary.substr(0, 5))) != std::string::npos ||
         all.find(lowered(canary.substr(3))) != std::string::npos;
}

std::string filled(std::string_view pattern, std::string_view scheme, std::string_view secret) {
  std::string text;
  for (const char c : pattern) {
    if (c == 'S') {
      text += scheme;
    } else if (c == '$') {
      text += secret;
    } else {
      text += c;
    }
  }
  return text;
}

/// @return what the refusal says; nothing = the URL was opened, and no word was said
std::string refusal(const std::string& url) {
  try {
    const Client client(url);
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

const char* const schemes[] = {"memory",          "file",          "redis",
                               "rediss",          "redis+unix",    "redis+sentinel",
                               "rediss+sentinel", "redis+cluster", "rediss+cluster",
                               "redlock",         "redlocks",      "redlock+unix",
                               "zookeeper",       "zookeeper+tls", "postgresql",
                               "postgres",        "mysql",         "",
                               "nonsense+tls"};

// 'S' is the scheme and '$' the secret; each is refused by every scheme or says nothing of it.
const char* const patterns[] = {"S://shop:$",
                                "S://shop:$/0",
                                "S://shop:$,b:1,c:2",
                                "S://a:1,shop:$,c:2/m",
                                "S://:$",
                                "S://shop:$:6379",
                                "S://[shop:$]",
                                "S://[shop:$]:1/m",
                                "S://[$",
                                "S://[::1]$/m",
                                "S://shop:$@h:0/m",
                                "S://shop:$@h:x",
                                "S://shop:$@h,,i/m",
                                "S://shop:$@/m?nonsense=1",
                                "S://shop:$@h/m?$",
                                "S://shop:$@h/m?$=1",
                                "S://shop:$@h/m?=$",
                                "S://shop:$@h/m?x=$&x=$",
                                "S://shop:$@h/m?nonsense=$",
                                "S://h/m?password=$&$",
                                "S://h/m?fair=$",
                                "S://h/m?db=$",
                                "S://h/m?mortise.fair=$",
                                "S://h/m?mortise.$=1",
                                "S://h/m?mortise.$",
                                "S://h/m?mortise.connections=$",
                                "S://h/m?mortise.schema=$-",
                                "S://h/m?service=$",
                                "S://h/m?sslmode=$",
                                "S://h/m?sslmode=:$",
                                "S://h/m?target_session_attrs=$",
                                "S://h/m?channel_binding=$",
                                "S://h/m?gssencmode=$",
                                "S://h/m?require_auth=$",
                                "S://h/m?ssl_min_protocol_version=$",
                                "S://h/m?ssl_max_protocol_version=$",
                                "S://h/m?load_balance_hosts=$",
                                "S://h/m?sslnegotiation=$",
                                "S://h/m?replication=$",
                                "S://h/m?connect_timeout=$",
                                "S://h/m?port=$",
                                "S://h/m?hostaddr=$",
                                "S:///m?host=h:$",
                                "S://h/m?session=$",
                                "S://h/m?acl=$",
                                "S://h/m?interop=$",
                                "S://h/m?replicas=$",
                                "S://h/m?remember=$",
                                "S://h/m?eviction=$",
                                "S://h/m?verify=$",
                                "S://h/m?create=$",
                                "S://shop@h/m?password-env=$",
                                "S://shop@h/m?sentinel-password-env=$",
                                "S://shop:pa/$@h/m",
                                "S://shop:12/$@h/m",
                                "S://shop:pa?$@h/m",
                                "S://shop:12?$@h/m",
                                "S://shop:12?$=1@h/m",
                                "S://shop:12?prefix=$@h/m",
                                "S://shop:12/3?prefix=$@h/m",
                                "S://shop:p@1/$@h/m",
                                "S://shop:p@1?$@h/m",
                                "S://$:12/3@h/m",
                                "S://shop:pa#$@h/m",
                                "S://h/m#$",
                                "S://shop:%zz$@h/m",
                                "S://shop:$%zz@h/m",
                                "S://shop:$%@h",
                                "S://h/%zz$",
                                "S://h/m?prefix=%zz$",
                                "S://h/m?%zz$=1",
                                "S://shop:$\n@h/m",
                                "S://shop:\x1b$@h",
                                "S://shop:$ @h",
                                "S:shop:$@h/m",
                                "S:/shop:$@h/m",
                                "S:$",
                                "S//shop:$@h",
                                "$:shop@h",
                                "$://h",
                                "shop:$@h",
                                "shop:$@h:6379/0",
                                "$",
                                "//shop:$@h",
                                "$@h:6379",
                                "h:6379/$",
                                "S://h/$/$/$",
                                "S://shop:$@h:1:2:3/m"};

TEST(UrlSecrets, AreInNoRefusal) {
  for (const char* const scheme : schemes) {
    for (const char* const pattern : patterns) {
      const std::string url = filled(pattern, scheme, canary);
      if (url.starts_with("file:/shop:")) continue;  // a directory of that name
      EXPECT_FALSE(sings(refusal(url))) << url << "\n" << refusal(url);
    }
  }
}

TEST(UrlSecrets, AreRefusedWhereTheyWouldBecomeAHostAPathOrADatabase) {
  for (const char* const scheme : {"redis", "rediss", "redis+sentinel", "redis+cluster", "redlock",
                                   "zookeeper", "zookeeper+tls", "postgresql"}) {
    for (const char* const pattern : {"S://shop:$", "S://shop:$:6379", "S://[shop:$]",
                                      "S://shop:12/$@h", "S://shop:pa/$@h", "S://shop:p@1/$@h"}) {
      EXPECT_NE(refusal(filled(pattern, scheme, canary)), "") << filled(pattern, scheme, canary);
    }
  }
}

/// Valid URLs; what is in place of '$' is a secret in them.
const char* const valid[] = {
    "redis://shop:$@h:6379/0?prefix=p:&fair=no",
    "rediss://shop:$@h:6379/0?verify=no&server-name=db",
    "redis+unix://shop:$@/run/redis.sock?db=2",
    "redis+sentinel://shop:$@a:1,[::1]:2/master/2?sentinel-user=u&sentinel-password-env=HOME",
    "redis+cluster://shop:$@a:1,b:2?remember=60",
    "redlock://shop:$@a:1,b:2,c:3/0?prefix=p",
    "zookeeper://shop:$@a:1,b:2/locks/shop?session=10s&margin=500ms",
    "postgresql://shop:$@a:1,b:2/orders?mortise.fair=yes&sslmode=disable",
    "file:///var/lib/locks?flush=yes",
    "memory:shop"};

TEST(UrlSecrets, AreInNoRefusalOfARandomMistake) {
  std::mt19937_64 random(model::test_seed());
  const std::string marks = ":/@?#&=,[]%+. \n-0";
  const auto below = [&](std::size_t limit) { return random() % limit; };
  for (int round = 0; round < 10'000; ++round) {
    std::string url = valid[below(std::size(valid))];
    for (std::size_t changes = 1 + below(3); changes > 0; --changes) {
      const std::size_t at = below(url.size());
      switch (below(3)) {
        case 0: url.erase(at, 1); break;
        case 1: url.insert(at, 1, marks[below(marks.size())]); break;
        default: url[at] = marks[below(marks.size())]; break;
      }
      if (url.empty()) url = ":";
    }
    // A directory is named in messages, so nobody would take it for a secret.
    if (!url.starts_with("file") && below(4) == 0) url.insert(below(url.size()), 1, '$');
    const std::string text = filled(url, "S", canary);
    ASSERT_FALSE(sings(refusal(text))) << text;
  }
}

TEST(UrlSecrets, AreInNoReasonOfACallEither) {
  using namespace std::chrono_literals;
  for (const char* const pattern :
       {"redis://shop:$@127.0.0.1:1/3", "redis+sentinel://shop:$@127.0.0.1:1/m",
        "redis+cluster://shop:$@127.0.0.1:1", "redlock://shop:$@127.0.0.1:1,127.0.0.1:2,[::1]:1",
        "zookeeper://shop:$@127.0.0.1:1/locks", "postgresql://shop:$@127.0.0.1:1/orders",
        "redis://shop@127.0.0.1:1?password-file=$",
        "zookeeper://shop@127.0.0.1:1?password-file=$"}) {
    Client client(filled(pattern, "S", canary));
    std::error_code ec;
    Lock lock = client.make_lock("a");
    const Guard guard(lock, {.wait = 50ms}, ec);
    EXPECT_TRUE(ec) << pattern;
    EXPECT_FALSE(sings(guard.error_text())) << pattern << "\n" << guard.error_text();
  }
}

}  // namespace
}  // namespace mortise
