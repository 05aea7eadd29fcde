// SPDX-License-Identifier: MIT
// The numbers of ZooKeeper's protocol that the model and its tests speak with.
#pragma once

#include <cstdint>

namespace simulation::zookeeper {

/// What a request is for.
namespace op {
inline constexpr std::int32_t error = -1;  // a transaction that changes nothing, but has a zxid
inline constexpr std::int32_t create = 1;
inline constexpr std::int32_t remove = 2;
inline constexpr std::int32_t exists = 3;
inline constexpr std::int32_t get_data = 4;
inline constexpr std::int32_t set_data = 5;
inline constexpr std::int32_t get_acl = 6;
inline constexpr std::int32_t set_acl = 7;
inline constexpr std::int32_t get_children = 8;
inline constexpr std::int32_t sync = 9;
inline constexpr std::int32_t ping = 11;
inline constexpr std::int32_t get_children_2 = 12;
inline constexpr std::int32_t check = 13;
inline constexpr std::int32_t multi = 14;
inline constexpr std::int32_t create_2 = 15;
inline constexpr std::int32_t check_watches = 17;
inline constexpr std::int32_t remove_watches = 18;
inline constexpr std::int32_t create_container = 19;
inline constexpr std::int32_t delete_container = 20;
inline constexpr std::int32_t create_ttl = 21;
inline constexpr std::int32_t auth = 100;
inline constexpr std::int32_t set_watches = 101;
inline constexpr std::int32_t set_watches_2 = 105;
inline constexpr std::int32_t create_session = -10;
inline constexpr std::int32_t close_session = -11;
}  // namespace op

/// How it ended.
namespace code {
inline constexpr std::int32_t ok = 0;
inline constexpr std::int32_t runtime_inconsistency = -2;
inline constexpr std::int32_t marshalling = -5;
inline constexpr std::int32_t unimplemented = -6;
inline constexpr std::int32_t bad_arguments = -8;
inline constexpr std::int32_t unknown_session = -12;
inline constexpr std::int32_t no_node = -101;
inline constexpr std::int32_t no_auth = -102;
inline constexpr std::int32_t bad_version = -103;
inline constexpr std::int32_t no_children_for_ephemerals = -108;
inline constexpr std::int32_t node_exists = -110;
inline constexpr std::int32_t not_empty = -111;
inline constexpr std::int32_t session_expired = -112;
inline constexpr std::int32_t invalid_acl = -114;
inline constexpr std::int32_t auth_failed = -115;
inline constexpr std::int32_t session_moved = -118;
inline constexpr std::int32_t no_watcher = -121;
inline constexpr std::int32_t throttled = -127;
}  // namespace code

/// What a watch tells.
namespace event {
inline constexpr std::int32_t created = 1;
inline constexpr std::int32_t deleted = 2;
inline constexpr std::int32_t data_changed = 3;
inline constexpr std::int32_t children_changed = 4;
}  // namespace event

/// What kind of node a create asks for.
namespace flag {
inline constexpr std::int32_t persistent = 0;
inline constexpr std::int32_t ephemeral = 1;
inline constexpr std::int32_t sequential = 2;
inline constexpr std::int32_t ephemeral_sequential = 3;
inline constexpr std::int32_t container = 4;
inline constexpr std::int32_t last = 6;  // those above are of nodes with a time to live
}  // namespace flag

/// Frames that no request is numbered like.
namespace xid {
inline constexpr std::int32_t watch = -1;
inline constexpr std::int32_t ping = -2;
inline constexpr std::int32_t auth = -4;
inline constexpr std::int32_t set_watches = -8;
}  // namespace xid

/// What a node's ACL permits.
namespace right {
inline constexpr std::int32_t read = 1;
inline constexpr std::int32_t write = 2;
inline constexpr std::int32_t create = 4;
inline constexpr std::int32_t remove = 8;
inline constexpr std::int32_t admin = 16;
}  // namespace right

}  // namespace simulation::zookeeper
