// SPDX-License-Identifier: MIT
// Goal: docs/stores/zookeeper-interop.md is right about names that are shared with Curator and kazoo
// while processes of both sides die and stand still. Method: the real libraries in processes of
// their own, next to ours. A checker judges the whole history. See `./dev interop`.
#include "model/interop_suite.hpp"
#include "model/zookeeper_history_store.hpp"
#include "support/zookeeper_locks.hpp"
#include "support/zookeeper_stranger.hpp"

#include <gtest/gtest.h>

namespace mortise::model {
namespace {

using test::ZooKeeperLibrary;

class ZooKeeperInteropLong : public ::testing::Test {
 protected:
  static HistoryBackend ours() { return zookeeper_processes("alone", ZooKeeperSize::one_server); }
  static std::string missing(ZooKeeperLibrary library) {
    const std::string lack = test::ZooKeeperServer::missing();
    return lack.empty() ? test::missing(library) : lack;
  }
  static Neighbours of(ZooKeeperLibrary library, const std::string& patterns) {
    Neighbours neighbours;
    neighbours.start = [library, patterns, lease = neighbours.lease](Stage& stage,
                                                                     const std::string& name) {
      auto& store = static_cast<ZooKeeperHistoryStore&>(*stage.store);
      return test::ZooKeeperStranger(library, store.server(0).address(),
                                     test::ZooKeeperLocks("/" + store.root()).path(name), "mutex",
                                     patterns, lease);
    };
    return neighbours;
  }
};

// Promise: S1
TEST_F(ZooKeeperInteropLong, CuratorAndOursExcludeEachOther) {
  if (const auto lack = missing(ZooKeeperLibrary::curator); !lack.empty()) {
    GTEST_SKIP() << lack << " is not there";
  }
  expect_neighbours_apart(ours(), of(ZooKeeperLibrary::curator, ""));
}

// Promise: S1
TEST_F(ZooKeeperInteropLong, KazooAndOursExcludeEachOther) {
  if (const auto lack = missing(ZooKeeperLibrary::kazoo); !lack.empty()) {
    GTEST_SKIP() << lack << " is not there";
  }
  expect_neighbours_apart(ours(), of(ZooKeeperLibrary::kazoo, "lock-"));
}

TEST_F(ZooKeeperInteropLong, KazooWithoutThePatternHoldsBesideUsAndThatIsSeen) {
  if (const auto lack = missing(ZooKeeperLibrary::kazoo); !lack.empty()) {
    GTEST_SKIP() << lack << " is not there";
  }
  expect_neighbours_seen_together(ours(), of(ZooKeeperLibrary::kazoo, ""));
}

}  // namespace
}  // namespace mortise::model
