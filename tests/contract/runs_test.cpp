// SPDX-License-Identifier: MIT
// Goal: one at a time runs a key, all others are told what came of it, and nothing is recorded by a
// runner that has lost the key (O1, O2). Method: many at once; runners that are cut off or robbed.
#include "support/contract_keys.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace mortise::contract {
namespace {

// Promise: O1
MORTISE_TEST(Runs, OfManyAtOnceOneRunsAndAllAreTold, Quality::once) {
  std::vector<Client> clients;
  for (int i = 0; i < 3; ++i) clients.push_back(client());
  constexpr int rounds = 5;
  for (int round = 0; round < rounds; ++round) {
    const std::string key = "key " + std::to_string(round);
    Work work;
    std::atomic<int> at_work{0};
    std::atomic<int> replayed{0};
    {
      std::vector<std::jthread> threads;
      for (int i = 0; i < 24; ++i) {
        threads.emplace_back([&, i] {
          Client& mine = clients[static_cast<std::size_t>(i) % clients.size()];
          const Outcome outcome = mine.make_once(key, {.wait = patience}).run([&] {
            EXPECT_EQ(++at_work, 1);
            std::this_thread::sleep_for(2ms);
            --at_work;
            return work();
          });
          expect_success(outcome, "done 1");
          if (outcome.replayed()) ++replayed;
        });
      }
    }
    EXPECT_EQ(work.times(), 1);
    EXPECT_EQ(replayed, 23);
  }
}

// Promise: O1
MORTISE_TEST(Runs, ProcessesRunAKeyOnce, Quality::once, Hook::processes, Build::no_sanitizer) {
  std::vector<pid_t> children;
  std::array<int, 2> pipe{};
  ASSERT_EQ(::pipe(pipe.data()), 0);
  for (int i = 0; i < 6; ++i) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      Client mine = client();
      const Outcome outcome = mine.make_once("key", {.wait = patience}).run([&] {
        const char did = 'x';
        return ::write(pipe[1], &did, 1) == 1 ? std::to_string(i) : std::string();
      });
      const bool good = outcome.state() == KeyState::succeeded && !outcome.result().empty();
      mine.close();
      ::_exit(good ? 0 : 1);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  ::close(pipe[1]);
  std::string done(100, '\0');
  EXPECT_EQ(::read(pipe[0], done.data(), done.size()), 1) << "so often it was run";
  ::close(pipe[0]);
}

// Promise: O1
MORTISE_TEST(Runs, WaitersAreWokenWithTheResult, Quality::once) {
  Client runner = client();
  std::vector<Client> clients;
  for (int i = 0; i < 3; ++i) clients.push_back(client());
  Run run = runner.make_once("key").begin();
  std::vector<std::unique_ptr<Worker>> workers;
  std::vector<std::future<Outcome>> outcomes;
  for (int i = 0; i < 9; ++i) {
    workers.push_back(std::make_unique<Worker>());
    outcomes.push_back(workers.back()->start([&, i] {
      Client& mine = i % 4 == 3 ? runner : clients[static_cast<std::size_t>(i) % 3];
      return mine.make_once("key", {.wait = patience}).run(never_run());
    }));
    ASSERT_TRUE(workers.back()->falls_asleep());
  }
  test::OwnTimeLimit alone(fallback_period, patience);
  expect_success(run.succeed("done"), "done");
  for (std::future<Outcome>& each : outcomes) {
    ASSERT_EQ(each.wait_for(patience), std::future_status::ready);
    const Outcome outcome = each.get();
    expect_success(outcome, "done");
    EXPECT_TRUE(outcome.replayed());
  }
  if (capabilities().push_wakeup == Support::yes) {
    EXPECT_FALSE(alone.is_over()) << "they found it by asking again";
  }
}

MORTISE_TEST(Runs, AfterAFailureOneOfThoseWhoWaitRunsIt, Quality::once) {
  Client runner = client();
  Client one = client();
  Client other = client();
  Run run = runner.make_once("key").begin();
  Work work;
  std::atomic<int> at_work{0};
  std::vector<std::unique_ptr<Worker>> workers;
  std::vector<std::future<Outcome>> outcomes;
  for (int i = 0; i < 6; ++i) {
    workers.push_back(std::make_unique<Worker>());
    outcomes.push_back(workers.back()->start([&, i] {
      Client& mine = i % 3 == 0 ? runner : i % 3 == 1 ? one : other;
      return mine.make_once("key", {.wait = patience}).run([&](Run& second) {
        EXPECT_EQ(++at_work, 1);
        EXPECT_EQ(second.number(), 2U);
        --at_work;
        return work();
      });
    }));
    ASSERT_TRUE(workers.back()->falls_asleep());
  }
  Worker asker;
  auto unmoved = asker.start([&] {
    return other.make_once("key", {.repeat = Repeat::never, .wait = patience}).run(never_run());
  });
  ASSERT_TRUE(asker.falls_asleep());
  expect_failure(run.fail("not yet"), "not yet");
  for (std::future<Outcome>& each : outcomes) expect_success(each.get(), "done 1");
  EXPECT_EQ(work.times(), 1);
  // By the first failure, or by the success after it.
  const Outcome told = unmoved.get();
  EXPECT_TRUE(told.replayed());
  EXPECT_NE(told.state(), KeyState::pending);
}

MORTISE_TEST(Runs, WhoWillNotWaitIsToldThatItIsPending, Quality::once) {
  Client one = client();
  Client other = client();
  Run run = one.make_once("key").begin();
  for (Client* const each : {&one, &other}) {
    for (const std::chrono::nanoseconds wait : {0ms, -5ms, answer_time}) {
      Worker worker;
      worker.run([&] {
        std::error_code ec = make_error_code(Errc::closed);
        const Outcome outcome = each->make_once("key", {.wait = wait}).run(never_run(), ec);
        EXPECT_FALSE(ec);
        EXPECT_EQ(outcome.state(), KeyState::pending);
        EXPECT_FALSE(outcome.replayed());
        EXPECT_FALSE(outcome.lost());
        Run none = each->make_once("key", {.wait = wait}).begin();
        EXPECT_FALSE(none);
        EXPECT_EQ(none.error(), Errc::timeout);
        EXPECT_EQ(none.number(), 0U);
        EXPECT_EQ(none.outcome().state(), KeyState::pending);
      });
    }
  }
  EXPECT_GT(run.valid_for(), 0ns);
  expect_success(run.succeed("done"), "done");
}

MORTISE_TEST(Runs, AWaitCanBeStopped, Quality::once) {
  Client one = client();
  Client other = client();
  Run run = one.make_once("key").begin();
  for (Client* const each : {&one, &other}) {
    std::stop_source stop;
    Worker worker;
    auto stopped =
        worker.start([&] { return each->make_once("key", {.stop = stop.get_token()}).begin(); });
    ASSERT_TRUE(worker.falls_asleep());
    stop.request_stop();
    const Run none = stopped.get();
    EXPECT_FALSE(none);
    EXPECT_EQ(none.error(), Errc::cancelled);
    EXPECT_EQ(none.outcome().state(), KeyState::pending);
  }
  expect_success(run.succeed("done"), "done");
}

// Promise: O2
MORTISE_TEST(Runs, WhoIsCutOffRecordsNothing, Quality::once, Quality::leases) {
  take_any_clock();
  Party party = this->party();
  Client other = client();
  const OnceOptions brief{.lease = real_time() ? short_lease() : 30'000ms};
  Run run = party.client.make_once("key", brief).begin();
  EXPECT_EQ(run.number(), 1U);
  party.probe->sever();
  if (!real_time()) clock().advance(lease_of({.lease = brief.lease}));
  ASSERT_TRUE(eventually([&] { return run.lost().stop_requested(); }));
  EXPECT_EQ(run.valid_for(), 0ns);
  party.probe->mend();
  const Outcome second = other.make_once("key", {.wait = patience}).run([](Run& mine) {
    EXPECT_EQ(mine.number(), 2U) << "the first may have had its effect";
    return "second";
  });
  std::error_code ec = make_error_code(Errc::closed);
  const Outcome lost = run.succeed("first", ec);
  EXPECT_FALSE(ec);
  EXPECT_TRUE(lost.lost());
  EXPECT_EQ(lost.state(), KeyState::pending);
  EXPECT_EQ(lost.result(), "");
  EXPECT_FALSE(run);
  EXPECT_GT(second.token(), run.token());
  expect_success(other.make_once("key").look(), "second");
  expect_success(party.client.make_once("key").run(never_run()), "second");
}

// Promise: O2
MORTISE_TEST(Runs, WhoDoesNotKnowThatItLostRecordsNothing, Quality::once, Hook::take_key_away) {
  Client one = client();
  Client other = client();
  for (const bool success : {true, false}) {
    const std::string key = success ? "success" : "failure";
    Run run = one.make_once(key).begin();
    store().take_key_away(key);
    Run second = other.make_once(key, {.wait = patience}).begin();
    EXPECT_EQ(second.number(), 2U);
    const Outcome lost = success ? run.succeed("first") : run.fail("first");
    EXPECT_TRUE(lost.lost());
    EXPECT_EQ(other.make_once(key).look().state(), KeyState::pending) << "it was recorded";
    expect_success(second.succeed("second"), "second");
    expect_success(one.make_once(key).run(never_run()), "second");
  }
}

// Promise: O2
MORTISE_TEST(Runs, ALossIsToldByTheBodysForm, Quality::once, Hook::take_key_away) {
  Client one = client();
  const Outcome outcome = one.make_once("key").run([&] {
    store().take_key_away("key");
    return "done";
  });
  EXPECT_TRUE(outcome.lost());
  EXPECT_EQ(outcome.state(), KeyState::pending);
  EXPECT_EQ(one.make_once("key").look().state(), KeyState::pending);
  expect_success(one.make_once("key").run([](Run& run) {
    EXPECT_EQ(run.number(), 2U);
    return "again";
  }),
                 "again");
}

// Of a hundred callers in one process two or three ask the server.
MORTISE_TEST(Runs, ThoseWhoWaitInOneProcessShareTheAnswer, Quality::once) {
  Party party = this->party();
  Client other = client();
  constexpr int callers = 40;
  for (const bool here : {true, false}) {
    const std::string key = here ? "run here" : "run elsewhere";
    Run run = (here ? party.client : other).make_once(key).begin();
    const std::uint64_t before = party.probe->counts().acquires;
    std::vector<std::unique_ptr<Worker>> workers;
    std::vector<std::future<Outcome>> outcomes;
    for (int i = 0; i < callers; ++i) {
      workers.push_back(std::make_unique<Worker>());
      outcomes.push_back(workers.back()->start(
          [&] { return party.client.make_once(key, {.wait = patience}).run(never_run()); }));
    }
    for (const auto& each : workers) ASSERT_TRUE(each->falls_asleep());
    expect_success(run.succeed("done"), "done");
    for (std::future<Outcome>& each : outcomes) expect_success(each.get(), "done");
    // A second may ask again where the machine was busy for a fallback period.
    EXPECT_LT(party.probe->counts().acquires - before, 10U) << key;
  }
}

// Whoever does not wait is told what is remembered, however many ask at once.
MORTISE_TEST(Runs, WhatIsRememberedIsNeverPending, Quality::once) {
  Client one = client();
  expect_success(one.make_once("key").run([] { return "done"; }), "done");
  std::vector<std::jthread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      for (int k = 0; k < 30; ++k) {
        expect_success(one.make_once("key", {.wait = 0s}).run(never_run()), "done");
      }
    });
  }
}

