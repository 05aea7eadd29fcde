// SPDX-License-Identifier: MIT
// Goal: the ZooKeeper backend keeps its promises whatever happens to its clients, its servers and
// the way between them. Method: the suite of histories, with client processes that are killed,
// stopped beyond their sessions and cut off, on one server and on an ensemble whose leaders die.
#include "model/history_suite.hpp"
#include "model/zookeeper_history_store.hpp"

namespace mortise::model {

MORTISE_HISTORIES(ZooKeeperAlone, zookeeper_processes("alone", ZooKeeperSize::one_server));
MORTISE_HISTORIES(ZooKeeperEnsemble, zookeeper_processes("ensemble", ZooKeeperSize::ensemble));

}  // namespace mortise::model
