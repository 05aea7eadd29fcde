// SPDX-License-Identifier: MIT
// One server's reply about its vote, as numbers and names. Nothing in a reply is trusted: a reply
// with a part that is not as expected is no reply.
#pragma once

#include <mortise/operation.hpp>

#include "redis/store/answer.hpp"
#include "redis/store/reply.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace mortise::redlock {

/// The scripts list the replies that each of them gives.
struct VoteReply {
  enum class Kind {
    vote,     ///< the vote is given, or has the `number` that it was settled on
    busy,     ///< another hold has the vote, or the attempt stepped back
    late,     ///< the request came after its `void` moment, and changed nothing
    refused,  ///< an administrator ended that hold
    higher,   ///< the server gave a larger number than the settled one
    none,     ///< the attempt does not have the vote
    freed,
    freed_before,
    lapsed,   ///< the lease was over
    renewed,  ///< `renewals` has a code for each lock
    held,
    free,
  };
  Kind kind = Kind::none;
  redis::ServerTime now{};           ///< of the server's clock
  std::uint64_t number = 0;          ///< vote
  std::chrono::microseconds left{};  ///< until the holder's lease ends
  std::size_t waiters = 0;
  std::string label{};
  Mode mode = Mode::exclusive;  ///< of the holder
  /// Of the holds that have the vote. The holder's is the first; next to it some readers' follow.
  std::vector<std::uint64_t> numbers{};
  std::vector<int> renewals{};  ///< see renew.lua
  /// A hold that has the vote, for a forced release.
  struct Named {
    HoldId hold{};           ///< without the name
    std::uint32_t step = 0;  ///< in which its attempt got the vote
    std::string label{};
  };
  std::vector<Named> holds{};  ///< if that was asked

  [[nodiscard]] static std::optional<VoteReply> parse(const redis::Reply& reply);
  /// @return the number of the holder; 0 = there is none.
  [[nodiscard]] std::uint64_t holder_number() const noexcept {
    return numbers.empty() ? 0 : numbers.front();
  }
  /// @return whether the hold with this number has that server's vote.
  [[nodiscard]] bool names(std::uint64_t of_hold) const noexcept;
  /// @return the holder; nothing if there is none.
  [[nodiscard]] std::optional<Holder> holder() const;
};

}  // namespace mortise::redlock
