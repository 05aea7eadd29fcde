// SPDX-License-Identifier: MIT
// Goal: wherever a runner dies, the key is as it was before its last word or after it, the next run
// is counted, and of many processes one runs each key. Method: children that are killed, files as a
// death leaves them, and a crowd.
#include "integration/file_key_fixture.hpp"
#include "model/process.hpp"
#include "model/seed.hpp"
#include "support/contract_process.hpp"
#include "support/eventually.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <functional>
#include <random>
#include <thread>
#include <vector>

namespace mortise::file {
namespace {

using namespace std::chrono_literals;

class FileKeyCrashTest : public FileKeyTest {
 protected:
  struct Board {
    std::atomic<int> stage{0};
    std::atomic<std::uint64_t> number{0};
    std::atomic<std::uint64_t> done{0};
  };
  Board& board() { return *board_.operator->(); }
  bool reaches(int stage) {
    const Instant until = BootClock::now() + soon;
    while (board().stage.load() < stage && BootClock::now() < until) std::this_thread::yield();
    return board().stage.load() >= stage;
  }
  /// A child that runs "a", does the rest, and then is there until it is killed.
  model::Process running(const std::function<void(KeyUser&, const GrantedRun&)>& then = {}) {
    return model::Process::fork_child([this, then] {
      KeyUser client = keys();
      const auto run = client.begin("a");
      if (!run) return 1;
      if (then) then(client, *run);
      board().number.store(run->hold.number);
      board().stage.store(1);
      for (;;) ::pause();
    });
  }

