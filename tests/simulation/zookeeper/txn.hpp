// SPDX-License-Identifier: MIT
// A transaction: what the leader has made of a request, and every server carries out in order.
#pragma once

#include "simulation/zookeeper/node.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace simulation::zookeeper {

/// One step of it; most have one, a multi has many.
struct Change {
  std::int32_t type = 0;
  std::int32_t code = 0;  ///< of an error
  std::string path{};
  std::optional<std::string> data{};
  Acls acl{};
  std::int32_t number = 0;  ///< the version to be; of a create, the parent's count of children; of
                            ///< a session, its time-out in milliseconds
  bool ephemeral = false;
  std::vector<std::string> paths{};  ///< what goes with a session
};

struct Txn {
  std::int64_t session = 0;
  std::int32_t cxid = 0;  ///< the number of the request, as the client counts
  std::int64_t zxid = 0;
  std::int64_t time = 0;  ///< milliseconds since 1970, of the leader's clock
  std::int32_t type = 0;
  std::vector<Change> changes{};
};
using TxnPtr = std::shared_ptr<const Txn>;

/// What came of a change, for the one who asked.
struct Result {
  std::int32_t type = 0;
  std::int32_t code = 0;
  std::string path{};
  std::optional<Stat> stat{};
};

/// The epoch of a leader is in the high half.
inline constexpr unsigned epoch_bits = 32;
[[nodiscard]] inline std::int64_t first_zxid_of(std::int64_t epoch) noexcept {
  return epoch << epoch_bits;
}

}  // namespace simulation::zookeeper
