// SPDX-License-Identifier: MIT
// A private Redis that a sentinel leads to, as a store of the contract suite.
#pragma once

#include "support/contract_backend.hpp"

namespace mortise::contract {

[[nodiscard]] BackendUnderTest redis_sentinel_backend();

}  // namespace mortise::contract