 private:
  contract::Shared<Board> board_;
};

TEST_F(FileKeyCrashTest, AKilledRunnerIsFollowedAtOnce) {
  model::Process child = running();
  ASSERT_TRUE(reaches(1));
  KeyUser client = keys();
  EXPECT_FALSE(client.begin("a"));
  EXPECT_TRUE(client.look("a").held);
  child.kill();
  EXPECT_FALSE(client.look("a").held);
  const auto run = client.begin("a");
  ASSERT_TRUE(run);
  EXPECT_EQ(run->run, 2U);
  EXPECT_GT(run->hold.number, board().number.load());
}

TEST_F(FileKeyCrashTest, AWaiterFindsTheDeathWhenItAsksAgain) {
  model::Process child = running();
  ASSERT_TRUE(reaches(1));
  KeyUser client = keys();
  const auto waits = client.ask("a", KeyUser::a_day(), true);
  child.kill();
  ASSERT_TRUE(client.user().wait(waits, soon, 20ms));
  ASSERT_TRUE(KeyUser::granted(*waits));
  EXPECT_EQ(waits->grant().run, 2U);
}

// Between the write of the record and the flush, nobody is told: the disk may not have it.
TEST_F(FileKeyCrashTest, WhatIsNotSettledIsToldToNobodyWhileItsRunnerLives) {
  model::Process child = running([this](KeyUser&, const GrantedRun&) {
    const KeySlot slot = KeyFile(path_of_key("a")).write(KeyState::succeeded, "receipt");
    board().done.store(slot.sequence);
  });
  ASSERT_TRUE(reaches(1));
  KeyUser client = keys();
  const auto busy = client.ask("a", KeyUser::a_day());
  EXPECT_TRUE(busy->done());
  EXPECT_FALSE(busy->record());
  EXPECT_EQ(client.look("a").state, KeyState::pending);
  EXPECT_TRUE(client.look("a").held);
  EXPECT_FALSE(client.forget("a"));
  child.kill();
  // Now it is settled by whoever comes, and then stands.
  EXPECT_EQ(client.look("a").bytes, "receipt");
  EXPECT_EQ(KeyFile(path_of_key("a")).page().settled(KeyFile(path_of_key("a")).newest()), false);
  const auto record = client.replay("a");
  ASSERT_TRUE(record);
  EXPECT_EQ(record->bytes, "receipt");
  EXPECT_EQ(record->run, 1U);
  const KeyFile file(path_of_key("a"));
  EXPECT_EQ(file.newest().sequence, board().done.load());
  EXPECT_TRUE(file.page().settled(file.newest()));
  EXPECT_FALSE(client.look("a").held);
}

TEST_F(FileKeyCrashTest, WhatIsSettledIsToldAlthoughItsRunnerHoldsTheKeyStill) {
  model::Process child = running([this](KeyUser&, const GrantedRun&) {
    const KeyFile file(path_of_key("a"));
    const KeySlot slot = file.write(KeyState::succeeded, std::string(65536, 'r'));
    EXPECT_EQ(write_settled(file.fd(), slot.sequence), 0);
  });
  ASSERT_TRUE(reaches(1));
  KeyUser client = keys();
  EXPECT_EQ(client.replay("a")->bytes, std::string(65536, 'r'));
  EXPECT_EQ(client.look("a").state, KeyState::succeeded);
  child.kill();
  EXPECT_EQ(client.replay("a")->bytes, std::string(65536, 'r'));
}

// The bytes are written first; a power failure may lose them and leave the record.
TEST_F(FileKeyCrashTest, ARecordThatIsHalfOnTheDiskIsNone) {
  for (const bool inside : {true, false}) {
    KeyUser client = keys();
    const auto first = client.begin("a");
    ASSERT_TRUE(first);
    EXPECT_EQ(first->run, 1U);
    ASSERT_EQ(client.give_back(*first), Released::released);
    {
      const KeyFile file(path_of_key("a"));
      const KeySlot slot = file.write(KeyState::succeeded, std::string(inside ? 20 : 20000, 'r'));
      if (inside) {
        file.damage(slot, 100);
      } else {
        file.damage_bytes(slot, 7000);
      }
    }
    EXPECT_EQ(client.look("a").state, KeyState::pending);
    EXPECT_FALSE(client.look("a").held);
    const auto run = client.begin("a");
    ASSERT_TRUE(run);
    EXPECT_EQ(run->run, 2U);
    EXPECT_GT(run->hold.number, first->hold.number);
    ASSERT_EQ(client.succeed(*run, "x"), Released::released);
    EXPECT_EQ(client.replay("a")->bytes, "x");
    EXPECT_TRUE(client.forget("a"));
  }
}

TEST_F(FileKeyCrashTest, AnOutcomeThatIsTornAtAnyByteIsNone) {
  KeyUser client = keys();
  ASSERT_EQ(client.give_back(*client.begin("a")), Released::released);
  const KeyFile file(path_of_key("a"));
  const KeySlot slot = file.write(KeyState::succeeded, std::string(432, 'r'));
  std::array<char, sizeof slot> bytes{};
  ASSERT_EQ(file.read_place(slot, bytes), sizeof slot);
  for (std::size_t written = 0; written < bytes.size(); ++written) {
    std::array<char, sizeof slot> torn{};
    std::copy_n(bytes.begin(), written, torn.begin());
    file.write_place(slot, torn);
    const mortise::Record seen = client.look("a");
    ASSERT_EQ(seen.state, KeyState::pending) << written << " bytes";
    ASSERT_EQ(seen.run, 1U);
    ASSERT_FALSE(client.replay("a", {.fingerprint = "another", .keep = 1h})->held);
  }
  file.write_place(slot, bytes);
  EXPECT_EQ(client.replay("a")->bytes, std::string(432, 'r'));
}

TEST_F(FileKeyCrashTest, ABeginThatIsHalfOnTheDiskIsNone) {
  KeyUser client = keys();
  ASSERT_EQ(client.fail(*client.begin("a"), "no"), Released::released);
  {
    const KeyFile file(path_of_key("a"));
    file.damage(file.write(KeyState::pending, ""), 10);
  }
  EXPECT_EQ(client.look("a").bytes, "no");
  EXPECT_EQ(client.replay("a", {.repeat = Repeat::never, .keep = 1h})->bytes, "no");
  const auto run = client.begin("a");
  ASSERT_TRUE(run);
  EXPECT_EQ(run->run, 2U);
}

// Promise: O4
TEST_F(FileKeyCrashTest, KilledAnywhereTheKeyIsWhole) {
  std::mt19937_64 random(model::test_seed());
  const Memory always{.repeat = Repeat::always, .keep = 1h};
  const auto bytes_of = [](std::uint64_t run) {
    return std::string(run % 3 == 0 ? 30000 : 30, static_cast<char>('a' + run % 23));
  };
  std::uint64_t last = 0;
  std::uint64_t number = 0;
  for (int round = 0; round < 60; ++round) {
    board().stage.store(0);
    model::Process child = model::Process::fork_child([&] {
      KeyUser mine = keys();
      for (;;) {
        const auto run = mine.begin("a", always);
        if (!run) return 1;
        if (mine.succeed(*run, bytes_of(run->run)) != Released::released) return 2;
        board().done.store(run->run);
        board().number.store(run->hold.number);
        board().stage.store(1);
      }
    });
    ASSERT_TRUE(reaches(1));
    std::atomic<std::uint64_t> spin{random() % 20000};
    while (spin.load() > 0) spin.fetch_sub(1);
    ASSERT_TRUE(child.kill().killed()) << "round " << round;
    const std::uint64_t said = board().done.load();
    ASSERT_GT(said, last);
    KeyUser client = keys();
    const mortise::Record seen = client.look("a");
    // The last that was said stands, or the next one, begun or ended.
    ASSERT_FALSE(seen.held);
    ASSERT_GE(seen.run, said);
    ASSERT_LE(seen.run, said + 1);
    if (seen.state == KeyState::succeeded) {
      ASSERT_TRUE(seen.bytes == bytes_of(seen.run)) << "round " << round;
      const auto told = client.replay("a");
      ASSERT_TRUE(told);
      ASSERT_TRUE(told->bytes == seen.bytes);
    } else {
      ASSERT_EQ(seen.state, KeyState::pending);
      ASSERT_EQ(seen.run, said + 1);
    }
    const auto run = client.begin("a", always);
    ASSERT_TRUE(run);
    ASSERT_EQ(run->run, seen.run + 1);
    ASSERT_GT(run->hold.number, board().number.load());
    ASSERT_GT(run->hold.number, number);
    number = run->hold.number;
    last = run->run;
    ASSERT_EQ(client.succeed(*run, bytes_of(run->run)), Released::released);
  }
}

// Twenty processes with ten threads each, and fifty keys.
// Promise: O1
TEST_F(FileKeyCrashTest, InACrowdEachKeyIsRunOnce) {
  constexpr std::size_t processes = 20;
  constexpr std::size_t threads = 10;
  constexpr std::size_t keys_there = 50;
  struct Counts {
    std::array<std::atomic<int>, keys_there> ran{};
    std::array<std::atomic<int>, keys_there> told{};
    std::atomic<int> wrong{0};
    std::atomic<bool> go{false};
  };
  contract::Shared<Counts> shared;
  Counts& counts = *shared.operator->();
  const auto result_of = [](std::size_t key) {
    return std::string(key % 5 == 0 ? longest_outcome : 40, static_cast<char>('A' + key));
  };
  const auto one = [&](KeyUser client, std::size_t seed) {
    for (std::size_t i = 0; i < keys_there; ++i) {
      const std::size_t key = (seed * 7 + i) % keys_there;
      const auto asked = client.ask("key/" + std::to_string(key), KeyUser::a_day(), true);
      if (!client.user().wait(asked, 6 * soon, 1s)) {
        counts.wrong.fetch_add(1);
      } else if (const auto run = KeyUser::granted(*asked)) {
        counts.ran[key].fetch_add(1);
        if (run->run != 1) counts.wrong.fetch_add(1);
        std::this_thread::yield();
        if (client.succeed(*run, result_of(key)) != Released::released) counts.wrong.fetch_add(1);
      } else if (asked->record() && asked->record()->bytes == result_of(key)) {
        counts.told[key].fetch_add(1);
      } else {
        counts.wrong.fetch_add(1);
      }
    }
  };
  std::vector<model::Process> children;
  for (std::size_t i = 0; i < processes; ++i) {
    children.push_back(model::Process::fork_child([&, i] {
      const KeyUser client = keys();
      std::vector<std::thread> crowd;
      while (!counts.go.load()) std::this_thread::yield();
      for (std::size_t t = 0; t < threads; ++t) {
        crowd.emplace_back([&, t] { one(client, i * threads + t); });
      }
      for (std::thread& thread : crowd) thread.join();
      return 0;
    }));
  }
  counts.go.store(true);
  for (model::Process& child : children) {
    const auto end = child.wait_for(120s);
    ASSERT_TRUE(end);
    EXPECT_EQ(end->code, 0);
  }
  EXPECT_EQ(counts.wrong.load(), 0);
  for (std::size_t key = 0; key < keys_there; ++key) {
    EXPECT_EQ(counts.ran[key].load(), 1) << key;
    EXPECT_EQ(counts.told[key].load(), static_cast<int>(processes * threads) - 1) << key;
  }
}

// Promise: S9
TEST_F(FileKeyCrashTest, AForkedChildKeepsNoRunAlive) {
  model::Process child = running([this](KeyUser& client, const GrantedRun& run) {
    if (::fork() != 0) return;
    // It ends by itself at the end of the test, or after its time.
    board().done.store(client.succeed(run, "child") == Released::unknown ? 1 : 2);
    const Instant until = BootClock::now() + 2 * soon;
    while (board().stage.load() < 2 && BootClock::now() < until) std::this_thread::yield();
    ::_exit(0);
  });
  ASSERT_TRUE(reaches(1));
  ASSERT_TRUE(test::eventually([&] { return board().done.load() != 0; }));
  EXPECT_EQ(board().done.load(), 1U) << "the child was let in";
  KeyUser client = keys();
  EXPECT_FALSE(client.begin("a"));
  child.kill();
  const auto run = client.begin("a");
  ASSERT_TRUE(run);
  EXPECT_EQ(run->run, 2U);
  board().stage.store(2);
}

}  // namespace
}  // namespace mortise::file