// Whoever is refused knows no bytes that it could tell the others of its process.
MORTISE_TEST(Runs, ARefusalIsNoAnswerForOthers, Quality::once) {
  Client one = client();
  Client other = client();
  expect_success(other.make_once("key", {.fingerprint = "a"}).run([] { return "done"; }), "done");
  std::vector<std::jthread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&, i] {
      for (int k = 0; k < 100; ++k) {
        std::error_code ec;
        const std::string mine = (i + k) % 2 == 0 ? "a" : "b";
        const Outcome told =
            one.make_once("key", {.fingerprint = mine, .wait = patience}).run(never_run(), ec);
        EXPECT_EQ(told.result(), mine == "a" ? "done" : "");
        EXPECT_EQ(ec, mine == "a" ? std::error_code() : make_error_code(Errc::mismatch));
      }
    });
  }
}

// In one process, too, nobody waits for the run of another request.
MORTISE_TEST(Runs, AnotherFingerprintIsRefusedWhileItWaits, Quality::once) {
  Client one = client();
  Client other = client();
  Run elsewhere = other.make_once("key", {.fingerprint = "a"}).begin();
  Worker waits;
  auto told = waits.start([&] {
    return one.make_once("key", {.fingerprint = "a", .wait = patience}).run(never_run());
  });
  ASSERT_TRUE(waits.falls_asleep());
  Worker asks;
  asks.run([&] {
    std::error_code ec;
    static_cast<void>(
        one.make_once("key", {.fingerprint = "b", .wait = patience}).run(never_run(), ec));
    EXPECT_EQ(ec, Errc::mismatch);
  });
  expect_success(elsewhere.succeed("done"), "done");
  expect_success(told.get(), "done");
}

