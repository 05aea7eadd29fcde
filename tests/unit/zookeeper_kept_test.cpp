// SPDX-License-Identifier: MIT
// Goal: what is kept of a key reads as it was written, whatever bytes it has, and nothing else
// reads as such; no key's place is another's, or a lock's. Method: write, read, and change each
// byte.
#include "zookeeper/kept.hpp"
#include "zookeeper/lock_path.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <string_view>

namespace mortise::zookeeper {
namespace {

using namespace std::chrono_literals;

std::string all_bytes() {
  std::string bytes;
  for (int i = 0; i < 256; ++i) bytes.push_back(static_cast<char>(i));
  return bytes;
}

Kept some() {
  return {.record = {.state = KeyState::succeeded,
                     .bytes = all_bytes(),
                     .run = 3,
                     .number = 1234567890123U,
                     .fingerprint = "once1 \n 7 -"},
          .keep = 24h,
          .attempt = std::string(48, 'a'),
          .label = "a label\nof two lines"};
}

TEST(ZooKeeperKept, ReadsAsItWasWritten) {
  for (const KeyState state : {KeyState::pending, KeyState::succeeded, KeyState::failed}) {
    for (const std::string& bytes :
         {std::string(), all_bytes(), std::string(longest_outcome, ' ')}) {
      for (const std::string_view runner : {"", "0123456789abcdef"}) {
        Kept kept = some();
        kept.record.state = state;
        kept.record.bytes = bytes;
        kept.runner = runner;
        kept.name = bytes.substr(0, 300);
        const auto read = Kept::read(kept.bytes());
        ASSERT_TRUE(read);
        EXPECT_EQ(read->record.state, state);
        EXPECT_EQ(read->record.bytes, bytes);
        EXPECT_EQ(read->record.run, 3U);
        EXPECT_EQ(read->record.number, 1234567890123U);
        EXPECT_EQ(read->record.fingerprint, kept.record.fingerprint);
        EXPECT_EQ(read->keep, 24h);
        EXPECT_EQ(read->runner, runner);
        EXPECT_EQ(read->attempt, kept.attempt);
        EXPECT_EQ(read->label, kept.label);
        EXPECT_EQ(read->name, kept.name);
      }
    }
  }
}

TEST(ZooKeeperKept, IsNothingElse) {
  const std::string whole = some().bytes();
  for (const char* const other :
       {"", "\n", "label", "once2 pending 1 1 1 - a 0 0\n", "once1\n",
        "once1 absent 1 1 1 - a 0 0\n", "once1 pending -1 1 1 - a 0 0\n",
        "once1 pending 1 1 1 - a 1 0\n", "once1 pending 1 1 1 - a 0 1\n",
        "once1 pending 1 1 1 - a 0 0 more\n", "once1 pending 1 1 1 - a 0 99999999999999999999\n"}) {
    EXPECT_FALSE(Kept::read(other)) << other;
  }
  // However much of it is missing: the line, or what the line tells of.
  const std::size_t line = whole.find('\n');
  for (std::size_t size = 0; size <= line; ++size) EXPECT_FALSE(Kept::read(whole.substr(0, size)));
  EXPECT_FALSE(Kept::read(whole.substr(0, line + 1)));
}

TEST(ZooKeeperKept, ABrokenByteIsNoTrouble) {
  const std::string whole = some().bytes();
  for (std::size_t at = 0; at < whole.size(); ++at) {
    for (const char bad : {'\0', ' ', '\n', '9', '\xff'}) {
      std::string broken = whole;
      broken[at] = bad;
      const auto read = Kept::read(broken);
      if (read) {
        EXPECT_LE(read->record.bytes.size(), whole.size());
      }
    }
  }
}

TEST(ZooKeeperKept, IsOverByTheTimeOfTheLeader) {
  Memo memo{.there = true, .kept = some(), .written = 1'000'000};
  const std::int64_t keep = std::chrono::milliseconds(24h).count();
  const auto at = [](std::int64_t time) { return LeadersTime{.least = time, .most = time + 1}; };
  EXPECT_FALSE(memo.is_over({})) << "the time is not known";
  EXPECT_TRUE(memo.may_be_over({}));
  EXPECT_FALSE(memo.may_be_over(at(1'000'000 + keep - 2)));
  EXPECT_FALSE(memo.is_over(at(1'000'000 + keep - 1)));
  EXPECT_TRUE(memo.may_be_over(at(1'000'000 + keep - 1)));
  EXPECT_TRUE(memo.is_over(at(1'000'000 + keep)));
  EXPECT_FALSE(memo.may_be_over(at(1'000'000 + keep)));
  EXPECT_EQ(memo.record(false, at(1'000'000 + keep)).state, KeyState::absent);
  memo.kept.record.state = KeyState::pending;
  EXPECT_EQ(memo.record(true, at(1'000'000 + keep)).state, KeyState::pending) << "it runs";
  EXPECT_TRUE(memo.record(true, at(1'000'000 + keep)).held);
  EXPECT_EQ(memo.record(false, at(1'000'000 + keep)).run, 0U);
}

TEST(ZooKeeperKept, IsOfOneKey) {
  const std::string key(101, 'k');
  Memo memo{.there = true, .kept = some()};
  EXPECT_TRUE(memo.is_of("short"));
  EXPECT_FALSE(memo.is_of(key)) << "it is kept under a digest, and does not say whose it is";
  memo.kept.name = key;
  EXPECT_TRUE(memo.is_of(key));
  EXPECT_FALSE(memo.is_of(std::string(101, 'x')));
  EXPECT_FALSE(memo.is_of("short"));
}

TEST(ZooKeeperKept, HasAPlaceOfItsOwn) {
  std::set<std::string> kept;
  std::set<std::string> shelves_used;
  const std::string keys[] = {"x",
                              "%once",
                              "%once/kept",
                              "kept",
                              "a/b",
                              "a%2Fb",
                              ".",
                              "..",
                              " ",
                              std::string(200, 'n'),
                              std::string(199, 'n') + "m"};
  for (const std::string& key : keys) {
    const KeyPlace place = KeyPlace::of("/locks", key);
    EXPECT_TRUE(kept.insert(place.kept).second) << key;
    EXPECT_TRUE(place.kept.starts_with(place.shelf + "/")) << key;
    EXPECT_EQ(place.kept.find('/', place.shelf.size() + 1), std::string::npos) << key;
    EXPECT_EQ(place.queue, queue_beside("/locks", place.shelf));
    // So a list of keys knows by the names of nodes alone whom those in a queue want.
    EXPECT_EQ(mark_by(place.kept.substr(place.shelf.size() + 1)), place.mark) << key;
    EXPECT_EQ(path_below(queues_path("/locks"), place.mark.substr(0, 2)), place.queue) << key;
    EXPECT_EQ(shelf_beside("/locks", place.mark.substr(0, 2)), place.shelf) << key;
    for (const std::string& name : keys) {
      const std::string lock = lock_path("/locks", name);
      EXPECT_FALSE(place.kept.starts_with(lock + "/")) << name;
      EXPECT_FALSE(place.queue.starts_with(lock + "/")) << name;
      EXPECT_NE(lock, keys_path("/locks")) << name;
    }
  }
  for (const char* const other : {"", "%", "%once", "%zz", "%s", "a b"}) {
    EXPECT_FALSE(mark_by(other)) << other;
  }
  for (std::size_t i = 0; i < shelves; ++i) shelves_used.insert(shelf_path("/locks", i));
  EXPECT_EQ(shelves_used.size(), shelves);
  EXPECT_EQ(shelf_path("/locks", shelves), shelf_path("/locks", 0));
  for (int i = 0; i < 1'000; ++i) {
    EXPECT_TRUE(shelves_used.contains(KeyPlace::of("/locks", std::to_string(i)).shelf)) << i;
  }
}

}  // namespace
}  // namespace mortise::zookeeper
