// SPDX-License-Identifier: MIT
// Goal: the ZooKeeper backend keeps its promises whatever happens to its clients, its servers and
// the way between them. Method: the suite of histories, with client processes that are killed,
// stopped beyond their sessions and cut off, on one server and on an ensemble whose leaders die.
#include "model/history_suite.hpp"
#include "model/keys_history_suite.hpp"
#include "model/zookeeper_history_store.hpp"

#include <string>

namespace mortise::model {
namespace {

// Not in the short runs: the seconds in which a server is away leave no time for all faults.
HistoryBackend zookeeper_keys(const std::string& name, ZooKeeperSize size) {
  HistoryBackend made = zookeeper_processes(name, size);
  made.under_test.qualities.insert(contract::Quality::once);
  return made;
}

}  // namespace

MORTISE_HISTORIES(ZooKeeperAlone, zookeeper_processes("alone", ZooKeeperSize::one_server));
MORTISE_HISTORIES(ZooKeeperEnsemble, zookeeper_processes("ensemble", ZooKeeperSize::ensemble));
MORTISE_HISTORIES_OF(ZooKeeperKeysAlone, LongKeyHistories,
                     zookeeper_keys("alone", ZooKeeperSize::one_server));
MORTISE_HISTORIES_OF(ZooKeeperKeysEnsemble, LongKeyHistories,
                     zookeeper_keys("ensemble", ZooKeeperSize::ensemble));

}  // namespace mortise::model
