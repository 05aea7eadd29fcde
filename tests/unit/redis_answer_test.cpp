// SPDX-License-Identifier: MIT
// Goal: what the scripts answer is read as they mean it, and nothing else is an answer. Method:
// known answers, and each of them with a part that is wrong, missing, or too much; messages that
// are cut anywhere; random bytes.
#include "core/figures.hpp"
#include "model/seed.hpp"
#include "redis/store/answer.hpp"
#include "unit/redis_items_fixture.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mortise::redis {
namespace {

using namespace std::chrono_literals;
using Kind = Answer::Kind;
using Outcome = ReleaseAnswer::Outcome;

constexpr AttemptId some{0x89abcdef, 0xfedcba9876543210, 0x8aa};
const std::string some_text = "iavN7_7cuph2VDIQiq";
const std::string largest = "9007199254740991";    // 2^53 - 1
const std::string too_large = "9007199254740992";  // 2^53
const std::string now = "1700000000000000";

// Several texts, a '|' between two; $A is an attempt, $N a time, $T a number that is too large.
std::vector<std::string> texts(std::string_view list) {
  std::vector<std::string> all(1);
  for (; !list.empty(); list.remove_prefix(1)) {
    if (list.front() == '|') {
      all.emplace_back();
    } else if (list.front() != '$') {
      all.back() += list.front();
    } else {
      list.remove_prefix(1);
      all.back() += list.front() == 'A' ? some_text : list.front() == 'N' ? now : too_large;
    }
  }
  return all;
}

TEST(RedisAnswerTest, AnAttemptIsShortAndComesBack) {
  EXPECT_EQ(AttemptText(some).view(), some_text);
  EXPECT_EQ(AttemptText(some).client(), some_text.substr(0, 16));
  constexpr std::uint64_t most = ~std::uint64_t{0};
  constexpr std::uint64_t half = most >> 32U;
  EXPECT_EQ(AttemptText({half, most, most}).view(),
            std::string(16, '_') + "P" + std::string(10, '_'));
  for (const AttemptId& id : {AttemptId{}, some, AttemptId{0, 1, most}, AttemptId{half, most, 1},
                              AttemptId{half, 0, 63}, AttemptId{1, most, 64}}) {
    EXPECT_EQ(parse_attempt(AttemptText(id).view()), id);
  }
  EXPECT_EQ(AttemptText(AttemptId{}).view(), std::string(17, 'A'));
}

TEST(RedisAnswerTest, WhatIsNoAttemptIsRefused) {
  const std::string client = some_text.substr(0, 16);
  std::vector<std::string> wrong = texts("|2a|0x| $A|$A |+$A|$A+|$A.|$A 1|$A/");
  for (const char* end : {"", "+1", "=", "Q__________", "AAAAAAAAAAAA"}) {
    wrong.push_back(client + end);
  }
  for (const std::size_t at : {0U, 7U, 8U, 15U, 16U}) {
    for (const char c : {'+', '=', ' ', '\0', '\xff'}) wrong.emplace_back(some_text)[at] = c;
  }
  for (const std::string& text : wrong) {
    EXPECT_EQ(parse_attempt(text), std::nullopt) << text;
  }
}

constexpr long long answered_at = 1'700'000'000'000'000;
constexpr auto number_limit = static_cast<long long>(core::grant_number_limit);

Reply granted_answer() {
  return list_of({word("granted"), integer(answered_at), integer(77), integer(2'500)});
}
Reply answer_of_key() {
  return list_of({word("granted"), integer(answered_at), integer(77), integer(2'500), integer(3)});
}
Reply queued_answer(std::string kind = "queued") {
  return list_of({word(std::move(kind)), integer(answered_at), integer(2'500'999), integer(1),
                  integer(77), integer(3), word("host:1  x ")});
}
/// Of a lock that readers hold, with the number of one of them and the last one that was granted.
Reply answer_of_readers() {
  Reply reply = queued_answer("held");
  reply.items.push_back(word("r"));
  reply.items.push_back(integer(99));
  return reply;
}
Reply recorded_answer(std::string state = "succeeded") {
  return list_of({word("recorded"), integer(answered_at), word(std::move(state)), integer(3),
                  integer(77), integer(1), word(std::string("\0 ", 2)),
                  word(std::string("\0 1\r\n\xff ", 7))});
}

TEST(RedisAnswerTest, Granted) {
  const auto answer = Answer::parse(granted_answer());
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->kind, Kind::granted);
  EXPECT_EQ(answer->now, 1'700'000'000'000'000us);
  EXPECT_EQ(answer->number, 77U);
  EXPECT_EQ(answer->left, 2'500us);
  EXPECT_EQ(answer->run, 0U);
  EXPECT_EQ(Answer::parse(answer_of_key())->run, 3U);
}

TEST(RedisAnswerTest, HeldByOthersAndFree) {
  for (const auto& [name, kind] : {std::pair{"queued", Kind::queued}, std::pair{"busy", Kind::busy},
                                   std::pair{"held", Kind::held}, std::pair{"free", Kind::free}}) {
    const auto answer = Answer::parse(queued_answer(name));
    ASSERT_TRUE(answer) << name;
    EXPECT_EQ(answer->kind, kind);
    EXPECT_EQ(answer->left, 2'500'999us);
    EXPECT_TRUE(answer->first);
    EXPECT_EQ(answer->last_number, 77U);
    const auto holder = answer->holder();
    ASSERT_TRUE(holder);
    EXPECT_EQ(holder->label, "host:1  x ");
    EXPECT_EQ(holder->token.value(), 77 * 1024U);
    EXPECT_EQ(holder->expires_in, 2500ms);
    EXPECT_EQ(holder->waiters, 3U);
  }
  Reply nobody = queued_answer("free");
  nobody.items[2] = nobody.items[3] = nobody.items[4] = integer(0);
  EXPECT_FALSE(Answer::parse(nobody)->holder());
  nobody.items[6].text.assign(10'000, 'x');
  EXPECT_EQ(Answer::parse(nobody)->holding.label.size(), core::longest_label);
  EXPECT_EQ(Answer::parse(list_of({word("too_late"), integer(answered_at)}))->kind, Kind::too_late);
  EXPECT_EQ(Answer::parse(answer_of_readers())->holding.mode, Mode::shared);
  EXPECT_EQ(Answer::parse(answer_of_readers())->holding.number, 77U);
  EXPECT_EQ(Answer::parse(answer_of_readers())->last_number, 99U);
  Reply owned = answer_of_readers();
  owned.items[7].text = "w";
  EXPECT_EQ(Answer::parse(owned)->holding.mode, Mode::exclusive);
  owned.items[7].text = "x";
  EXPECT_FALSE(Answer::parse(owned));
}

// Its hold has no number, and is named by the last one that was granted, and by whose it is.
TEST(RedisAnswerTest, HeldByRedisson) {
  Reply theirs = answer_of_readers();
  theirs.items[4] = integer(0);
  theirs.items[6].text = "redisson uuid:1";
  theirs.items[7].text = "w";
  const auto answer = Answer::parse(theirs);
  ASSERT_TRUE(answer);
  EXPECT_FALSE(answer->holder()->token);
  EXPECT_EQ(answer->mark(), "-99 uuid:1");
}

TEST(RedisAnswerTest, ASemaphoreOfAnotherSize) {
  const auto answer =
      Answer::parse(list_of({word("permits_differ"), integer(answered_at), integer(5)}));
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->kind, Kind::permits_differ);
  EXPECT_EQ(answer->permits, 5U);
}

TEST(RedisAnswerTest, CodesOfSeveralNames) {
  const Reply good = list_of({word("renewed"), integer(answered_at), integer(0), integer(2)});
  ServerTime at{};
  EXPECT_EQ(parse_codes(good, "renewed", 2, &at), (std::vector<std::uint64_t>{0, 2}));
  EXPECT_EQ(at.count(), answered_at);
  EXPECT_TRUE(parse_codes(good, "waiting", 2).empty());
  EXPECT_TRUE(parse_codes(good, "renewed", 1).empty());
  EXPECT_TRUE(parse_codes(word("renewed"), "renewed", 2).empty());
  EXPECT_TRUE(
      parse_codes(list_of({word("renewed"), integer(0), integer(1)}), "renewed", 2).empty());
  EXPECT_TRUE(parse_codes(list_of({word("renewed"), integer(answered_at), word("1")}), "renewed", 2)
                  .empty());
}

TEST(RedisAnswerTest, Recorded) {
  for (const auto& [name, state] :
       {std::pair{"succeeded", KeyState::succeeded}, std::pair{"failed", KeyState::failed}}) {
    const auto answer = Answer::parse(recorded_answer(name));
    ASSERT_TRUE(answer && answer->record) << name;
    EXPECT_EQ(answer->kind, Kind::recorded);
    EXPECT_EQ(answer->record->state, state);
    EXPECT_EQ(answer->record->run, 3U);
    EXPECT_EQ(answer->record->number, 77U);
    EXPECT_TRUE(answer->record->held);
    EXPECT_EQ(answer->record->fingerprint, std::string("\0 ", 2));
    EXPECT_EQ(answer->record->bytes, std::string("\0 1\r\n\xff ", 7));
  }
  Reply absent = recorded_answer("absent");
  EXPECT_FALSE(Answer::parse(absent)) << "it has a run";
  absent.items[3] = absent.items[4] = integer(0);
  EXPECT_FALSE(Answer::parse(absent)) << "it has bytes";
  absent.items[7].text.clear();
  ASSERT_TRUE(Answer::parse(absent));
  EXPECT_EQ(Answer::parse(absent)->record->state, KeyState::absent);
  Reply longest = recorded_answer();
  longest.items[6].text.assign(longest_fingerprint, 'x');
  longest.items[7].text.assign(longest_outcome, '\0');
  EXPECT_TRUE(Answer::parse(longest));
  longest.items[7].text += 'x';
  EXPECT_FALSE(Answer::parse(longest));
  longest.items[7].text.clear();
  longest.items[6].text += 'x';
  EXPECT_FALSE(Answer::parse(longest));
}

// Each item of each answer.
TEST(RedisAnswerTest, WithAPartThatIsWrongIsNone) {
  for (const Reply& good : {granted_answer(), answer_of_key(), queued_answer(), answer_of_readers(),
                            recorded_answer()}) {
    ASSERT_TRUE(Answer::parse(good));
    for (std::size_t at = 0; at < good.items.size(); ++at) {
      const bool text = good.items[at].kind == Reply::Kind::string;
      for (const Reply& wrong :
           {Reply(), list_of({}), integer(-1), integer(number_limit * 2), word("1")}) {
        if (text && wrong.kind == Reply::Kind::string) continue;  // bytes of any kind, or below
        Reply bad = good;
        bad.items[at] = wrong;
        EXPECT_FALSE(Answer::parse(bad)) << good.items[0].text << " " << at;
      }
    }
    Reply unknown = good;
    unknown.items[0].text += "?";
    EXPECT_FALSE(Answer::parse(unknown));
  }
  for (const char* const state : {"", "Y", "Succeeded"})
    EXPECT_FALSE(Answer::parse(recorded_answer(state)));
  Reply zero = granted_answer();
  zero.items[2] = integer(0);
  EXPECT_FALSE(Answer::parse(zero));
  zero = granted_answer();
  zero.items[3] = integer(0);
  EXPECT_FALSE(Answer::parse(zero)) << "it is over";
  EXPECT_FALSE(Answer::parse(word("granted")));
  EXPECT_FALSE(Answer::parse(list_of({})));
}

// Without its end, or with more than there should be. A grant has a run if it is one of a key; an
// answer about a key has no mode.
TEST(RedisAnswerTest, CutAnywhere) {
  const std::pair<Reply, std::size_t> answers[] = {
      {answer_of_key(), 4},
      {answer_of_readers(), 7},
      {recorded_answer(), 8},
      {list_of({word("too_late"), integer(answered_at)}), 2}};
  for (const auto& [good, shorter] : answers) {
    for (std::size_t size = 0; size < good.items.size(); ++size) {
      Reply cut = good;
      cut.items.resize(size);
      EXPECT_EQ(Answer::parse(cut).has_value(), size == shorter) << good.items[0].text << size;
    }
    Reply more = good;
    more.items.push_back(integer(1));
    EXPECT_FALSE(Answer::parse(more)) << good.items[0].text;
  }
}

TEST(RedisAnswerTest, Released) {
  for (const auto& [name, outcome] :
       {std::pair{"released", Outcome::freed}, std::pair{"released_before", Outcome::freed_before},
        std::pair{"expired", Outcome::lapsed}, std::pair{"not_held", Outcome::not_ours}}) {
    const auto answer = ReleaseAnswer::parse(list_of({word(name), integer(answered_at)}));
    ASSERT_TRUE(answer) << name;
    EXPECT_EQ(answer->outcome, outcome);
  }
  EXPECT_TRUE(ReleaseAnswer::parse(list_of({word("released")}))) << "without the time";
  for (const Reply& wrong :
       {word("released"), list_of({}), list_of({word("gone"), integer(answered_at)}),
        list_of({word("released"), integer(answered_at), integer(1)}),
        list_of({word("released"), word("1")})}) {
    EXPECT_FALSE(ReleaseAnswer::parse(wrong));
  }
}

TEST(RedisAnswerTest, ReleasedWithASuccessor) {
  const auto next =
      ReleaseAnswer::parse(list_of({word("released"), integer(answered_at), answer_of_readers()}));
  ASSERT_TRUE(next && next->successor);
  EXPECT_EQ(next->successor->holding.label, "host:1  x ");
  EXPECT_FALSE(
      ReleaseAnswer::parse(list_of({word("released"), integer(answered_at), list_of({})})));
  EXPECT_FALSE(ReleaseAnswer::parse(
      list_of({word("released"), integer(answered_at), recorded_answer(), answer_of_readers()})));
}

TEST(RedisAnswerTest, Pushed) {
  const auto grant = Push::parse("G " + some_text + " 77 " + now + " 2000 m:{a b}");
  ASSERT_TRUE(grant);
  EXPECT_EQ(grant->kind, Push::Kind::granted);
  EXPECT_EQ(grant->attempt, some);
  EXPECT_EQ(grant->number, 77U);
  EXPECT_EQ(grant->granted_at, 1'700'000'000'000'000us);
  EXPECT_EQ(grant->lease, 2s);
  EXPECT_EQ(grant->key, "m:{a b}");
  const auto look = Push::parse("L " + some_text + " m:{a}");
  ASSERT_TRUE(look);
  EXPECT_EQ(look->kind, Push::Kind::look);
  EXPECT_EQ(look->attempt, some);
  EXPECT_EQ(look->key, "m:{a}");
  EXPECT_EQ(look->number, 0U);
  const auto concluded = Push::parse("D " + some_text + " 77 m:{a}!");
  ASSERT_TRUE(concluded);
  EXPECT_EQ(concluded->kind, Push::Kind::look);
  EXPECT_EQ(concluded->number, 77U);
  EXPECT_EQ(concluded->key, "m:{a}!");
  const auto taken = Push::parse("T " + some_text + " " + largest + " m:{a}");
  ASSERT_TRUE(taken);
  EXPECT_EQ(taken->kind, Push::Kind::taken);
  EXPECT_EQ(taken->number, core::grant_number_limit - 1);
  for (const std::string& text :
       texts("|0|L|L |L $A|L $A |L 2a m:{a}|X $A m:{a}|LL $A m:{a}|T $A m:{a}|T $A 0 m:{a}|"
             "T $A $T m:{a}|G $A 0 1 2000 k|G $A 1 1 0 k|G $A 1 1 86400001 k|G $A 1 1 2000|"
             "D $A m:{a}!|D $A 0 m:{a}!|D $A $T m:{a}!|D $A 1 |K $A 1 1 2000 1 k|"
             "G $A 1 1 2000 |G $A 1  2000 k|G $A -1 1 2000 k|G $A 1 $T 2000 k|G $A  1 1 2000 k")) {
    EXPECT_FALSE(Push::parse(text)) << "'" << text << "'";
  }
}

// A message that was cut is none, or has less of its key.
TEST(RedisAnswerTest, PushesThatAreCut) {
  const std::string push = "G " + some_text + " 77 " + now + " 2000 m:{a}";
  for (std::size_t size = 0; size + 5 <= push.size(); ++size) {
    EXPECT_FALSE(Push::parse(push.substr(0, size))) << size;
  }
}

TEST(RedisAnswerTest, RandomBytesAreHarmless) {
  std::mt19937_64 random(model::test_seed());
  const std::vector<std::string> good =
      texts("G $A 77 $N 2000 m:{a}|T $A 77 m:{a}|S $A 77 m:{a}|L $A m:{a}|D $A 77 m:{a}!");
  for (int round = 0; round < 20'000; ++round) {
    std::string text = good[random() % good.size()];
    if (round % 4 == 0) text.assign(random() % 80, ' ');
    for (std::uint64_t change = random() % (round % 4 == 0 ? 80 : 4); change > 0; --change) {
      if (text.empty()) break;
      text[random() % text.size()] = static_cast<char>(random());
    }
    if (const auto push = Push::parse(text)) {
      EXPECT_FALSE(push->key.empty());
      EXPECT_TRUE(push->number != 0 || push->kind == Push::Kind::look) << text;
    }
  }
}

// Any word, number or list in any place.
TEST(RedisAnswerTest, RandomItemsAreHarmless) {
  std::mt19937_64 random(model::test_seed());
  const std::vector<Reply> good{granted_answer(), answer_of_key(), queued_answer(),
                                answer_of_readers(), recorded_answer()};
  for (int round = 0; round < 20'000; ++round) {
    Reply reply = good[random() % good.size()];
    for (std::uint64_t change = random() % 4; change > 0; --change) {
      const Reply& other = good[random() % good.size()];
      reply.items[random() % reply.items.size()] = other.items[random() % other.items.size()];
    }
    const auto answer = Answer::parse(reply);
    if (!answer) continue;
    EXPECT_LT(answer->number, core::grant_number_limit);
    EXPECT_LT(answer->holding.number, core::grant_number_limit);
    EXPECT_EQ(answer->kind == Kind::granted, answer->number != 0);
    EXPECT_EQ(answer->kind == Kind::recorded, answer->record != nullptr);
  }
}

}  // namespace
}  // namespace mortise::redis
