// SPDX-License-Identifier: MIT
// A server that is far away: every byte to it and from it comes so much later, in order. Nothing
// else happens to it, so that what a request costs in round trips can be counted by a clock.
#pragma once

#include "process.hpp"

#include <chrono>
#include <cstdint>
#include <memory>

namespace mortise::bench {

/// Listens on 127.0.0.1, in a process of its own, until it goes. Start it while this process has
/// one thread.
class Distance {
 public:
  Distance(std::uint16_t to, std::chrono::microseconds one_way);
  [[nodiscard]] std::uint16_t port() const noexcept { return port_; }

 private:
  std::uint16_t port_ = 0;
  std::unique_ptr<Process> process_;
};

}  // namespace mortise::bench
