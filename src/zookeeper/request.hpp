// SPDX-License-Identifier: MIT
// A request to a ZooKeeper server, and its reply.
#pragma once

#include "zookeeper/queue.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mortise::zookeeper {

/// The kind of a request.
enum class Ask : std::uint8_t {
  create,            ///< a node that stays
  create_container,  ///< the servers remove it when it has been empty for a while
  create_ephemeral,  ///< the path is its beginning, and a number follows
  create_own,        ///< ephemeral, with exactly that path
  set,               ///< replaces a node's data
  remove,
  check,    ///< is there, with that version; only a part of `several`
  several,  ///< all parts, or none: the code is that of the first that cannot be
  list,
  list_and_watch,  ///< the next change of the list is reported
  get,
  get_and_watch,  ///< the next change of the node is reported
  exists,
  sync,     ///< the server catches up with the leader before it answers the next request
  unwatch,  ///< a node
};

struct Request {
  Ask kind = Ask::check;
  std::string path{};
  std::string data{};                  ///< of a node that is made or set
  std::int32_t version = any_version;  ///< that the node has to have
  std::vector<Request> parts{};        ///< of `several`

  static constexpr std::int32_t any_version = -1;
  /// No node reaches it: it would have to be written 2^31 times. So this `set` changes nothing and
  /// wakes no client, whether the node is there or not: `other_version` or `no_node`. The leader
  /// has it committed as it has any other, because the refusal depends on what was written before.
  static constexpr std::int32_t no_version = 0x7fffffff;

  [[nodiscard]] static Request all(std::vector<Request> parts) {
    return {.kind = Ask::several, .parts = std::move(parts)};
  }
  /// @return true if the leader commits it.
  [[nodiscard]] bool is_write() const noexcept { return kind < Ask::list; }
};

/// The result of a request.
enum class Code : std::uint8_t {
  ok,
  no_node,
  exists,
  not_empty,
  other_version,  ///< the node is there
  denied,         ///< the node's ACL
  no_user,        ///< the server serves none but users whom it knows, and ends the connection
  ephemeral,      ///< the parent is a node that may have no children
  local,          ///< the session is a local one, which may own no ephemeral nodes
  quota,
  unsupported,
  not_done,  ///< throttled or sent to the wrong server: not executed, may be repeated
  unknown,   ///< the connection broke: executed or not
  ended,     ///< with the session
  wrong,     ///< anything else
};

struct Reply {
  Code code = Code::unknown;
  int number = 0;              ///< ZooKeeper's own, for messages
  std::string_view text{};     ///< the (first) path that was made, or a node's data
  const Children* children{};  ///< of a list
  std::int64_t czxid = 0;      ///< of the node: when it was made
  std::int64_t mzxid = 0;      ///< ... and when its data was written
  std::int64_t ctime = 0;      ///< when it was made, by the leader's clock, as the next
  std::int64_t mtime = 0;      ///< the same by the leader's clock, in milliseconds since 1970
  std::int32_t version = 0;    ///< of its data
  std::int64_t owner = 0;      ///< the session of an ephemeral node
};

/// @return the meaning of a reply in words: "not authenticated (-102)".
[[nodiscard]] std::string words_of(const Reply& reply);
/// @return true if the request may have been executed or not.
[[nodiscard]] inline bool is_lost(Code code) noexcept {
  return code == Code::unknown || code == Code::ended;
}
/// @return true if the server executed the request, or will never do so.
[[nodiscard]] inline bool is_answer(Code code) noexcept {
  return !is_lost(code) && code != Code::not_done;
}
/// @return the children of a node; none if there is no node.
[[nodiscard]] inline Children children_of(const Reply& reply) {
  return reply.children != nullptr ? *reply.children : Children();
}

}  // namespace mortise::zookeeper
