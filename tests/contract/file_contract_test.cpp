// SPDX-License-Identifier: MIT
// Goal: the file backend keeps the contract. Method: the contract suite, on a directory of its own
// a test.
#include "model/file_store.hpp"
#include "support/contract_suites.hpp"

namespace mortise::contract {

MORTISE_CONTRACT(File, file_directory());

}  // namespace mortise::contract
