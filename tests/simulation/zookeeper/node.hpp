// SPDX-License-Identifier: MIT
// What a server keeps of one node, and what it shows of that.
#pragma once

#include "simulation/zookeeper/jute.hpp"

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace simulation::zookeeper {

/// Who may do what. `scheme` and `id` as the protocol has them: "world", "anyone".
struct Acl {
  std::int32_t rights = 0;
  std::string scheme{};
  std::string id{};
  bool operator==(const Acl&) const = default;
};
/// Shared, because most nodes have the same.
using Acls = std::shared_ptr<const std::vector<Acl>>;

/// The "session" that owns a container.
inline constexpr std::int64_t container_owner = std::numeric_limits<std::int64_t>::min();

/// What the server stores of a node. Times are milliseconds since 1970.
struct Stored {
  std::int64_t czxid = 0;
  std::int64_t mzxid = 0;
  std::int64_t pzxid = 0;
  std::int64_t ctime = 0;
  std::int64_t mtime = 0;
  std::int32_t version = 0;
  std::int32_t cversion = 0;  ///< how many children were made; the next sequence number
  std::int32_t aversion = 0;
  std::int64_t owner = 0;  ///< a session, `container_owner`, or 0

  [[nodiscard]] bool ephemeral() const noexcept { return owner != 0 && owner != container_owner; }
};

struct Node {
  std::optional<std::string> data{};
  Acls acl{};
  Stored stat{};
  std::set<std::string, std::less<>> children{};  ///< last parts of their paths
};

/// What a client is shown.
struct Stat {
  Stored stored{};
  std::int32_t length = 0;
  std::int32_t children = 0;

  [[nodiscard]] static Stat of(const Node& node) {
    return {.stored = node.stat,
            .length = node.data ? static_cast<std::int32_t>(node.data->size()) : 0,
            .children = static_cast<std::int32_t>(node.children.size())};
  }
  void write(Out& out) const {
    out.int64(stored.czxid).int64(stored.mzxid).int64(stored.ctime).int64(stored.mtime);
    // Changes of the children are shown, creations are counted: each child that is not there any
    // more was created and deleted. The server's int wraps.
    const auto changes =
        2U * static_cast<std::uint32_t>(stored.cversion) - static_cast<std::uint32_t>(children);
    out.int32(stored.version).int32(static_cast<std::int32_t>(changes)).int32(stored.aversion);
    out.int64(stored.ephemeral() ? stored.owner : 0).int32(length).int32(children);
    out.int64(stored.pzxid);
  }
};

}  // namespace simulation::zookeeper
