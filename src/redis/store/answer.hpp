// SPDX-License-Identifier: MIT
// What the scripts answer and what inboxes are told, as numbers and names. Nothing in a reply is
// trusted: what does not read as expected is no answer.
#pragma once

#include <mortise/operation.hpp>

#include "redis/store/reply.hpp"
#include "remote/outcome.hpp"
#include "remote/server_clock.hpp"

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mortise::redis {

class Items;

using remote::ServerTime;

/// The answer to an attempt, or to a look at a name. The scripts list what each of them answers.
struct Answer {
  enum class Kind {
    granted,
    queued,
    busy,
    resharding,      ///< it could not be queued: the slot of the name is on its way
    too_late,        ///< the request came after its deadline, and changed nothing
    held,            ///< of a look: the name has a holder
    free,            ///< the same: it has none
    recorded,        ///< what is remembered of a key
    permits_differ,  ///< the semaphore has another number of permits
  };
  Kind kind = Kind::too_late;
  ServerTime now{};
  // granted
  std::uint64_t number = 0;
  std::uint64_t run = 0;      ///< of a key: the number of the run; 0 = of a lock
  std::uint64_t permits = 0;  ///< permits_differ: how many there are
  // granted, queued, busy, held
  std::chrono::microseconds left{};  ///< until the lease ends, of the attempt or of the holder
  bool first = false;                ///< nobody waits in front
  std::uint64_t last_number = 0;     ///< that was granted, also where the holder has none
  /// The holder, as the server reports it.
  struct Holding {
    std::uint64_t number = 0;  ///< 0: unknown
    Mode mode = Mode::exclusive;
    std::size_t waiters = 0;
    std::string label{};
  };
  Holding holding{};
  std::shared_ptr<const Record> record{};  ///< recorded

  [[nodiscard]] static std::optional<Answer> parse(const Reply& reply);
  /// Reads as much of an answer; what follows is the caller's.
  [[nodiscard]] static std::optional<Answer> parse(Items& items);
  /// @return the holder; nothing where there is none.
  [[nodiscard]] std::optional<Holder> holder() const;
  /// @return how a forced release names a hold of Redisson, which has no number.
  [[nodiscard]] std::string mark() const;
};

/// The answer of release.lua, conclude.lua and force_release.lua.
struct ReleaseAnswer {
  using Outcome = remote::ReleaseOutcome;
  Outcome outcome = Outcome::not_ours;
  ServerTime now{};  ///< 0 = the script did not look at the time
  std::optional<Answer> successor{};

  [[nodiscard]] static std::optional<ReleaseAnswer> parse(const Reply& reply);
};

/// Reads an answer about several names: a word, the time, and a number for each of them.
/// @param at receives the time
/// @return nothing = it makes no sense
[[nodiscard]] std::vector<std::uint64_t> parse_codes(const Reply& reply, std::string_view word,
                                                     std::uint64_t most, ServerTime* at = nullptr);

/// What comes to an inbox.
struct Push {
  enum class Kind : char {
    granted = 'G',
    look = 'L',   ///< the lock may be free, or the key has its outcome: ask again
    taken = 'T',  ///< an administrator took the hold away
  };
  Kind kind = Kind::look;
  AttemptId attempt{};
  std::uint64_t number = 0;           // granted, taken; look: of the conclusion, if of one
  ServerTime granted_at{};            // granted
  std::chrono::milliseconds lease{};  // granted: the provisional lease
  Mode mode = Mode::exclusive;        // taken: not of a key, which its name tells
  std::string key{};                  ///< of the lock, or the key of `Once`
  std::uint64_t clock = 0;  ///< by whose clock, as in Reading; what is pushed says nothing
  Instant heard_since{};    ///< in a cluster: the inbox listens for its name since then

  [[nodiscard]] static std::optional<Push> parse(std::string_view text);
};

/// An attempt for the scripts, in digits of base64url, since each byte of a lock counts: 16 of the
/// client (of whose bits, 96, the first 32 are zero in every id), by which its inbox is found, and
/// the sequence number without leading zeros. No allocation: part of every request.
class AttemptText {
 public:
  explicit AttemptText(const AttemptId& attempt) noexcept;
  [[nodiscard]] std::string_view view() const noexcept { return {text_.data(), size_}; }
  /// @return the digits of the client.
  [[nodiscard]] std::string_view client() const noexcept { return {text_.data(), 16}; }

 private:
  std::array<char, 48> text_{};
  std::size_t size_ = 0;
};
/// @return the attempt of such a text; nothing = not one.
[[nodiscard]] std::optional<AttemptId> parse_attempt(std::string_view text);

}  // namespace mortise::redis
