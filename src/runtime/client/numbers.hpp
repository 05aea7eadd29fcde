// SPDX-License-Identifier: MIT
// The numbers that a client gives out: ids of attempts, and generations of holds.
#pragma once

#include <mortise/operation.hpp>

#include "base/random_id.hpp"

#include <atomic>
#include <cstdint>

namespace mortise::runtime {

/// @thread_safety every member may be called concurrently.
class Numbers {
 public:
  /// @return the id of the client: an attempt without a number.
  [[nodiscard]] const AttemptId& client() const noexcept { return client_; }
  /// @return the id of a new attempt.
  [[nodiscard]] AttemptId next_attempt() noexcept {
    AttemptId id = client_;
    id.sequence = attempts_.fetch_add(1) + 1;
    return id;
  }
  /// @return a number for a hold, unlike any other of this client.
  [[nodiscard]] std::uint64_t next_generation() noexcept { return generations_.fetch_add(1) + 1; }

 private:
  // 96 bits: a thousand million clients of one server find two alike once in a hundred thousand
  // million cases, and each byte of an id is kept with each lock that Redis holds.
  const AttemptId client_{.client_high = base::random_bits() >> 32U,
                          .client_low = base::random_bits()};
  std::atomic<std::uint64_t> attempts_{0};
  std::atomic<std::uint64_t> generations_{0};
};

}  // namespace mortise::runtime
