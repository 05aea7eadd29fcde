// SPDX-License-Identifier: MIT
// A quorum of private Redis servers as a store of the contract suite, all of them well, or a
// minority missing from the beginning in one of the ways in which servers are missing.
#pragma once

#include "support/contract_backend.hpp"

#include <cstddef>
#include <string>

namespace mortise::contract {

struct RedlockWay {
  enum class Missing {
    none,
    killed,   ///< nobody listens
    stopped,  ///< SIGSTOP: connections come up, and nothing answers
    cut_off,  ///< the network swallows everything, or resets each connection
  };

  std::size_t servers = 5;
  Missing how = Missing::none;
  std::size_t missing = 0;  ///< the first ones of the list
  /// Through proxies that can misbehave; no other processes then. `cut_off` is so anyway.
  bool network = false;
};

[[nodiscard]] BackendUnderTest redlock_backend(const RedlockWay& way,
                                               const std::string& parameters = {});

}  // namespace mortise::contract
