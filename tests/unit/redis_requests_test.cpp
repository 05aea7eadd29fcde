// SPDX-License-Identifier: MIT
// Goal: each request is the command that its script expects: keys, arguments and flags, in every
// mode. Method: known answers; the bytes are read back into words by the reader of replies.
#include <mortise/listing_operation.hpp>

#include "redis/answer.hpp"
#include "redis/hearing.hpp"
#include "redis/lock_key.hpp"
#include "redis/reply.hpp"
#include "redis/requests.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace mortise::redis {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using Words = std::vector<std::string>;

constexpr AttemptId attempt{1, 2, 0x1f};
constexpr AttemptId next_attempt{1, 2, 0x20};
const std::string client = "AAAAAQAAAAAAAAAC";

Settings settings_of(QueueMode turns) {
  Settings settings;
  settings.queue_mode = turns;
  settings.prefix = "m:";
  return settings;
}

Acquisition::Request request_of(const AttemptId& id, std::string name, std::string label) {
  return {.attempt = id, .name = std::move(name), .lease = 30s, .label = std::move(label)};
}

// The words of what a call appends, which must be exactly one command.
template <class Callable>
Words words_of(const Callable& call) {
  std::string bytes = "before";
  call(bytes);
  EXPECT_TRUE(bytes.starts_with("before*"));
  bytes.erase(0, 6);
  ReplyReader reader({.bytes = std::size_t{1} << 20U});
  reader.feed({bytes.data(), bytes.size()});
  Reply reply;
  EXPECT_EQ(reader.next(reply), ReplyReader::Next::reply);
  Words words;
  for (const Reply& item : reply.items) {
    EXPECT_EQ(item.kind, Reply::Kind::string);
    words.push_back(item.text);
  }
  Reply none;
  EXPECT_EQ(reader.next(none), ReplyReader::Next::more);
  return words;
}

