// SPDX-License-Identifier: MIT
// Goal: the memory backend keeps the contract. Method: the contract suite, on a server that can do
// everything that a test may ask of one, but be reached from another process.
#include "model/memory_store.hpp"
#include "support/contract_suites.hpp"

namespace mortise::contract {

MORTISE_CONTRACT(Memory, memory_server());

}  // namespace mortise::contract