// Promise: O2
MORTISE_TEST(Runs, WhoseReplyIsLostIsNotToldThatItLost, Quality::once, Hook::lost_messages) {
  Client one = client();
  store().misbehave({.lose_reply = 0.4, .seed = 7});
  int recorded = 0;
  for (int i = 0; i < 16; ++i) {
    const std::string key = "key " + std::to_string(i);
    std::error_code ec;
    // A reply is awaited for a sixth of it.
    const Outcome outcome =
        one.make_once(key, {.lease = short_lease() * 4}).run([] { return "done"; }, ec);
    EXPECT_FALSE(outcome.lost()) << "nobody else had it";
    if (ec) continue;
    ++recorded;
    expect_success(outcome, "done");
  }
  EXPECT_GT(recorded, 8);
  store().misbehave({});
}

// Promise: O1
MORTISE_TEST(Runs, LostMessagesChangeNoOutcome, Quality::once, Hook::lost_messages) {
  Client one = client();
  Client other = client();
  store().misbehave({.lose_request = 0.2, .lose_reply = 0.2, .seed = 4});
  // Where a lost message costs no connection, it costs the time for an answer.
  const int rounds = ground().answers_at_once ? 5 : 12;
  int recorded = 0;
  for (int i = 0; i < rounds; ++i) {
    const std::string key = "key " + std::to_string(i);
    Work work;
    std::vector<Outcome> told(2);
    {
      std::vector<std::jthread> threads;
      for (std::size_t k = 0; k < 2; ++k) {
        threads.emplace_back([&, k] {
          std::error_code ec;
          Client& mine = k == 0 ? one : other;
          told[k] = mine.make_once(key, {.wait = patience, .lease = 1s}).run(work, ec);
          if (ec) {
            EXPECT_TRUE(is_retryable(ec)) << ec.message();
          }
        });
      }
    }
    for (const Outcome& outcome : told) {
      if (outcome.state() != KeyState::succeeded) continue;
      ++recorded;
      std::error_code ec;
      Outcome seen;
      EXPECT_TRUE(eventually([&] {
        seen = one.make_once(key).look(ec);
        return !ec;
      }));
      expect_success(seen, outcome.result());
    }
  }
  EXPECT_GT(recorded, rounds);
  store().misbehave({});
}

}  // namespace
}  // namespace mortise::contract
