// SPDX-License-Identifier: MIT
// What the statements answer, as numbers and names. Nothing in a result is trusted: what does not
// read as expected is no answer.
#pragma once

#include <mortise/listing.hpp>
#include <mortise/operation.hpp>

#include "postgres/lineage.hpp"
#include "postgres/pq.hpp"
#include "remote/server_clock.hpp"

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mortise::postgres {

/// The answer to an attempt: ask.sql, take_row.sql, cancel.sql, once_begin.sql.
struct Answer {
  enum class Kind {
    granted,
    held,     ///< by somebody else, who tells at the end, if it was asked to
    ahead,    ///< free, but others come first
    busy,     ///< somebody else's at the last moment; or nothing is left of the attempt
    locked,   ///< in the hands of another transaction: ask again soon
    late,     ///< the request came after its moment, and has done nothing: ask again
    told,     ///< of a key: nothing is to be run, or can be
    differs,  ///< the semaphore has another number of permits
  };
  Kind kind = Kind::busy;
  std::uint64_t number = 0;           // granted
  std::chrono::microseconds age{};    // granted: since the server counts the lease
  std::chrono::microseconds lease{};  // granted; none: the one that was asked for
  std::chrono::microseconds left{};   // held: until the holder's lease ends
  std::optional<Holder> holder{};
  std::uint64_t run = 0;                   // granted, of a key
  std::shared_ptr<const Record> record{};  // told
  std::uint64_t permits = 0;               // differs: so many
  remote::ServerTime at{};                 // the server's clock, before it has looked
  bool for_others = false;  // nothing is left of it, and somebody else may wait for what is free

  [[nodiscard]] static std::optional<Answer> of(const Result& result);
  [[nodiscard]] static std::optional<Answer> parse(std::string_view words,
                                                   remote::ServerTime at = {});
};

enum class ReleaseOutcome : char {
  freed = 'F',
  freed_before = 'A',
  lapsed = 'X',
  freed_for_others = 'T',   ///< and somebody may wait: see wake()
  lapsed_for_others = 'Y',  ///< the same
  not_ours = 'N',
  not_ours_for_others = 'M',  ///< of a run: the same, and somebody may wait
  locked = 'L',
  stands = 'S',             ///< of a run: what its runner has written by itself
  stands_for_others = 'U',  ///< the same, and somebody may wait
};
[[nodiscard]] std::optional<ReleaseOutcome> release_outcome(const Result& result);

/// @return the bytes of hexadecimal digits; empty = they are none
[[nodiscard]] std::string bytes_of(std::string_view digits);

/// @return from one moment to another; no lease is longer than the longest.
[[nodiscard]] std::chrono::microseconds lease_between(std::int64_t clock,
                                                      std::int64_t end) noexcept;
/// @return the token of that grant; 0 = it is none
[[nodiscard]] Token token_of(std::int64_t number) noexcept;

/// Who holds a name; the inner one is empty where nobody does.
[[nodiscard]] std::optional<std::optional<Holder>> holder_of(const Result& result);

/// What queue.sql tells of; unknown where the store keeps no queue, unless there is one.
/// @param most of either: what is told of more is nonsense
[[nodiscard]] std::optional<NameQueue> queue_of(const Result& result, std::size_t most,
                                                bool keeps_queues);

/// @return what `told()` of once_tables.sql has made; null = it is none
[[nodiscard]] std::shared_ptr<const Record> record_in(std::string_view bytes);
/// What look_key.sql and forget_key() tell: an absent key, where there is none.
struct Recalled {
  std::shared_ptr<const Record> record{};
  bool locked = false;  ///< in the hands of another transaction: ask again soon

  [[nodiscard]] static std::optional<Recalled> of(const Result& result);
  /// @return what it is to forget_key(): the number of the run, below zero while that is pending.
  [[nodiscard]] std::int64_t what() const noexcept {
    const auto number = static_cast<std::int64_t>(record->number);
    return record->state == KeyState::pending ? -number : number;
  }
};

/// @return numbers with a space in between.
[[nodiscard]] std::optional<std::vector<std::int64_t>> numbers_in(std::string_view words);
/// What census.sql tells.
[[nodiscard]] std::optional<std::vector<std::int64_t>> numbers_of(const Result& result);

/// What greet.sql tells.
struct ServerFacts {
  int backend_pid = 0;
  bool standby = false;
  bool read_only = false;
  bool read_committed = false;  ///< by default
  bool logged = false;
  bool indexes = false;      ///< the unique ones are there
  std::int64_t version = 0;  ///< of the schema
  Whereabouts whereabouts{};
  remote::ServerTime time{};

  [[nodiscard]] static std::optional<ServerFacts> read(const Result& result);
};
/// Of this client: which functions it calls, and what it makes of their answers.
inline constexpr std::int64_t schema_version = 1;

}  // namespace mortise::postgres
