// SPDX-License-Identifier: MIT
// What a client of the protected resource and its process say to each other: one message each way,
// of fixed size, over a sequenced-packet socket of the same host and build.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace mortise::model::wire {

inline constexpr char socket_name[] = "resource.sock";

enum class Ask : std::uint32_t { write = 1, read, statistics, log };

enum class Answer : std::uint32_t {
  done = 1,
  refused,  // a write whose token is below the highest
  full,     // no room for another name or log entry; nothing was changed
  unknown,  // not a request of this protocol
};

struct Request {
  Ask ask{};
  std::uint32_t name = 0;
  std::uint64_t token = 0;
  std::uint64_t value = 0;  // of `log`: from which entry
};

struct Entry {
  std::uint32_t name = 0;
  std::uint32_t reserved = 0;
  std::uint64_t token = 0;
  std::uint64_t value = 0;
};

struct Statistics {
  std::uint64_t accepted = 0;
  std::uint64_t refused = 0;
  std::uint64_t stale = 0;    // below the highest token, whether refused or, unfenced, accepted
  std::uint64_t names = 0;    // that were ever written
  std::uint64_t clients = 0;  // connected now
};

inline constexpr std::size_t entries_a_reply = 256;

struct Reply {
  Answer answer{};
  std::uint32_t entries = 0;  // how many of `log` are filled
  std::uint64_t highest = 0;
  std::uint64_t value = 0;  // of the last accepted write to the name
  Statistics statistics;
  Entry log[entries_a_reply];
};

// Only what is filled goes over the wire.
inline std::size_t size_of(const Reply& reply) {
  return offsetof(Reply, log) + reply.entries * sizeof(Entry);
}

static_assert(std::is_trivially_copyable_v<Request> && std::is_trivially_copyable_v<Reply>);

}  // namespace mortise::model::wire
