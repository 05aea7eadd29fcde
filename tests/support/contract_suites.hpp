// SPDX-License-Identifier: MIT
// The suites that make up the contract, and the one line that runs them all on a backend. Their
// tests are in tests/contract, one file a subject; docs/promises-tests.md says which test stands
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
class Waiting : public ContractTest {};        // S8, L2, L5, L6
class HandOver : public ContractTest {};       // turns inside the process
class Cancelling : public ContractTest {};     // time-outs and stop tokens of waiters
class Outage : public ContractTest {};         // L3, L4, L7, L8, and the words of errors
class Crash : public ContractTest {};          // L1, L5
class Closing : public ContractTest {};        // S9: close()
class Fork : public ContractTest {};           // S9: fork()
class StandardLocks : public ContractTest {};  // std::unique_lock and its kin
class Guards : public ContractTest {};         // Guard, Owner, moves
class Names : public ContractTest {};          // any bytes, none confused
class Options : public ContractTest {};        // limits, labels, max_hold
class Observing : public ContractTest {};      // Observer
class Scale : public ContractTest {};          // many at once

[[nodiscard]] inline std::string name_of_backend(
    const ::testing::TestParamInfo<BackendUnderTest>& info) {
  return info.param.name;
}

}  // namespace mortise::contract

#define MORTISE_CONTRACT_SUITE(prefix, suite, backend) \
  INSTANTIATE_TEST_SUITE_P(prefix, suite, ::testing::Values(backend), &name_of_backend)

/// Runs the whole contract on a backend. Write it in namespace mortise::contract.
#define MORTISE_CONTRACT(prefix, backend)                 \
  MORTISE_CONTRACT_SUITE(prefix, Exclusion, backend);     \
  MORTISE_CONTRACT_SUITE(prefix, Fencing, backend);       \
  MORTISE_CONTRACT_SUITE(prefix, ExactHold, backend);     \
  MORTISE_CONTRACT_SUITE(prefix, LostMessages, backend);  \
  MORTISE_CONTRACT_SUITE(prefix, Deadline, backend);      \
  MORTISE_CONTRACT_SUITE(prefix, Loss, backend);          \
  MORTISE_CONTRACT_SUITE(prefix, Reentry, backend);       \
  MORTISE_CONTRACT_SUITE(prefix, LostHold, backend);      \
  MORTISE_CONTRACT_SUITE(prefix, Waiting, backend);       \
  MORTISE_CONTRACT_SUITE(prefix, HandOver, backend);      \
  MORTISE_CONTRACT_SUITE(prefix, Cancelling, backend);    \
  MORTISE_CONTRACT_SUITE(prefix, Outage, backend);        \
  MORTISE_CONTRACT_SUITE(prefix, Crash, backend);         \
  MORTISE_CONTRACT_SUITE(prefix, Closing, backend);       \
  MORTISE_CONTRACT_SUITE(prefix, Fork, backend);          \
  MORTISE_CONTRACT_SUITE(prefix, StandardLocks, backend); \
  MORTISE_CONTRACT_SUITE(prefix, Guards, backend);        \
  MORTISE_CONTRACT_SUITE(prefix, Names, backend);         \
  MORTISE_CONTRACT_SUITE(prefix, Options, backend);       \
  MORTISE_CONTRACT_SUITE(prefix, Observing, backend);     \
  MORTISE_CONTRACT_SUITE(prefix, Scale, backend)
