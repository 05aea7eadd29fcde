// SPDX-License-Identifier: MIT
// What the servers of an ensemble say to each other.
#pragma once

#include "simulation/zookeeper/request.hpp"
#include "simulation/zookeeper/tree.hpp"
#include "simulation/zookeeper/txn.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

namespace simulation::zookeeper {

enum class Role : std::uint8_t { looking, following, leading };

/// Whom a server wants for its leader, and what that one has.
struct Vote {
  std::size_t leader = 0;
  std::int64_t epoch = 0;
  std::int64_t zxid = 0;
  bool operator==(const Vote&) const = default;
  [[nodiscard]] bool beats(const Vote& other) const noexcept {
    return std::tie(epoch, zxid, leader) > std::tie(other.epoch, other.zxid, other.leader);
  }
};

struct Message {
  enum class Kind : std::uint8_t {
    vote,           ///< `vote`, `role` and the round of the election (`number`)
    follower_info,  ///< to a leader: the epoch accepted last (`number`), and what it has (`vote`)
    new_leader,     ///< to a follower: the epoch (`number`), all that is committed (`snapshot`)
    ack_leader,     ///< it has that
    up_to_date,     ///< it may serve
    request,        ///< to the leader: a client's
    proposal,       ///< `txn`
    ack,            ///< it is on disk (`number`: the zxid)
    commit,         ///< most have it (`number`: the zxid)
    ping,           ///< to a follower
    pong,           ///< its answer: the sessions that gave signs of life
    revalidate,   ///< to the leader: is the session (`number`) alive? its time-out is in `sessions`
    revalidated,  ///< it is (`yes`)
    sync,         ///< to the leader
    synced,       ///< all that it had when it was asked was sent before this
    broken,       ///< the connection is closed
  };
  Kind kind = Kind::vote;
  std::size_t from = 0;
  std::uint64_t link = 0;  ///< which connection of a follower with its leader
  std::int64_t number = 0;
  bool yes = false;
  Role role = Role::looking;
  Vote vote{};
  TxnPtr txn{};
  std::shared_ptr<Request> request{};
  std::shared_ptr<const Tree> snapshot{};
  std::vector<std::pair<std::int64_t, std::int32_t>> sessions{};
};

}  // namespace simulation::zookeeper
