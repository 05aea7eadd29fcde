// SPDX-License-Identifier: MIT
// Goal: each request is the command that its script expects: keys, arguments and flags, in every
// mode. Method: known answers; the bytes are read back into words by the reader of replies.
#include <mortise/listing_operation.hpp>

#include "redis/store/answer.hpp"
#include "redis/store/hearing.hpp"
#include "redis/store/lock_key.hpp"
#include "redis/store/reply.hpp"
#include "redis/store/requests.hpp"

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
  Words release(const Passage& passage, const Acquisition::Request* next, bool wait) const {
    const HoldId hold{.name = "a", .attempt = attempt, .number = 1'700'000'000'000'000};
    return words_of([&](auto& out) { requests_.release(out, passage, hold, next, wait); });
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
  EXPECT_THAT(acquire({.deadline = 77us}, request, false),
              ElementsAre("EVALSHA", sha, "1", "m:{a%7Bb}", client + "f", "77", "30000", "3630000",
                          "host:1 \xff", "w fair try"));
  EXPECT_EQ(acquire({}, request, true)[9], "w fair wait");
  EXPECT_EQ(words_of([&](auto& out) { unfair_.acquire(out, {}, request, true); })[9],
            "w unfair wait");
  Acquisition::Request odd = request_of(attempt, "a", "");
  odd.lease = 24h;
  EXPECT_EQ(acquire({}, odd, true)[6], "86400000");
  EXPECT_EQ(acquire({}, odd, true)[7], "90000000");
  odd.lease = 100'999'999ns;
  EXPECT_EQ(acquire({}, odd, true)[6], "100");  // never longer than we count it
  EXPECT_EQ(acquire({}, odd, true)[8], "");
}

TEST_F(RedisRequestsTest, AcquireToReadOrForAPermit) {
  Acquisition::Request request = request_of(attempt, "a", "x");
  request.mode = Mode::shared;
  Words words = acquire({}, request, true);
  ASSERT_EQ(words.size(), 10U);
  EXPECT_EQ(words[9], "r fair wait");
  request.beside = next_attempt;
  words = acquire({}, request, true);
  ASSERT_EQ(words.size(), 11U);
  EXPECT_EQ(words[10], client + "g");
  request.mode = Mode::permit;
  request.permits = 5;
  for (const Requests* const each : {&requests_, &with_java_}) {
    words = words_of([&](auto& out) { each->acquire(out, {}, request, true); });
    ASSERT_EQ(words.size(), 12U);
    EXPECT_EQ(words[3], "m:{a}#");
    EXPECT_EQ(words[9], "r fair wait") << "Redisson knows of none";
    EXPECT_EQ(words[11], "5");
  }
}

TEST_F(RedisRequestsTest, AskForManyWaitersAtOnce) {
  Acquisition::Request reads = request_of(next_attempt, "b", "x");
  reads.mode = Mode::shared;
  Acquisition::Request permit = request_of(next_attempt, "c", "x");
  permit.mode = Mode::permit;
  std::vector<std::shared_ptr<Acquisition>> waiters;
  for (const auto& each : {request_of(attempt, "a", "x"), reads, permit}) {
    waiters.push_back(std::make_shared<Acquisition>(each));
  }
  EXPECT_THAT(words_of([&](auto& out) { requests_.ask(out, {}, waiters); }),
              ElementsAre("EVALSHA", std::string(scripts::ask.sha), "3", "m:{a}", "m:{b}", "m:{c}#",
                          "w" + client + "f", "r" + client + "g", "r" + client + "g"));
}

TEST_F(RedisRequestsTest, AScriptThatIsNotKnownIsSentWhole) {
  const Words words = acquire({.whole = true}, request_of(attempt, "a", "x"), true);
  ASSERT_EQ(words.size(), 10U);
  EXPECT_EQ(words[0], "EVAL");
  EXPECT_EQ(words[1], scripts::acquire.text);
  EXPECT_EQ(words[2], "1");
}

TEST_F(RedisRequestsTest, Cancel) {
  const auto request = request_of(attempt, "a", "x");
  EXPECT_THAT(words_of([&](auto& out) { requests_.cancel(out, {}, request, 7); }),
              ElementsAre("EVALSHA", std::string(scripts::cancel.sha), "1", "m:{a}", client + "f",
                          "3602000", ""));
}

TEST_F(RedisRequestsTest, Release) {
  const std::string sha(scripts::release.sha);
  const auto next = request_of(next_attempt, "a", "me too");
  EXPECT_THAT(release({}, nullptr, true), ElementsAre("EVALSHA", sha, "1", "m:{a}", client + "f",
                                                      "1700000000000000", "3602000", "fair"));
  EXPECT_EQ(release({.listening = true}, nullptr, false)[7], "fair listening");
  EXPECT_THAT(release({.deadline = 77us}, &next, true),
              ElementsAre("EVALSHA", sha, "1", "m:{a}", client + "f", "1700000000000000", "3602000",
                          "fair", client + "g", "77", "30000", "3630000", "me too", "w fair wait"));
  EXPECT_EQ(release({}, &next, false)[13], "w fair try");
}

TEST_F(RedisRequestsTest, Renew) {
  std::vector<Renewal::Item> items;
  for (const char* name : {"a", "b}"}) {
    items.push_back({.hold = {.name = name, .attempt = attempt, .number = 70 + items.size()},
                     .lease = 1s + 500ms * items.size()});
  }
  const std::string sha(scripts::renew.sha);
  EXPECT_THAT(words_of([&](auto& out) { requests_.renew(out, {}, items); }),
              ElementsAre("EVALSHA", sha, "2", "m:{a}", "m:{b%7D}", "", client + "f", "70", "1000",
                          "3601000", client + "f", "71", "1500", "3601500"));
  EXPECT_THAT(
      words_of([&](auto& out) { with_java_.renew(out, {}, items); }),
      ElementsAre("EVALSHA", sha, "4", "m:{a}", "a", "m:{b%7D}", "b}", "redisson", client + "f",
                  "70", "1000", "3601000", client + "f", "71", "1500", "3601500"));
  EXPECT_EQ(words_of([&](auto& out) { requests_.renew(out, {.whole = true}, items); })[1],
            scripts::renew.text);
  EXPECT_EQ(words_of([&](auto& out) { requests_.renew(out, {.importing = true}, items); })[5],
            "importing");
  EXPECT_EQ(words_of([&](auto& out) { with_java_.renew(out, {.importing = true}, items); })[7],
            "redisson importing");
}

TEST_F(RedisRequestsTest, ManyAreRenewedAtOnce) {
  std::vector<Renewal::Item> items;
  for (std::uint64_t i = 0; i < 128; ++i) {
    items.push_back(
        {.hold = {.name = std::string(512, '%'), .attempt = {i, i, i}, .number = i}, .lease = 24h});
  }
  const Words words = words_of([&](auto& out) { with_java_.renew(out, {}, items); });
  ASSERT_EQ(words.size(), 3 + 2 * 128 + 1 + 4 * 128U);
  EXPECT_EQ(words[2], "256");
  for (std::size_t i = 0; i < 128; ++i) {
    EXPECT_EQ(words[3 + 2 * i], lock_key("m:", items[i].hold.name));
    EXPECT_EQ(words[4 + 2 * i], items[i].hold.name);
    EXPECT_EQ(words[260 + 4 * i], AttemptText({i, i, i}).view());
    EXPECT_EQ(words[261 + 4 * i], std::to_string(i));
    EXPECT_EQ(words[262 + 4 * i], "86400000");
    EXPECT_EQ(words[263 + 4 * i], "90000000");
  }
}

TEST_F(RedisRequestsTest, InspectAndForceRelease) {
  EXPECT_THAT(words_of([&](auto& out) { requests_.inspect(out, {}, "a"); }),
              ElementsAre("EVALSHA", std::string(scripts::inspect.sha), "1", "m:{a}", ""));
  EXPECT_THAT(
      words_of([&](auto& out) { requests_.check(out, {}); }),
      ElementsAre("EVALSHA", std::string(scripts::inspect.sha), "1", "m:{mortise.check}", "write"));
  const auto force = [&](const std::string& mark) {
    const FoundHold found{.hold = {.name = "a", .number = 7}, .mark = mark};
    return words_of([&](auto& out) { unfair_.force_release(out, {.whole = true}, found); });
  };
  const std::string text(scripts::force_release.text);
  EXPECT_THAT(force(""), ElementsAre("EVAL", text, "1", "m:{a}", "7", "3602000", ""));
  EXPECT_THAT(force("-6 u:1"), ElementsAre("EVAL", text, "1", "m:{a}", "-6 u:1", "3602000", ""))
      << "Redisson's";
}

TEST_F(RedisRequestsTest, WhatIsAskedOfASemaphoreOrAKeyIsAskedOfItsOwnRedisKey) {
  const auto queue = [](const Requests& requests, Mode mode) {
    return words_of([&](auto& out) { requests.queue(out, {}, QueueLook("a", 9, mode)); });
  };
  const std::string of_locks(scripts::queue.sha);
  const std::string of_keys(scripts::once::queue.sha);
  EXPECT_THAT(queue(requests_, Mode::shared),
              ElementsAre("EVALSHA", of_locks, "1", "m:{a}", "9", ""));
  EXPECT_THAT(queue(requests_, Mode::permit),
              ElementsAre("EVALSHA", of_locks, "1", "m:{a}#", "9", ""));
  EXPECT_THAT(queue(requests_, Mode::once), ElementsAre("EVALSHA", of_keys, "1", "m:{a}!", "9"));
  EXPECT_THAT(queue(with_java_, Mode::exclusive),
              ElementsAre("EVALSHA", of_locks, "2", "m:{a}", "a", "9", ""));
  EXPECT_THAT(queue(with_java_, Mode::permit),
              ElementsAre("EVALSHA", of_locks, "1", "m:{a}#", "9", ""))
      << "Redisson knows of none";
  const QueueLook one("a", 9, Mode::shared, token_of(7));
  EXPECT_THAT(words_of([&](auto& out) { requests_.queue(out, {}, one); }),
              ElementsAre("EVALSHA", of_locks, "1", "m:{a}", "1", "7"));
  const QueueLook meant("a", 9, Mode::once, token_of(7));
  EXPECT_THAT(words_of([&](auto& out) { requests_.queue(out, {}, meant); }),
              ElementsAre("EVALSHA", of_keys, "1", "m:{a}!", "0"));
  EXPECT_THAT(
      words_of([&](auto& out) {
        requests_.force_release(out, {}, {.hold = {.name = "a", .number = 7, .mode = Mode::once}});
      }),
      ElementsAre("EVALSHA", std::string(scripts::once::force_release.sha), "1", "m:{a}!", "7",
                  ""));
  const Listing page("b", "", 20, Mode::once);
  EXPECT_THAT(
      words_of([&](auto& out) { with_java_.list(out, {}, page, ""); }),
      ElementsAre("EVALSHA", std::string(scripts::list.sha), "0", "0", "m:{b*}!", "20", ""));
  const Listing locks("b", "", 200, Mode::exclusive);
  EXPECT_THAT(
      words_of([&](auto& out) { with_java_.list(out, {}, locks, "17"); }),
      ElementsAre("EVALSHA", std::string(scripts::list.sha), "0", "17", "m:{b*}", "100", "2"));
}

TEST_F(RedisRequestsTest, WithRedissonTheNameIsASecondKey) {
  const auto request = request_of(attempt, "a b", "x");
  const Words words = words_of([&](auto& out) { with_java_.acquire(out, {}, request, true); });
  EXPECT_THAT(words,
              ElementsAre("EVALSHA", std::string(scripts::acquire.sha), "2", "m:{a b}", "a b",
                          client + "f", "0", "30000", "3630000", "x", "x redisson wait"));
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
  const std::string print("\0 7", 3);
  request.memory =
      std::make_shared<Memory>(Memory{.fingerprint = print, .repeat = Repeat::never, .keep = 24h});
  const std::string sha(scripts::once::begin.sha);
  EXPECT_THAT(
      words_of([&](auto& out) { requests_.begin(out, {.deadline = 77us}, request, true, 0); }),
      ElementsAre("EVALSHA", sha, "1", "m:{a%7B}!", client + "f", "77", "30000", "host:1", "n",
                  "86400000", print, "wait", "", "3600000"));
  EXPECT_THAT(words_of([&](auto& out) { with_java_.begin(out, {}, request, false, 99); }),
              ElementsAre("EVALSHA", sha, "1", "m:{a%7B}!", client + "f", "0", "30000", "host:1",
                          "n", "86400000", print, "try", "99", "3600000"));
  for (const auto& [repeat, letter] :
       {std::pair{Repeat::after_failure, "f"}, std::pair{Repeat::always, "a"}}) {
    request.memory = std::make_shared<Memory>(Memory{.repeat = repeat, .keep = 1s});
    EXPECT_EQ(words_of([&](auto& out) { requests_.begin(out, {}, request, true, 0); })[8], letter);
  }
  EXPECT_THAT(words_of([&](auto& out) { unfair_.cancel(out, {}, request, {}); }),
              ElementsAre("EVALSHA", std::string(scripts::once::cancel.sha), "1", "m:{a%7B}!",
                          client + "f", "", ""));
  const Passage importing{.importing = true};
  EXPECT_EQ(words_of([&](auto& out) { unfair_.cancel(out, importing, request, {}); })[5],
            "importing");
  EXPECT_EQ(words_of([&](auto& out) { unfair_.cancel(out, {}, request, 0); }).back(), "0");
  EXPECT_EQ(words_of([&](auto& out) { unfair_.cancel(out, {}, request, 77); }).back(), "77");
  EXPECT_EQ(words_of([&](auto& out) { unfair_.begin(out, importing, request, true, 0); })[11],
            "wait importing");
}

TEST_F(RedisRequestsTest, ThatEndARun) {
  const HoldId hold{.name = "a", .attempt = attempt, .number = 1'700'000, .mode = Mode::once};
  const std::string sha(scripts::once::conclude.sha);
  Conclusion conclusion{.bytes = std::string("\0 x", 3),
                        .run = 1,
                        .memory = std::make_shared<Memory>(Memory{.keep = 2s})};
  EXPECT_THAT(words_of([&](auto& out) { requests_.conclude(out, {}, hold, &conclusion); }),
              ElementsAre("EVALSHA", sha, "1", "m:{a}!", client + "f", "1700000", "Y", "2000",
                          std::string("\0 x", 3), "3600000", "", ""));
  conclusion.memory = std::make_shared<Memory>(Memory{.repeat = Repeat::always, .keep = 2s});
  EXPECT_EQ(words_of([&](auto& out) { requests_.conclude(out, {}, hold, &conclusion); }).back(),
            "1");
  conclusion.memory = std::make_shared<Memory>(Memory{.keep = 2s});
  conclusion.state = KeyState::failed;
  conclusion.bytes.clear();
  EXPECT_THAT(words_of([&](auto& out) { with_java_.conclude(out, {}, hold, &conclusion); }),
              ElementsAre("EVALSHA", sha, "1", "m:{a}!", client + "f", "1700000", "F", "2000", "",
                          "3600000", "", ""));
  EXPECT_THAT(words_of([&](auto& out) { unfair_.conclude(out, {}, hold, nullptr); }),
              ElementsAre("EVALSHA", sha, "1", "m:{a}!", client + "f", "1700000", "", "0", "",
                          "3600000", "", ""));
  EXPECT_EQ(words_of([&](auto& out) { unfair_.conclude(out, {.undoes = true}, hold, nullptr); })[6],
            "U");
}

TEST_F(RedisRequestsTest, ThatLookAtAKeyAndForgetIt) {
  const std::string sha(scripts::once::recall.sha);
  EXPECT_THAT(words_of([&](auto& out) { with_java_.recall(out, {}, "a", nullptr); }),
              ElementsAre("EVALSHA", sha, "1", "m:{a}!", ""));
  Answer found;
  found.record = std::make_shared<const Record>(Record{.number = 77});
  EXPECT_THAT(words_of([&](auto& out) { requests_.recall(out, {}, "a", &found); }),
              ElementsAre("EVALSHA", sha, "1", "m:{a}!", "77"));
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
  EXPECT_THAT(words_of([&](auto& out) { Requests::subscribe(out, "c d"); }),
              ElementsAre("SUBSCRIBE", "c d"));
  EXPECT_THAT(words_of([&](auto& out) { Requests::unsubscribe(out, "c d"); }),
              ElementsAre("UNSUBSCRIBE", "c d"));
}

TEST_F(RedisRequestsTest, SayForHowLongANameIsRemembered) {
  Settings settings = settings_of(QueueMode::fair);
  settings.remembered = 600;
  const Requests requests(settings);
  const auto request = request_of(attempt, "a", "");
  const HoldId hold{.name = "a", .attempt = attempt, .number = 1};
  EXPECT_EQ(words_of([&](auto& out) { requests.acquire(out, {}, request, true); })[7], "630000");
  EXPECT_EQ(words_of([&](auto& out) { requests.cancel(out, {}, request, {}); })[5], "602000");
  EXPECT_EQ(words_of([&](auto& out) { requests.release(out, {}, hold, nullptr, false); })[6],
            "602000");
  EXPECT_EQ(words_of([&](auto& out) { requests.release(out, {}, hold, &request, true); })[11],
            "630000");
  EXPECT_EQ(words_of([&](auto& out) {
              requests.renew(out, {}, {{.hold = hold, .lease = std::chrono::seconds(30)}});
            })[8],
            "630000");
}

TEST_F(RedisRequestsTest, TellWhetherTheClientHearsRedissonsChannel) {
  const auto request = request_of(attempt, "a", "");
  const Words words =
      words_of([&](auto& out) { with_java_.acquire(out, {}, request, true, true); });
  EXPECT_EQ(words.at(10), "x redisson wait listening");
}

}  // namespace
}  // namespace mortise::redis
