// SPDX-License-Identifier: MIT
// What administrators ask of a server (scripts/list.lua, queue.lua), and where a list goes on.
#pragma once

#include <mortise/listing.hpp>
#include <mortise/listing_operation.hpp>

#include "redis/store/reply.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mortise::redis {

/// @return the pattern of the Redis keys of all locks, semaphores or keys whose names begin so;
/// nothing in it but its end is more than a byte that has to be there.
[[nodiscard]] std::string key_pattern(std::string_view prefix, std::string_view name_prefix,
                                      Mode mode);

/// Where a list goes on: the server's own cursor, and behind it the names for which there was no
/// room on the page before. A server tells at least all that lie in one slot of its table.
struct ListCursor {
  std::string at = "0";  ///< a number
  bool ended = false;    ///< the server has told all
  std::vector<std::string> left{};

  /// @return nothing = it is none of ours
  [[nodiscard]] static std::optional<ListCursor> parse(std::string_view text);
  /// @return empty = there is no more.
  [[nodiscard]] std::string text() const;
  /// Takes a page of those that were left.
  [[nodiscard]] NamePage take(std::size_t limit, std::string_view name_prefix);
};

/// Of a cluster: which server is asked, and where it goes on there.
struct ClusterCursor {
  std::string_view server{};  ///< empty = the first one
  std::string_view at_server{};

  /// @return views of the text
  [[nodiscard]] static ClusterCursor parse(std::string_view text) noexcept;
  /// @return where it goes on at that server, which may have taken the place of one that is gone.
  [[nodiscard]] std::string_view at(std::string_view which) const noexcept {
    return which == server ? at_server : std::string_view();
  }
  [[nodiscard]] std::string text() const;
};

/// @return what the server told, and where it goes on; nothing = it makes no sense
[[nodiscard]] std::optional<ListCursor> parse_list(std::string_view prefix, Mode mode,
                                                   const Reply& reply);

/// @param marks receives one if the holder is Redisson's, whose holds have no numbers
/// @return the same of a queue
[[nodiscard]] std::optional<NameQueue> parse_queue(const Reply& reply,
                                                   std::vector<HoldMark>* marks = nullptr);

}  // namespace mortise::redis