class RedisRequestsTest : public ::testing::Test {
 protected:
  Words acquire(const Passage& passage, const Acquisition::Request& request, bool wait) const {
    return words_of([&](auto& out) { requests_.acquire(out, passage, request, wait); });
  }
  Words release(const Passage& passage, const Acquisition::Request* next, bool wait,
                bool copies) const {
    const HoldId hold{.name = "a", .attempt = attempt, .number = 1'700'000'000'000'000};
    return words_of([&](auto& out) { requests_.release(out, passage, hold, next, wait, copies); });
  }

  const Settings settings_ = settings_of(QueueMode::fair);
  const Requests requests_{settings_};
  const Settings unfair_settings_ = settings_of(QueueMode::unfair);
  const Requests unfair_{unfair_settings_};
  const Settings with_java_settings_ = settings_of(QueueMode::redisson);
  const Requests with_java_{with_java_settings_};
};

TEST_F(RedisRequestsTest, Acquire) {
  const auto request = request_of(attempt, "a{b", "host:1 \xff");
  const std::string sha(scripts::acquire.sha);
  EXPECT_THAT(acquire({}, request, false),
              ElementsAre("EVALSHA", sha, "1", "m:{a%7Bb}", client + "f", "f00", "1", "30000",
                          "host:1 \xff"));
  const Passage again{.epoch = 18'446'744'073'709'551'615U, .copies = true};
  EXPECT_THAT(acquire(again, request, true),
              ElementsAre("EVALSHA", sha, "1", "m:{a%7Bb}", client + "f", "f11",
                          "18446744073709551615", "30000", "host:1 \xff"));
  EXPECT_EQ(acquire({.copies = true}, request, false)[5], "f10");
  EXPECT_EQ(acquire({}, request, true)[5], "f01");
  Acquisition::Request odd = request_of(attempt, "a", "");
  odd.lease = 24h;
  EXPECT_EQ(acquire({}, odd, true)[7], "86400000");
  odd.lease = 100'999'999ns;
  EXPECT_EQ(acquire({}, odd, true)[7], "100");  // never longer than we count it
  EXPECT_EQ(acquire({}, odd, true)[8], "");
}

TEST_F(RedisRequestsTest, AScriptThatIsNotKnownIsSentWhole) {
  const Words words = acquire({.whole = true}, request_of(attempt, "a", "x"), true);
  ASSERT_EQ(words.size(), 9U);
  EXPECT_EQ(words[0], "EVAL");
  EXPECT_EQ(words[1], scripts::acquire.text);
  EXPECT_EQ(words[2], "1");
}

TEST_F(RedisRequestsTest, Cancel) {
  const auto request = request_of(attempt, "a", "x");
  const std::string sha(scripts::cancel.sha);
  EXPECT_THAT(words_of([&](auto& out) { requests_.cancel(out, {.epoch = 7}, request); }),
              ElementsAre("EVALSHA", sha, "1", "m:{a}", client + "f", "f0", "7"));
  EXPECT_THAT(words_of([&](auto& out) { unfair_.cancel(out, {.copies = true}, request); }),
              ElementsAre("EVALSHA", sha, "1", "m:{a}", client + "f", "u1", "1"));
}

TEST_F(RedisRequestsTest, Release) {
  const std::string sha(scripts::release.sha);
  const std::string hold = "6553f10000000 " + client + "f ";
  const auto next = request_of(next_attempt, "a", "me too");
  // Without a successor what is said of it is left out: the quick way asks for "f0".
  EXPECT_THAT(release({.epoch = 3}, nullptr, true, true),
              ElementsAre("EVALSHA", sha, "1", "m:{a}", hold, "f0", "3"));
  EXPECT_EQ(release({.copies = true}, nullptr, false, false)[5], "f1");
  EXPECT_THAT(release({}, &next, true, false),
              ElementsAre("EVALSHA", sha, "1", "m:{a}", hold, "f010", "1", client + "g", "30000",
                          "me too"));
  EXPECT_EQ(release({}, &next, false, true)[5], "f001");
  EXPECT_EQ(release({.copies = true}, &next, true, true)[5], "f111");
}

TEST_F(RedisRequestsTest, Renew) {
  std::vector<Renewal::Item> items;
  for (const char* name : {"a", "b}"}) {
    items.push_back({.hold = {.name = name, .attempt = attempt, .number = 70 + items.size()},
                     .lease = 1s + 500ms * items.size()});
  }
  const std::string sha(scripts::renew.sha);
  EXPECT_THAT(words_of([&](auto& out) { requests_.renew(out, {}, items); }),
              ElementsAre("EVALSHA", sha, "2", "m:{a}", "m:{b%7D}", "", "f",
                          "0000000000046 " + client + "f ", "1000",
                          "0000000000047 " + client + "f ", "1500"));
  EXPECT_THAT(words_of([&](auto& out) { with_java_.renew(out, {}, items); }),
              ElementsAre("EVALSHA", sha, "4", "m:{a}", "a", "m:{b%7D}", "b}", "", "r",
                          "0000000000046 " + client + "f ", "1000",
                          "0000000000047 " + client + "f ", "1500"));
  EXPECT_EQ(words_of([&](auto& out) { requests_.renew(out, {.whole = true}, items); })[1],
            scripts::renew.text);
}

TEST_F(RedisRequestsTest, ManyAreRenewedAtOnce) {
  std::vector<Renewal::Item> items;
  for (std::uint64_t i = 0; i < 128; ++i) {
    items.push_back(
        {.hold = {.name = std::string(512, '%'), .attempt = {i, i, i}, .number = i}, .lease = 24h});
  }
  const Words words = words_of([&](auto& out) { with_java_.renew(out, {}, items); });
  ASSERT_EQ(words.size(), 3 + 2 * 128 + 2 + 2 * 128U);
  EXPECT_EQ(words[2], "256");
  for (std::size_t i = 0; i < 128; ++i) {
    EXPECT_EQ(words[3 + 2 * i], lock_key("m:", items[i].hold.name));
    EXPECT_EQ(words[4 + 2 * i], items[i].hold.name);
    EXPECT_EQ(words[261 + 2 * i], HoldText({i, i, i}, i).view());
    EXPECT_EQ(words[262 + 2 * i], "86400000");
  }
}

TEST_F(RedisRequestsTest, InspectAndForceRelease) {
  EXPECT_THAT(words_of([&](auto& out) { requests_.inspect(out, {}, "a"); }),
              ElementsAre("EVALSHA", std::string(scripts::inspect.sha), "1", "m:{a}", "", "f"));
  EXPECT_THAT(words_of([&](auto& out) { requests_.check(out, {}); }),
              ElementsAre("EVALSHA", std::string(scripts::inspect.sha), "1", "m:{mortise.check}",
                          "", "f", "w"));
  const auto force = [&](const std::string& mark) {
    const FoundHold found{.hold = {.name = "a", .number = 7}, .mark = mark};
    return words_of([&](auto& out) { unfair_.force_release(out, {.whole = true}, found); });
  };
  const std::string text(scripts::force_release.text);
  EXPECT_THAT(force(""), ElementsAre("EVAL", text, "1", "m:{a}", "", "u", "7", "1"));
  EXPECT_THAT(force("-6 u:1"), ElementsAre("EVAL", text, "1", "m:{a}", "", "u", "-6 u:1", "1"))
      << "Redisson's";
}

TEST_F(RedisRequestsTest, WhatIsAskedOfASemaphoreOrAKeyIsAskedOfItsOwnRedisKey) {
  const auto queue = [](const Requests& requests, Mode mode) {
    return words_of([&](auto& out) { requests.waiters(out, {}, QueueLook("a", 9, mode)); });
  };
  const std::string of_locks(scripts::waiters.sha);
  const std::string of_keys(scripts::once::waiters.sha);
  EXPECT_THAT(queue(requests_, Mode::shared),
              ElementsAre("EVALSHA", of_locks, "1", "m:{a}", "", "f", "9"));
  EXPECT_THAT(queue(requests_, Mode::permit),
              ElementsAre("EVALSHA", of_locks, "1", "m:{a}#", "", "f", "9"));
  EXPECT_THAT(queue(requests_, Mode::once),
              ElementsAre("EVALSHA", of_keys, "1", "m:{a}!", "", "f", "9"));
  EXPECT_THAT(queue(with_java_, Mode::exclusive),
              ElementsAre("EVALSHA", of_locks, "2", "m:{a}", "a", "", "r", "9"));
  EXPECT_THAT(queue(with_java_, Mode::permit),
              ElementsAre("EVALSHA", of_locks, "1", "m:{a}#", "", "f", "9"))
      << "Redisson knows of none";
  const QueueLook meant("a", 9, Mode::once, token_of(7));
  EXPECT_THAT(
      words_of([&](auto& out) { requests_.waiters(out, {}, meant); }),
      ElementsAre("EVALSHA", std::string(scripts::once::inspect.sha), "1", "m:{a}!", "", "f", "7"));
  EXPECT_THAT(
      words_of([&](auto& out) {
        requests_.force_release(out, {}, {.hold = {.name = "a", .number = 7, .mode = Mode::once}});
      }),
      ElementsAre("EVALSHA", std::string(scripts::once::force_release.sha), "1", "m:{a}!", "", "f",
                  "7", "1"));
  const Listing page("b", "", 20, Mode::once);
  EXPECT_THAT(
      words_of([&](auto& out) { with_java_.list(out, {}, page, ""); }),
      ElementsAre("EVALSHA", std::string(scripts::list.sha), "0", "0", "f", "m:{b*}!", "20", "2"));
}

TEST_F(RedisRequestsTest, WithRedissonTheNameIsASecondKey) {
  const auto request = request_of(attempt, "a b", "x");
  const Words words = words_of([&](auto& out) { with_java_.acquire(out, {}, request, true); });
  EXPECT_THAT(words, ElementsAre("EVALSHA", std::string(scripts::acquire.sha), "2", "m:{a b}",
                                 "a b", client + "f", "r01", "1", "30000", "x"));
  EXPECT_EQ(words_of([&](auto& out) { with_java_.inspect(out, {}, "a"); })[4], "a");
  EXPECT_EQ(redisson_channel("a b"), "redisson_lock__channel:{a b}");
  EXPECT_FALSE(with_java_.check_name("a b%"));
  for (const char* name : {"{", "a}", "{a}"}) {
    EXPECT_EQ(with_java_.check_name(name).code, make_error_code(Errc::misconfigured)) << name;
    EXPECT_FALSE(requests_.check_name(name));
    EXPECT_FALSE(unfair_.check_name(name));
  }
}

TEST_F(RedisRequestsTest, OfKeys) {
  Acquisition::Request request = request_of(attempt, "a{", "host:1");
  request.mode = Mode::once;
  request.memory = std::make_shared<Memory>(
      Memory{.fingerprint = std::string("\0 7", 3), .repeat = Repeat::never, .keep = 24h});
  const std::string asked = std::string("n86400000 3 \0 7host:1", 21);
  EXPECT_THAT(words_of([&](auto& out) { requests_.begin(out, {}, request, true, 0); }),
              ElementsAre("EVALSHA", std::string(scripts::once::begin.sha), "1", "m:{a%7B}!",
                          client + "f", "f01", "1", "30000", asked));
  const Words again = words_of(
      [&](auto& out) { with_java_.begin(out, {.epoch = 2, .copies = true}, request, false, 77); });
  EXPECT_THAT(again, ElementsAre("EVALSHA", std::string(scripts::once::begin.sha), "1", "m:{a%7B}!",
                                 client + "f", "f10", "2", "30000", asked, "77"));
  for (const auto& [repeat, letter] :
       {std::pair{Repeat::after_failure, 'f'}, std::pair{Repeat::always, 'a'}}) {
    request.memory = std::make_shared<Memory>(Memory{.repeat = repeat, .keep = 1s});
    EXPECT_EQ(words_of([&](auto& out) { requests_.begin(out, {}, request, true, 0); })[8],
              letter + std::string("1000 0 host:1"));
  }
  EXPECT_THAT(words_of([&](auto& out) { unfair_.cancel(out, {.copies = true}, request); }),
              ElementsAre("EVALSHA", std::string(scripts::once::cancel.sha), "1", "m:{a%7B}!",
                          client + "f", "u1", "1"));
}

TEST_F(RedisRequestsTest, ThatEndARun) {
  const HoldId hold{
      .name = "a", .attempt = attempt, .number = 1'700'000'000'000'000, .mode = Mode::once};
  const std::string sha(scripts::once::conclude.sha);
  const std::string whose = "6553f10000000 " + client + "f ";
  Conclusion conclusion{.bytes = std::string("\0 x", 3),
                        .run = 1,
                        .memory = std::make_shared<Memory>(Memory{.keep = 2s})};
  EXPECT_THAT(words_of([&](auto& out) { requests_.conclude(out, {}, hold, &conclusion); }),
              ElementsAre("EVALSHA", sha, "1", "m:{a}!", whose, "f0Y", "1", "2000",
                          std::string("\0 x", 3)));
  conclusion.state = KeyState::failed;
  conclusion.bytes.clear();
  EXPECT_THAT(words_of([&](auto& out) {
                with_java_.conclude(out, {.epoch = 2, .copies = true}, hold, &conclusion);
              }),
              ElementsAre("EVALSHA", sha, "1", "m:{a}!", whose, "f1F", "2", "2000", ""));
  EXPECT_THAT(words_of([&](auto& out) { unfair_.conclude(out, {}, hold, nullptr); }),
              ElementsAre("EVALSHA", sha, "1", "m:{a}!", whose, "u0", "1"));
}

TEST_F(RedisRequestsTest, ThatLookAtAKeyAndForgetIt) {
  const std::string sha(scripts::once::recall.sha);
  EXPECT_THAT(words_of([&](auto& out) { with_java_.recall(out, {}, "a", nullptr); }),
              ElementsAre("EVALSHA", sha, "1", "m:{a}!", "", "f"));
  const Answer found = Answer::parse("D 1 Y 1 77 0 0 ").value();
  EXPECT_THAT(words_of([&](auto& out) { requests_.recall(out, {}, "a", &found); }),
              ElementsAre("EVALSHA", sha, "1", "m:{a}!", "", "f", "77"));
}

TEST_F(RedisRequestsTest, KeysAreRenewedWithLocks) {
  std::vector<Renewal::Item> items(2);
  items[0] = {.hold = {.name = "a", .attempt = attempt, .number = 70}, .lease = 1s};
  items[1] = items[0];
  items[1].hold.mode = Mode::once;
  Words words = words_of([&](auto& out) { requests_.renew(out, {}, items); });
  EXPECT_EQ(Words(words.begin() + 3, words.begin() + 5), (Words{"m:{a}", "m:{a}!"}));
  words = words_of([&](auto& out) { with_java_.renew(out, {}, items); });
  EXPECT_EQ(Words(words.begin() + 3, words.begin() + 7), (Words{"m:{a}", "a", "m:{a}!", "m:{a}!"}));
}

TEST_F(RedisRequestsTest, Inboxes) {
  EXPECT_EQ(requests_.inbox(attempt), "m:inbox:" + client);
  EXPECT_EQ(requests_.inbox(next_attempt), requests_.inbox(attempt));
  EXPECT_THAT(words_of([&](auto& out) { requests_.subscribe(out, "c d"); }),
              ElementsAre("SUBSCRIBE", "c d"));
  EXPECT_THAT(words_of([&](auto& out) { requests_.unsubscribe(out, "c d"); }),
              ElementsAre("UNSUBSCRIBE", "c d"));
}

// Behind the flags, where it does not change what each of them means.
TEST_F(RedisRequestsTest, TellHowLongANameIsRememberedWhereThatIsNotAsUsual) {
  Settings settings = settings_of(QueueMode::fair);
  settings.remembered = 600;
  const Requests requests(settings);
  const auto request = request_of(attempt, "a", "");
  const HoldId hold{.name = "a", .attempt = attempt, .number = 1};
  const auto flags = [](const Words& words) { return words.at(5); };
  EXPECT_EQ(flags(words_of([&](auto& out) { requests.acquire(out, {}, request, true); })),
            "f01.600");
  EXPECT_EQ(flags(words_of([&](auto& out) { requests.cancel(out, {}, request); })), "f0.600");
  EXPECT_EQ(
      flags(words_of([&](auto& out) { requests.release(out, {}, hold, nullptr, false, false); })),
      "f0.600");
  EXPECT_EQ(
      flags(words_of([&](auto& out) { requests.release(out, {}, hold, &request, true, false); })),
      "f010.600");
  EXPECT_EQ(flags(words_of([&](auto& out) { requests.inspect(out, {}, "a"); })), "f.600");
  EXPECT_EQ(flags(words_of([&](auto& out) {
              requests.renew(out, {}, {{.hold = hold, .lease = std::chrono::seconds(30)}});
            })),
            "f.600");
}

TEST_F(RedisRequestsTest, TellWhetherTheClientHearsRedissonsChannel) {
  const auto request = request_of(attempt, "a", "");
  const Words words =
      words_of([&](auto& out) { with_java_.acquire(out, {}, request, true, true); });
  EXPECT_EQ(words.at(6), "r011");
}

}  // namespace
}  // namespace mortise::redis
