// SPDX-License-Identifier: MIT
// The suites that make up the contract, and the one line that runs them all on a backend. Their
// tests are in tests/contract, one file a subject; tests/PROMISES.md says which test stands
// for what.
#pragma once

#include "support/contract_test.hpp"

namespace mortise::contract {

class Exclusion : public ContractTest {};      // S1
class Fencing : public ContractTest {};        // S2
class ExactHold : public ContractTest {};      // S3, S4
class LostMessages : public ContractTest {};   // S5
class Deadline : public ContractTest {};       // S1, S6: when a hold ends
class Loss : public ContractTest {};           // S6: who is told, and what it may do
class Reentry : public ContractTest {};        // S7
class LostHold : public ContractTest {};       // S7: what is left of a hold that was lost
class MinHold : public ContractTest {};        // M1
class ThreadEnd : public ContractTest {};      // L9
class Waiting : public ContractTest {};        // S8, L2, L5, L6
class HandOver : public ContractTest {};       // turns inside the process
class Cancelling : public ContractTest {};     // time-outs and stop tokens of waiters
class Outage : public ContractTest {};         // L3, L4, L7, L8, and the words of errors
class Crash : public ContractTest {};          // L1, L5
class Closing : public ContractTest {};        // S9: close()
class Fork : public ContractTest {};           // S9: fork()
class StandardLocks : public ContractTest {};  // std::unique_lock and its kin
class Guards : public ContractTest {};         // Guard, Owner, moves
class LockAll : public ContractTest {};        // lock_all(), and what it returns
class LockAllKept : public ContractTest {};    // the same, with what one lock promises
class Names : public ContractTest {};          // any bytes, none confused
class Options : public ContractTest {};        // limits, labels, max_hold
class Observing : public ContractTest {};      // Observer
class Scale : public ContractTest {};          // many at once
class Administering : public ContractTest {};  // list(), queue(), force_release()
class KeyTest : public ContractTest {
 protected:
  using Run = mortise::Run;  // not that of testing::Test
};
class Keys : public KeyTest {};                 // O1, O3: what is remembered of a key
class Runs : public KeyTest {};                 // O1, O2: who runs it, and what is recorded
class Sharing : public ContractTest {};         // S1, S2, S5, S6, S7, L5: readers and writers
class Permits : public ContractTest {};         // S1, S2, S3, L6: semaphores
class StandardShared : public ContractTest {};  // std::shared_lock and its kin
class Asynchronous : public KeyTest {};         // S1, S6, S9, O1, O2: calls without a thread
class Traits : public ContractTest {};          // the ground is what it says

}  // namespace mortise::contract

/// Runs those suites, of mortise::contract, on a backend, or the whole contract where none is
/// named. It runs while the program starts, so that the backend is made of nothing that another
/// source keeps in a variable.
#define MORTISE_CONTRACT_OF(prefix, backend, ...)    \
  [[maybe_unused]] const bool prefix##_is_a_ground = \
      ::mortise::test::add_ground<__VA_ARGS__>(#prefix, backend)
#define MORTISE_CONTRACT(prefix, ...)                \
  [[maybe_unused]] const bool prefix##_is_a_ground = \
      ::mortise::test::add_ground<>(#prefix, __VA_ARGS__)
