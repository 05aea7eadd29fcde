// SPDX-License-Identifier: MIT
// Goal: the Redlock backend keeps the contract, also with as many servers out of reach as it can
// spare. Method: the contract suite on private servers: on three; on five through a network that
// can misbehave, those parts that a network can spoil; and, in the long form, on five and with any
// two of them killed, stopped or cut off.
#include "support/contract_suites.hpp"
#include "support/redlock_store.hpp"

namespace mortise::contract {

using Missing = RedlockWay::Missing;

MORTISE_CONTRACT(Redlock, redlock_backend({.servers = 3}));

MORTISE_CONTRACT_OF(RedlockNetwork, redlock_backend({.servers = 5, .network = true}), ExactHold,
                    LostMessages, Deadline, Waiting, Outage, Traits);

MORTISE_CONTRACT(RedlockFiveLong, redlock_backend({.servers = 5}));
MORTISE_CONTRACT(RedlockFourLong, redlock_backend({.servers = 4}));
MORTISE_CONTRACT(RedlockNetworkLong, redlock_backend({.servers = 5, .network = true}));
MORTISE_CONTRACT(RedlockKilledLong,
                 redlock_backend({.servers = 5, .how = Missing::killed, .missing = 2}));
MORTISE_CONTRACT(RedlockStoppedLong,
                 redlock_backend({.servers = 5, .how = Missing::stopped, .missing = 2}));
MORTISE_CONTRACT(RedlockCutOffLong,
                 redlock_backend({.servers = 5, .how = Missing::cut_off, .missing = 2}));

}  // namespace mortise::contract
