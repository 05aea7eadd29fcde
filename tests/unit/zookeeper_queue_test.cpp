// SPDX-License-Identifier: MIT
// Goal: whose turn it is in a queue, with nodes of every library that may stand in it, and nobody's
// where that is not certain. Method: known answers, and random queues against a plain sort.
#include "model/seed.hpp"
#include "zookeeper/lock_path.hpp"
#include "zookeeper/queue.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace mortise::zookeeper {
namespace {

TEST(ZooKeeperQueueTest, ReadsTheNumbersOfEveryLibrary) {
  EXPECT_EQ(sequence_of("0123456789abcdef-lock-0000000042"), 42);
  EXPECT_EQ(sequence_of("_c_8d0a43c8-1f1c-4e1a-a1a7-7ae5c8a1f1f3-lock-0000000007"), 7) << "Curator";
  EXPECT_EQ(sequence_of("_c_b1946ac92492d2347c6235b4d2611184-lock-0000000008"), 8) << "Go";
  EXPECT_EQ(sequence_of("d41d8cd98f00b204e9800998ecf8427e__lock__0000000009"), 9) << "kazoo";
  EXPECT_EQ(sequence_of("lock-0000000010"), 10) << ".NET";
  EXPECT_EQ(sequence_of("block-lock-0000000011"), 11);
  EXPECT_EQ(sequence_of("x-lock-2147483647"), 2'147'483'647);
  EXPECT_EQ(sequence_of("x-lock--2147483648"), -2'147'483'648) << "servers that went on counting";
}

TEST(ZooKeeperQueueTest, TakesNothingElseForALock) {
  for (const char* const node :
       {"", "lock-", "x-lock-", "x-lock-12a", "x-lock-1 ", "orders", "lease-0000000001",
        "_c_x-latch-0000000001", "0000000001", "x-lock-99999999999999999999"}) {
    EXPECT_FALSE(sequence_of(node)) << node;
  }
}

TEST(ZooKeeperQueueTest, NodesOfAnAttemptHaveTheirOwnPrefixEachRound) {
  std::set<std::string> prefixes;
  for (std::uint64_t high : {0U, 1U}) {
    for (std::uint64_t low : {0U, 1U}) {
      for (std::uint64_t sequence : {1U, 2U}) {
        for (std::uint32_t round : {0U, 1U}) {
          const std::string prefix =
              node_prefix({.client_high = high, .client_low = low, .sequence = sequence}, round);
          EXPECT_EQ(prefix.size(), 22U);
          EXPECT_TRUE(prefix.ends_with("-lock-"));
          prefixes.insert(prefix);
        }
      }
    }
  }
  EXPECT_EQ(prefixes.size(), 16U);
}

TEST(ZooKeeperQueueTest, TellsTheHeadThePredecessorAndTheCount) {
  const Children children{"c-lock-0000000009", "a__lock__0000000002", "other", "b-lock-0000000005"};
  const Place first = Place::of(children, "a__lock__0000000002");
  EXPECT_EQ(first.kind, Place::Kind::first);
  EXPECT_EQ(first.count, 3U);
  const Place last = Place::of(children, "c-lock-0000000009");
  EXPECT_EQ(last.kind, Place::Kind::behind);
  EXPECT_EQ(last.predecessor, "b-lock-0000000005");
  EXPECT_EQ(last.head, "a__lock__0000000002");
  EXPECT_EQ(last.ahead, 2U);
  EXPECT_EQ(Place::of(children, "d-lock-0000000010").kind, Place::Kind::missing);
  EXPECT_EQ(Place::of(children, {}).head, "a__lock__0000000002");
  EXPECT_EQ(Place::of({}, {}).count, 0U);
}

TEST(ZooKeeperQueueTest, ATieIsNobodysTurn) {
  const Children children{"a-lock-2147483647", "b-lock-2147483647"};
  EXPECT_EQ(Place::of(children, "a-lock-2147483647").kind, Place::Kind::tied);
  EXPECT_EQ(Place::of(children, "b-lock-2147483647").kind, Place::Kind::tied);
  // Also where the other library writes its number in another way.
  EXPECT_EQ(Place::of({"a-lock-0000000001", "b__lock__1"}, "a-lock-0000000001").kind,
            Place::Kind::tied);
}

TEST(ZooKeeperQueueTest, WhoDoesNotSeeOursIsNotJoined) {
  struct Case {
    const char* other;
    std::vector<Naming> seen_by;  // whom it waits for
  };
  const std::vector<Case> cases{
      {"_c_x-__READ__0000000001", {Naming::read_write}},
      {"_c_x-__WRIT__0000000001", {Naming::read_write}},
      {"_c_x-lock-0000000001", {Naming::mutex}},
      // Whether it does is for its user to say.
      {"x__rlock__0000000001", {Naming::mutex, Naming::read_write, Naming::kazoo}},
      {"x__lock__0000000001", {Naming::mutex, Naming::read_write, Naming::kazoo}},
      {"0123456789abcdef-__WRIT__0000000001", {Naming::mutex, Naming::read_write, Naming::kazoo}},
      {"0123456789abcdef-rlock-0000000001", {Naming::mutex, Naming::read_write, Naming::kazoo}},
  };
  for (const auto& [other, seen_by] : cases) {
    for (const Naming naming : {Naming::mutex, Naming::read_write, Naming::kazoo}) {
      for (const bool shared : {false, true}) {
        const std::string own =
            node_prefix({.client_high = 1}, 0, {}, shared, naming) + "0000000002";
        const Place place = Place::of({own, other}, own, naming);
        const bool seen = std::find(seen_by.begin(), seen_by.end(), naming) != seen_by.end();
        const bool both_read = shared && Standing::of(other)->shared;
        EXPECT_EQ(place.kind, !seen       ? Place::Kind::foreign
                              : both_read ? Place::Kind::first
                                          : Place::Kind::behind)
            << own << " behind " << other;
      }
    }
  }
}

TEST(ZooKeeperQueueTest, ReadersHaveNamesOfTheirOwn) {
  struct Case {
    const char* node;
    bool shared;
    bool ours;
    Naming naming;
  };
  for (const Case& each :
       {Case{"0123456789abcdef-lock-0000000001", false, true, Naming::mutex},
        Case{"0123456789abcdef-rlock-0000000001", true, true, Naming::mutex},
        Case{"0123456789abcdef-0123456789abcdef-rlock-0000000001", true, true, Naming::mutex},
        Case{"0123456789abcdef-__WRIT__0000000001", false, true, Naming::read_write},
        Case{"0123456789abcdef-__READ__0000000001", true, true, Naming::read_write},
        Case{"0123456789abcdef__lock__0000000001", false, true, Naming::kazoo},
        Case{"0123456789abcdef__rlock__0000000001", true, true, Naming::kazoo},
        Case{"_c_8d0a43c8-1f1c-4e1a-a1a7-7ae5c8a1f1f3-__READ__0000000001", true, false,
             Naming::read_write},
        Case{"_c_8d0a43c8-1f1c-4e1a-a1a7-7ae5c8a1f1f3-__WRIT__0000000001", false, false,
             Naming::read_write},
        Case{"d41d8cd98f00b204e9800998ecf8427e__rlock__0000000001", true, false, Naming::kazoo},
        // Whoever else calls it so means nothing by it that we know of.
        Case{"x-rlock-0000000001", false, false, Naming::mutex}}) {
    const auto standing = Standing::of(each.node);
    ASSERT_TRUE(standing) << each.node;
    EXPECT_EQ(standing->number, 1) << each.node;
    EXPECT_EQ(standing->shared, each.shared) << each.node;
    EXPECT_EQ(standing->ours, each.ours) << each.node;
    EXPECT_EQ(standing->naming, each.naming) << each.node;
  }
  EXPECT_EQ(mark_in("0123456789abcdef-00000000000000ff-rlock-0000000001"), "00000000000000ff");
  EXPECT_EQ(mark_in("0123456789abcdef-rlock-0000000001"), "");
  EXPECT_EQ(mark_in("_c_8d0a43c8-1f1c-4e1a-a1a7-7ae5c8a1f1f3-__READ__0000000001"), "");
}

std::string reader(int number) {
  return "0123456789abcdef-rlock-000000000" + std::to_string(number);
}
std::string owner(int number) { return "0123456789abcdef-lock-000000000" + std::to_string(number); }

TEST(ZooKeeperQueueTest, AReaderWaitsForTheNearestWhoWantsItAlone) {
  const std::vector<std::string> nodes{owner(1), reader(2), owner(3), reader(4), reader(5)};
  const Children children(nodes.begin(), nodes.end());
  const Place last = Place::of(children, nodes[4]);
  EXPECT_EQ(last.kind, Place::Kind::behind);
  EXPECT_EQ(last.predecessor, nodes[2]);
  EXPECT_EQ(last.ahead, 2U);
  const Place second = Place::of(children, nodes[1]);
  EXPECT_EQ(second.predecessor, nodes[0]);
  EXPECT_EQ(second.ahead, 1U);
  const Place third = Place::of(children, nodes[2]);
  EXPECT_EQ(third.predecessor, nodes[1]);
  EXPECT_EQ(third.ahead, 2U);
  EXPECT_EQ(last.holders, 1U);
  EXPECT_EQ(last.waiters(), 4U);
}

TEST(ZooKeeperQueueTest, ReadersThatLeadHaveItTogether) {
  const std::vector<std::string> nodes{reader(2), reader(4), owner(6), reader(7)};
  const Children children(nodes.begin(), nodes.end());
  EXPECT_EQ(holders_of(children), (Children{nodes[0], nodes[1]}));
  for (const std::size_t i : {0U, 1U}) {
    const Place place = Place::of(children, nodes[i]);
    EXPECT_EQ(place.kind, Place::Kind::first);
    EXPECT_TRUE(place.wanted);
    EXPECT_TRUE(place.head_is_shared);
    EXPECT_EQ(place.waiters(), 2U);
  }
  EXPECT_EQ(Place::of(children, nodes[2]).predecessor, nodes[1]);
  EXPECT_EQ(Place::of(children, nodes[3]).predecessor, nodes[2]);
  EXPECT_FALSE(Place::of({nodes[0], nodes[1]}, nodes[0]).wanted) << "readers keep nobody out";
}

TEST(ZooKeeperQueueTest, AnOwnerThatReadsOnStandsBeforeAllWhoWait) {
  const std::vector<std::string> nodes{owner(3), reader(3), owner(4), reader(5)};
  for (Children children(nodes.begin(), nodes.end());;
       std::reverse(children.begin(), children.end())) {
    EXPECT_EQ(Place::of(children, nodes[0]).kind, Place::Kind::first);
    EXPECT_EQ(Place::of(children, nodes[1]).kind, Place::Kind::first);
    const Place next = Place::of(children, nodes[2]);
    EXPECT_EQ(next.ahead, 2U);
    EXPECT_EQ(next.predecessor, nodes[1]) << "which ends later, as a rule";
    EXPECT_EQ(next.head, nodes[0]);
    EXPECT_EQ(Place::of(children, nodes[3]).ahead, 2U) << "only those who want it alone";
    EXPECT_EQ(holders_of(children), (Children{nodes[0], nodes[1]}));
    if (children.front() != nodes.front()) break;
  }
  const Children without(nodes.begin() + 1, nodes.end());
  EXPECT_EQ(Place::of(without, nodes[2]).predecessor, nodes[1]);
  EXPECT_EQ(Place::of(without, nodes[3]).predecessor, nodes[2]);
  EXPECT_EQ(holders_of(without), Children{nodes[1]});
}

TEST(ZooKeeperQueueTest, FindsTheNodeOfAnAttempt) {
  const Children children{"0123-lock-0000000001", "4567-lock-0000000002"};
  EXPECT_EQ(find_prefix(children, "4567-lock-"), "4567-lock-0000000002");
  EXPECT_EQ(find_prefix(children, "89ab-lock-"), "");
  EXPECT_EQ(find_prefix(children, ""), "") << "no attempt has no name";
}

TEST(ZooKeeperQueueTest, RandomQueuesAreOrderedByNumber) {
  std::mt19937_64 random(model::test_seed());
  for (int round = 0; round < 200; ++round) {
    std::set<std::int64_t> numbers;
    while (numbers.size() < 1 + random() % 20) {
      numbers.insert(static_cast<std::int32_t>(random()));
    }
    std::vector<std::string> nodes;
    nodes.reserve(numbers.size());
    for (const std::int64_t number : numbers) {
      nodes.push_back((random() % 2 == 0 ? "x-lock-" : "y__lock__") + std::to_string(number));
    }
    Children children(nodes.begin(), nodes.end());
    std::shuffle(children.begin(), children.end(), random);
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const Place place = Place::of(children, nodes[i]);
      ASSERT_EQ(place.ahead, i);
      ASSERT_EQ(place.head, nodes[0]);
      ASSERT_EQ(place.predecessor, i == 0 ? "" : nodes[i - 1]);
    }
  }
}

TEST(ZooKeeperQueueTest, ALongNameIsCalledByItsSha256AndKept) {
  EXPECT_EQ(lock_path("/locks", std::string(100, 'a')), "/locks/" + std::string(100, 'a'));
  EXPECT_EQ(lock_path("/locks", std::string(101, 'a')),
            "/locks/%s-9d0793397991b57a99a07c6e6b4a92bab68dbf605345cd0b87f385a448a726bc");
  EXPECT_TRUE(lock_path("", std::string(34, '/')).starts_with("/%s-")) << "102 bytes once escaped";
  EXPECT_EQ(name_to_keep(std::string(100, 'a')), "");
  EXPECT_EQ(name_to_keep(std::string(101, 'a')), std::string(101, 'a'));
  EXPECT_TRUE(is_digest("%s-0"));
  EXPECT_FALSE(is_digest("%25s-0"));
}

TEST(ZooKeeperQueueTest, APathHasItsLevels) {
  EXPECT_EQ(lock_path("/shop/locks", "orders/42"), "/shop/locks/orders%2F42");
  EXPECT_EQ(levels_of("/shop/locks/a"),
            (std::vector<std::string>{"/shop", "/shop/locks", "/shop/locks/a"}));
}

}  // namespace
}  // namespace mortise::zookeeper
