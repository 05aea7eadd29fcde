// SPDX-License-Identifier: MIT
// Goal: the ZooKeeper backend keeps the contract, however the server is reached. Method: the
// contract suite, on a server, or an ensemble, that the tests of a process share, each test under a
// path of its own. What needs several processes has no proxy in between.
#include "support/contract_suites.hpp"
#include "support/zookeeper_store.hpp"

namespace mortise::contract {

using std::chrono::milliseconds;

// What proves a session takes two pulses, of two round trips each (src/zookeeper/life.hpp): with
// the delays that some tests make a session of less than a second has nothing left.

const BackendUnderTest network =
    zookeeper_backend(ZooKeeperWay::network, milliseconds(1'000), "margin=40ms");
const BackendUnderTest direct =
    zookeeper_backend(ZooKeeperWay::direct, milliseconds(800), "margin=80ms");
const BackendUnderTest ensemble =
    zookeeper_backend(ZooKeeperWay::ensemble, milliseconds(1'200), "margin=120ms");
const BackendUnderTest encrypted =
    zookeeper_backend(ZooKeeperWay::encrypted, milliseconds(1'200), "margin=120ms");

MORTISE_CONTRACT(ZooKeeper, network);
MORTISE_CONTRACT_OF(ZooKeeperDirect, direct, Exclusion, Crash, Fork, Traits);
MORTISE_CONTRACT_OF(ZooKeeperEnsemble, ensemble, Exclusion, Fencing, Waiting, Traits);
MORTISE_CONTRACT(ZooKeeperEnsembleLong, ensemble);
MORTISE_CONTRACT(ZooKeeperTls, encrypted);

}  // namespace mortise::contract
