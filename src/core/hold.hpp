// SPDX-License-Identifier: MIT
// One owner's hold of a name.
#pragma once

#include <mortise/operation.hpp>
#include <mortise/owner.hpp>
#include <mortise/token.hpp>

#include "core/lease.hpp"
#include "core/terms.hpp"

#include <memory>
#include <stop_token>
#include <utility>

namespace mortise::core {

/// Reports the loss of a hold to its owner. The hold has it from the moment at which the owner asks
/// for the token, because a loss needs no memory.
struct LossNotice {
  LossNotice() = default;
  LossNotice(const LossNotice&) = delete;
  LossNotice& operator=(const LossNotice&) = delete;
  virtual ~LossNotice() = default;
  std::stop_source lost;
};

/// A live hold. The server sees one hold a name and client; `depth` and `passes` are ours alone.
struct Hold {
  Owner owner;
  std::size_t depth = 1;     ///< how often the owner has yet to unlock
  std::uint16_t passes = 0;  ///< hand-overs inside the process since the grant
  std::uint32_t guards = 0;  ///< how many of those unlocks a `Guard` owes, on whichever thread
  AttemptId attempt{};
  std::uint64_t number = 0;      ///< of the grant
  std::uint64_t generation = 0;  ///< unlike that of every other hold of the client
  Instant granted_at{};          ///< of the grant, the beginning of the turn
  Instant owned_since{};         ///< of this owner
  std::shared_ptr<const Terms> terms{};
  Lease lease{};
  std::unique_ptr<LossNotice> notice{};  ///< of its owner; null until the owner asks

  [[nodiscard]] Token token() const noexcept { return Token(number * tokens_in_a_grant + passes); }
  /// @return the same hold of another owner, who has not asked for its loss.
  [[nodiscard]] Hold handed_to(Owner other, std::shared_ptr<const Terms> its_terms,
                               Instant since) const {
    return {.owner = other,
            .passes = passes,
            .attempt = attempt,
            .number = number,
            .generation = generation,
            .granted_at = granted_at,
            .owned_since = since,
            .terms = std::move(its_terms),
            .lease = lease};
  }
};

}  // namespace mortise::core
