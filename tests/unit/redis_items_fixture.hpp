// SPDX-License-Identifier: MIT
// Replies as a server sends them, item by item.
#pragma once

#include "redis/store/reply.hpp"

#include <string>
#include <utility>
#include <vector>

namespace mortise::redis {

inline Reply word(std::string of) { return {.kind = Reply::Kind::string, .text = std::move(of)}; }
inline Reply integer(long long value) { return {.kind = Reply::Kind::integer, .integer = value}; }
inline Reply list_of(std::vector<Reply> items) {
  return {.kind = Reply::Kind::array, .items = std::move(items)};
}

}  // namespace mortise::redis
