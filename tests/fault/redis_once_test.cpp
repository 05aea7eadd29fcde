// SPDX-License-Identifier: MIT
// Goal: what a key of Once came to is remembered for as long as it is to be, is written by the live
// hold only, in one step with its end, and told to whom it is for. Method: the scripts, with
// everything that may be wrong about a request, and states that take hours set into the key.
#include "fault/redis_once.hpp"

namespace mortise::fault {
namespace {

using Kind = redis::Answer::Kind;

class RedisOnce : public RedisOnceTest {};

TEST_F(RedisOnce, IsRunAndThenTold) {
  const redis::Answer granted = begin('a');
  EXPECT_EQ(granted.kind, Kind::granted);
  EXPECT_EQ(granted.run, 1U);
  EXPECT_EQ(begin('a').run, 1U) << "asked again";
  EXPECT_EQ(recall().state, KeyState::pending);
  EXPECT_TRUE(recall().held);
  const std::string bytes("any\0bytes\r\n {}% \xff", 17);
  EXPECT_EQ(succeed(bytes), "released");
  const redis::Answer told = begin('b');
  ASSERT_EQ(told.kind, Kind::recorded);
  EXPECT_EQ(told.record->state, KeyState::succeeded);
  EXPECT_EQ(told.record->bytes, bytes);
  EXPECT_EQ(told.record->run, 1U);
  EXPECT_EQ(told.record->number, granted.number);
  EXPECT_EQ(told.record->fingerprint, "print");
  EXPECT_FALSE(told.record->held);
  EXPECT_EQ(waiting(), 0) << "nobody was queued";
}

TEST_F(RedisOnce, AndALockOfItsNameDoNotMeet) {
  EXPECT_EQ(run('a'), 1U);
  at_ = key("a");
  EXPECT_EQ(acquire('b'), "granted");
}

TEST_F(RedisOnce, TellsOfAnotherFingerprintWithoutTheBytes) {
  const std::string print("\0 {}\n", 5);
  EXPECT_EQ(run('a', {.fingerprint = print}), 1U);
  for (const bool held : {true, false}) {
    for (const std::string& other : {std::string(), std::string("\0 {}", 4), print + "x"}) {
      const redis::Answer told = begin('b', {.fingerprint = other});
      ASSERT_EQ(told.kind, Kind::recorded);
      EXPECT_EQ(told.record->fingerprint, print);
      EXPECT_EQ(told.record->bytes, "");
      EXPECT_EQ(told.record->held, held);
    }
    if (held) {
      EXPECT_EQ(succeed("secret"), "released");
    }
  }
  EXPECT_EQ(begin('b', {.fingerprint = print}).record->bytes, "secret");
  EXPECT_EQ(recall().fingerprint, print);
}

TEST_F(RedisOnce, IsRunAgainByWhomItsRepeatLets) {
  struct Case {
    char letter;
    char repeat;
    bool runs;
  };
  for (const Case& one : {Case{'Y', 'f', false}, Case{'Y', 'n', false}, Case{'Y', 'a', true},
                          Case{'F', 'f', true}, Case{'F', 'n', false}, Case{'F', 'a', true}}) {
    server().talk().expect_ok({"DEL", at()});
    ASSERT_EQ(run('a'), 1U);
    ASSERT_EQ(conclude(hold(), one.letter, "bytes"), "released");
    const redis::Answer answer = begin('b', {.repeat = one.repeat});
    EXPECT_EQ(answer.kind, one.runs ? Kind::granted : Kind::recorded) << one.letter << one.repeat;
    EXPECT_EQ(answer.run, one.runs ? 2U : 0U);
    const KeyState its = one.letter == 'Y' ? KeyState::succeeded : KeyState::failed;
    EXPECT_EQ(recall().state, one.runs ? KeyState::pending : its);
    EXPECT_EQ(recall().bytes, one.runs ? "" : "bytes");
  }
}

TEST_F(RedisOnce, IsRunAgainWhereItsRunnerDiedOrGaveItBack) {
  EXPECT_EQ(run('a'), 1U);
  EXPECT_EQ(begin('b', {.waits = false}).kind, Kind::busy);
  lapse();
  EXPECT_FALSE(recall().held);
  EXPECT_EQ(recall().state, KeyState::pending);
  const std::uint64_t first = number();
  EXPECT_EQ(run('b'), 2U);
  EXPECT_GT(number(), first);
  EXPECT_EQ(give_back(), "released");
  EXPECT_EQ(recall().state, KeyState::pending);
  EXPECT_EQ(recall().run, 2U);
  EXPECT_EQ(begin('c', {.fingerprint = "another"}).kind, Kind::recorded);
  EXPECT_EQ(run('c'), 3U);
}

TEST_F(RedisOnce, IsConcludedByItsLiveHoldOnly) {
  ASSERT_EQ(run('a'), 1U);
  const Held hold = this->hold();
  for (const Held& forged :
       {Held{hold.attempt, std::to_string(number() + 1)}, Held{attempt('b'), hold.number},
        Held{hold.attempt + "1", hold.number}, Held{hold.attempt, hold.number + "0"}}) {
    EXPECT_EQ(conclude(forged, 'Y', "forged"), "not_held")
        << forged.attempt << " " << forged.number;
    EXPECT_TRUE(recall().held);
  }
  lapse();
  EXPECT_EQ(conclude(hold, 'Y', "too late"), "expired");
  EXPECT_EQ(conclude(hold, 'Y', "too late"), "expired") << "also where the first reply was lost";
  EXPECT_EQ(recall().state, KeyState::pending);
  ASSERT_EQ(run('b'), 2U);
  EXPECT_EQ(conclude(hold, 'Y', "too late"), "not_held");
  EXPECT_EQ(recall().state, KeyState::pending);
  EXPECT_TRUE(recall().held);
  const Held second = this->hold();
  EXPECT_EQ(give_back(), "released");
  EXPECT_EQ(conclude(second, 'Y', "after it was given back"), "released_before");
  EXPECT_EQ(recall().state, KeyState::pending);
}

TEST_F(RedisOnce, IsConcludedOnceHoweverOftenThatIsSaid) {
  ASSERT_EQ(run('a'), 1U);
  const Held first = hold();
  ASSERT_EQ(conclude(first, 'F', "no"), "released");
  const std::string before = get("forget_at");
  EXPECT_EQ(conclude(first, 'F', "no"), "released");
  EXPECT_EQ(get("forget_at"), before) << "it changes nothing";
  EXPECT_EQ(conclude(first, 'Y', "yes"), "released_before") << "another outcome than what stands";
  ASSERT_EQ(run('b'), 2U);
  EXPECT_EQ(conclude(first, 'F', "no"), "released") << "the record stands while the next one runs";
  EXPECT_TRUE(recall().held);
  ASSERT_EQ(succeed("yes"), "released");
  EXPECT_EQ(conclude(first, 'F', "no"), "not_held") << "the record of another run stands";
  EXPECT_EQ(recall().bytes, "yes");
}

TEST_F(RedisOnce, IsForgottenAfterItsTimeAndNotBefore) {
  ASSERT_EQ(run('a', {.keep = 1'000}), 1U);
  EXPECT_GT(life(), 3'600'000) << "grant numbers are remembered as those of locks";
  outlive();
  EXPECT_EQ(recall().state, KeyState::pending) << "as long as it is held";
  EXPECT_EQ(begin('b').kind, Kind::queued);
  ASSERT_EQ(conclude(hold(), 'Y', "done", 300), "released");
  EXPECT_EQ(recall().state, KeyState::succeeded);
  std::this_thread::sleep_for(301ms);
  EXPECT_EQ(recall().state, KeyState::absent);
  const std::uint64_t before = number();
  EXPECT_EQ(run('b', {.fingerprint = "another"}), 1U);
  EXPECT_GT(number(), before);
  EXPECT_EQ(get("result"), "") << "nothing is left of what was";
}

TEST_F(RedisOnce, LivesAsLongAsItIsRemembered) {
  ASSERT_EQ(run('a', {.keep = 10 * day}), 1U);
  EXPECT_GT(life(), 10 * day - 60'000);
  ASSERT_EQ(conclude(hold(), 'Y', "done", 20 * day), "released");
  EXPECT_GT(life(), 20 * day - 60'000);
  EXPECT_LE(life(), 20 * day + 60'000);
}

TEST_F(RedisOnce, IsForgottenWhereThatIsSaidOfWhatStands) {
  EXPECT_EQ(recall().state, KeyState::absent);
  EXPECT_EQ(recall().number, 0U);
  ASSERT_EQ(run('a'), 1U);
  const std::string number = std::to_string(this->number());
  EXPECT_EQ(recall(number).state, KeyState::pending);
  EXPECT_TRUE(recall().held) << "what runs is not forgotten";
  ASSERT_EQ(succeed("done"), "released");
  EXPECT_EQ(recall("1").bytes, "done");
  EXPECT_EQ(recall().bytes, "done") << "that was said of another one";
  EXPECT_EQ(recall(number).bytes, "done");
  EXPECT_EQ(recall(number).state, KeyState::absent);
  EXPECT_EQ(get("result"), "");
  EXPECT_EQ(run('b', {.fingerprint = "another"}), 1U);
  EXPECT_GT(this->number(), std::stoull(number));
  ASSERT_EQ(succeed("of another run"), "released");
  EXPECT_EQ(recall(number).bytes, "of another run") << "a copy that comes late";
  EXPECT_EQ(recall().bytes, "of another run");
}

// A late copy of `begin` has begun it, and no client knows of that run.
// Promise: O3, O4
TEST_F(RedisOnce, HasTheSameOutcomeAfterARunThatIsUndone) {
  ASSERT_EQ(run('a'), 1U);
  const Held first = hold();
  ASSERT_EQ(fail("no"), "released");
  const std::string till = get("forget_at");
  ASSERT_EQ(run('b', {.keep = 1'000}), 2U);
  const Held copy = hold();
  EXPECT_EQ(undo(copy), "released");
  EXPECT_EQ(undo(copy), "released_before");
  EXPECT_EQ(get("forget_at"), till);
  EXPECT_GT(server().talk().command({"PTTL", at()}).integer, day / 2);
  EXPECT_EQ(recall().state, KeyState::failed);
  EXPECT_EQ(recall().bytes, "no");
  EXPECT_EQ(recall().run, 1U);
  EXPECT_EQ(recall().number, std::stoull(first.number)) << "the outcome has its own token";
  const redis::Answer told = begin('c', {.repeat = 'n'});
  ASSERT_EQ(told.kind, Kind::recorded);
  EXPECT_EQ(told.record->number, std::stoull(first.number));
  EXPECT_EQ(conclude(first, 'F', "no"), "released") << "the same conclusion, sent again";
  ASSERT_EQ(run('c'), 2U);
  EXPECT_GT(number(), std::stoull(copy.number));
  EXPECT_EQ(undo(copy), "not_held") << "a copy of that, too";
  EXPECT_EQ(give_back(), "released");
  ASSERT_EQ(run('d'), 3U);
  lapse();
  EXPECT_EQ(undo(hold()), "released");
  EXPECT_EQ(recall().state, KeyState::pending) << "as before";
  EXPECT_EQ(recall().run, 2U);
  ASSERT_EQ(run('e', {.repeat = 'a'}), 3U);
  ASSERT_EQ(succeed("yes"), "released");
  ASSERT_EQ(run('f', {.repeat = 'a'}), 4U);
  lapse();
  EXPECT_EQ(undo(hold()), "released");
  EXPECT_EQ(recall().bytes, "yes");
  EXPECT_EQ(recall().run, 3U);
}

// No client has run the key, so no fingerprint belongs to it.
// Promise: O3, O4
TEST_F(RedisOnce, IsAbsentAfterItsFirstRunIsUndone) {
  for (const bool was_forgotten : {false, true}) {
    server().talk().expect_ok({"FLUSHALL"});
    if (was_forgotten) {
      ASSERT_EQ(run('x', {.fingerprint = "old"}), 1U);
      ASSERT_EQ(succeed("old"), "released");
      outlive();
    }
    ASSERT_EQ(run('a', {.fingerprint = "one"}), 1U);
    const Held copy = hold();
    ASSERT_EQ(begin('w', {.fingerprint = "one"}).kind, Kind::queued);
    EXPECT_EQ(undo(copy), "released");
    EXPECT_EQ(undo(copy), "released_before");
    EXPECT_EQ(recall().state, KeyState::absent);
    EXPECT_EQ(run('w', {.fingerprint = "one"}), 1U);
    EXPECT_GT(number(), std::stoull(copy.number));
    EXPECT_EQ(undo(hold()), "released");
    EXPECT_EQ(run('b', {.fingerprint = "another"}), 1U);
    EXPECT_EQ(get("fingerprint"), "another");
    ASSERT_EQ(succeed("done"), "released");
    EXPECT_EQ(undo(copy), "not_held");
    EXPECT_EQ(recall().bytes, "done");
  }
}

// The server could not be reached for longer than the lease of a run that no client knows of.
// Promise: O1, O3
TEST_F(RedisOnce, HasItsOutcomeBackIfALookFindsAnUnknownRunWhoseLeaseIsOver) {
  ASSERT_EQ(run('a'), 1U);
  ASSERT_EQ(succeed("done"), "released");
  ASSERT_EQ(run('b', {.repeat = 'a'}), 2U);
  const Held late = hold();
  EXPECT_EQ(look_at('b', "0").kind, Kind::granted) << "the client gives it back";
  lapse();
  EXPECT_EQ(look_at('b', "").kind, Kind::busy) << "the client may still get it";
  EXPECT_EQ(look_at('b', late.number).kind, Kind::busy) << "the client has run it";
  EXPECT_EQ(look_at('c', "0").kind, Kind::busy);
  EXPECT_EQ(recall().state, KeyState::pending);
  const redis::Answer found = look_at('b', "0");
  ASSERT_EQ(found.kind, Kind::granted);
  EXPECT_EQ(found.number, std::stoull(late.number));
  EXPECT_EQ(undo(late), "released");
  EXPECT_EQ(recall().bytes, "done");
  EXPECT_EQ(begin('c').kind, Kind::recorded);
  EXPECT_EQ(look_at('b', "0").kind, Kind::busy);
}

// A copy of the request that began the run comes after the conclusion, and before its moment.
// Promise: O3
TEST_F(RedisOnce, KeepsItsOutcomeIfItsLastRunnerAsksAgain) {
  const Ask always{.repeat = 'a'};
  ASSERT_EQ(run('a', always), 1U);
  ASSERT_EQ(succeed_and_repeat("done"), "released");
  redis::Answer answer = begin('a', always);
  ASSERT_EQ(answer.kind, Kind::recorded);
  EXPECT_EQ(answer.record->bytes, "done");
  ASSERT_EQ(run('b', always), 2U);
  ASSERT_EQ(fail("no"), "released");
  answer = begin('b');
  ASSERT_EQ(answer.kind, Kind::recorded);
  EXPECT_EQ(answer.record->bytes, "no");
  EXPECT_EQ(recall().state, KeyState::failed);
  ASSERT_EQ(run('c'), 3U);
  ASSERT_EQ(succeed("last"), "released");
  EXPECT_FALSE(has("owner")) << "no request of it runs the key again";
}

TEST_F(RedisOnce, WithAQueueOfAStrangerIsRun) {
  ASSERT_EQ(run('a'), 1U);
  ASSERT_EQ(begin('b').kind, Kind::queued);
  server().talk().expect_ok({"SET", at() + ":queue", "of a stranger"});
  EXPECT_TRUE(server().talk().command(begin_words('b', {})).is_error());
  ASSERT_EQ(give_back(), "released");
  EXPECT_EQ(run('b'), 2U);
  EXPECT_EQ(server().talk().command({"GET", at() + ":queue"}).text, "of a stranger");
}

// Nothing brings it back, such as the server's clock: see tests/simulation/redis, where that steps.
TEST_F(RedisOnce, IsOverForARunnerThatWasToldSo) {
  ASSERT_EQ(run('a'), 1U);
  lapse();
  ASSERT_EQ(give_back(), "expired");
  EXPECT_TRUE(has("lease"));
  EXPECT_LE(end(), 0) << "over by any clock";
  ASSERT_EQ(run('b'), 2U);
  lapse();
  EXPECT_EQ(recall(std::to_string(number())).state, KeyState::pending);
  EXPECT_EQ(get("lease"), "");
  EXPECT_EQ(recall().state, KeyState::absent);
}

TEST_F(RedisOnce, TakesResultsOfAnyLengthThatIsAllowed) {
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, longest_outcome}) {
    server().talk().expect_ok({"DEL", at()});
    ASSERT_EQ(run('a', {.fingerprint = std::string(longest_fingerprint, '\0')}), 1U);
    const std::string bytes(size, '\0');
    ASSERT_EQ(succeed(bytes), "released");
    const redis::Answer told = begin('b', {.fingerprint = std::string(longest_fingerprint, '\0')});
    ASSERT_EQ(told.kind, Kind::recorded);
    EXPECT_EQ(told.record->bytes, bytes);
  }
}

// No client reads its reply any more.
TEST_F(RedisOnce, IsNotBegunByACopyThatComesLate) {
  EXPECT_EQ(begin('a', {.void_after = "1000"}).kind, Kind::too_late);
  EXPECT_EQ(recall().state, KeyState::absent);
  ASSERT_EQ(run('b'), 1U);
  EXPECT_EQ(begin('a', {.void_after = "1000"}).kind, Kind::too_late);
  EXPECT_EQ(waiting(), 0);
}

// Each key that the scripts write may be removed by hand.
TEST_F(RedisOnce, GoesOnWithoutAnyOneOfItsKeys) {
  for (const char* const which : {"", ":queue", ":waiters"}) {
    server().talk().expect_ok({"FLUSHALL"});
    RedisTalk inbox = listen("bc");
    ASSERT_EQ(run('a'), 1U);
    ASSERT_EQ(begin('b').kind, Kind::queued);
    ASSERT_EQ(server().talk().expect_ok({"DEL", at() + which}).integer, 1) << which;
    const bool held = *which != '\0';
    EXPECT_EQ(begin('c', {.waits = false}).kind, held ? Kind::busy : Kind::granted) << which;
    EXPECT_EQ(begin('b').kind, Kind::queued) << which;
    ASSERT_EQ(give_back(), "released");
    EXPECT_EQ(next(inbox).attempt, id('b')) << which;
    EXPECT_EQ(run('b'), 2U) << which;
  }
}

TEST_F(RedisOnce, WithoutMemoryIsConcludedWhollyOrNotAtAll) {
  ASSERT_EQ(run('a'), 1U);
  const Held hold = this->hold();
  const auto all = [&] { return server().talk().command({"HGETALL", at()}).words(); };
  const std::string before = all();
  const auto full = [&](bool on) {
    server().talk().expect_ok({"CONFIG", "SET", "maxmemory", on ? "1" : "0"});
  };
  full(true);
  const RedisAnswer refused = server().talk().command(
      words_of(redis::scripts::once::conclude, conclude_words(hold, 'Y', "bytes")));
  EXPECT_TRUE(refused.is_error());
  EXPECT_THAT(refused.text, HasSubstr("OOM"));
  EXPECT_EQ(all(), before);
  EXPECT_TRUE(recall().held);
  EXPECT_EQ(give_back(), "released") << "that needs none";
  full(false);
  ASSERT_EQ(run('b'), 2U);
  ASSERT_EQ(succeed("done"), "released");
  full(true);
  EXPECT_EQ(begin('c').record->bytes, "done") << "what is there is told";
  full(false);
}

TEST_F(RedisOnce, OfAStrangerIsLeftAlone) {
  server().talk().expect_ok({"SET", at(), "of a stranger"});
  EXPECT_TRUE(server().talk().command(begin_words('a', {})).is_error());
  EXPECT_EQ(server().talk().command({"GET", at()}).text, "of a stranger");
  server().talk().expect_ok({"DEL", at()});
  for (const char* const field :
       {"owner", "lease", "grant", "run", "forget_at", "fingerprint", "outcome", "outcome_grant",
        "undone_grant", "outcome_run", "result", "has_waiters"}) {
    for (const char* const rubbish : {"", "rubbish", "1", "Y 1", "\xff", "1 2 3 4 5"}) {
      server().talk().expect_ok({"DEL", at()});
      ASSERT_EQ(run('a'), 1U);
      ASSERT_EQ(succeed("done"), "released");
      set(field, rubbish);
      const RedisAnswer answer = server().talk().command(begin_words('b', {}));
      EXPECT_TRUE(answer.is_error() || redis::Answer::parse(reply_of(answer)))
          << field << " " << rubbish << ": " << answer.words();
    }
  }
}

// The lease of a run counts from the clock, even if the number of the run is ahead of the clock.
// Promise: S1, L1
TEST_F(RedisOnce, IsRunForItsLeaseWhenTheClockSteppedBack) {
  for (const std::uint64_t last : last_numbers()) {
    server().talk().expect_ok({"DEL", at()});
    ASSERT_EQ(run('a'), 1U);
    ASSERT_EQ(give_back(), "released");
    set("grant", std::to_string(last));
    const RedisAnswer begun = server().talk().expect_ok(begin_words('b', {}));
    ASSERT_EQ(word_of(begun), "granted");
    EXPECT_GT(number(), last);
    expect_lease(begun, 30'000);
    const RedisAnswer renewed =
        call(redis::scripts::renew, {"", attempt('b'), hold().number, "40000", "3640000"});
    ASSERT_EQ(renewed.items.at(2).integer, 1);
    expect_lease(renewed, 40'000);
    lapse();
    EXPECT_EQ(run('c'), 3U);
  }
}

// The release raises the number. The lease of 'a' would count from there.
// Promise: L1
TEST_F(RedisOnce, IsFreeAfterAReleaseByForce) {
  ASSERT_EQ(run('a'), 1U);
  for (const std::uint64_t its : {number(), ahead}) {
    set("grant", std::to_string(its));
    ASSERT_EQ(word_of(call(redis::scripts::once::force_release, {std::to_string(its)})),
              "released");
    EXPECT_GT(number(), its);
    EXPECT_FALSE(has("lease"));
    EXPECT_FALSE(recall().held);
    EXPECT_EQ(recall().state, KeyState::pending);
    ASSERT_GT(run('b'), 1U);
  }
}

TEST_F(RedisOnce, IsRenewedAsALockIs) {
  ASSERT_EQ(run('a'), 1U);
  const Held its{attempt('a'), std::to_string(number())};
  EXPECT_EQ(renew(its, 40'000), 1);
  EXPECT_EQ(run('a'), 1U);
  ASSERT_EQ(begin('b').kind, Kind::queued);
  lapse();
  EXPECT_EQ(renew(its, 40'000), 0);
  EXPECT_EQ(get("owner"), attempt('a')) << "a renewal gives a key to nobody";
  EXPECT_EQ(run('b'), 2U);
}

}  // namespace
}  // namespace mortise::fault
