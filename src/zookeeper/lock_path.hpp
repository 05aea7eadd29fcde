// SPDX-License-Identifier: MIT
// Which node stands for which lock, and which nodes lie above it. Pure text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mortise::zookeeper {

/// @return 16 digits.
[[nodiscard]] std::string hexadecimal(std::uint64_t bits);

/// @return the node whose children are the queue of the lock: "/locks/orders%2F42". A name that
/// would be longer than 100 bytes there is replaced by its digest: "/locks/%s-" and 64 digits of
/// SHA-256. No escape yields "%s".
[[nodiscard]] std::string lock_path(std::string_view root, std::string_view name);

/// @return whether a node is called by the digest of its name.
[[nodiscard]] bool is_digest(std::string_view node);

/// @return the name that a node is called by; nothing = it is none. Empty: the node keeps its name.
[[nodiscard]] std::optional<std::string> name_by(std::string_view node);

/// @return what the node of a name has to hold, so that it is never taken for the node of another
/// name: the name, if the node is called by its digest; nothing otherwise.
[[nodiscard]] std::string_view name_to_keep(std::string_view name);

/// The path of a node below another one.
[[nodiscard]] std::string path_below(std::string_view parent, std::string_view node);

/// Where a key of `Once` is. No lock's path leads there.
struct KeyPlace {
  /// The node with what is remembered of it: "/locks/%once/kept/3f/order-42".
  std::string kept{};
  std::string shelf{};  ///< the node above that, which others share
  /// Whose children are those who want the key, or another one of that shelf.
  std::string queue{};
  std::string mark{};  ///< what tells them apart: 16 hexadecimal digits

  static KeyPlace of(std::string_view root, std::string_view key);
};

/// @return the node below which all keys are.
[[nodiscard]] std::string keys_path(std::string_view root);
/// @return the node below which each shelf that is in use has its queue.
[[nodiscard]] std::string queues_path(std::string_view root);
/// @return the shelf that belongs to a queue: "3f".
[[nodiscard]] std::string shelf_beside(std::string_view root, std::string_view digits);
/// @return the mark of a key by the node of what is kept of it; nothing = it is none.
[[nodiscard]] std::optional<std::string> mark_by(std::string_view kept);

/// How many shelves there are.
inline constexpr std::size_t shelves = 256;
/// @param which modulo `shelves`
[[nodiscard]] std::string shelf_path(std::string_view root, std::size_t which);
/// @return the queue that belongs to a shelf.
[[nodiscard]] std::string queue_beside(std::string_view root, std::string_view shelf);

/// @return the node and all above it, the highest first: "/a", "/a/b".
[[nodiscard]] std::vector<std::string> levels_of(std::string_view path);

}  // namespace mortise::zookeeper
