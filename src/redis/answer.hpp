// SPDX-License-Identifier: MIT
// What the scripts answer and what inboxes are told, as numbers and names. Nothing in a reply is
// trusted: what does not read as expected is no answer.
#pragma once

#include <mortise/operation.hpp>

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace mortise::redis {

/// A moment by the server's clock.
using ServerTime = std::chrono::microseconds;

/// The answer to an attempt: acquire.lua, cancel.lua, inspect.lua, release.lua's successor; and the
/// same for keys, scripts/once.
struct Answer {
  enum class Kind : char {
    granted = 'G',
    queued = 'Q',
    busy = 'B',
    refused = 'R',   ///< a copy that came too late
    held = 'O',      ///< of inspect.lua: by somebody
    free = 'E',      ///< the same: by nobody
    recorded = 'D',  ///< what is remembered of a key
    unlike = 'N',    ///< the semaphore has another number of permits
  };
  Kind kind = Kind::refused;
  ServerTime now{};
  // granted
  std::uint64_t number = 0;
  ServerTime granted_at{};
  std::chrono::milliseconds lease{};  ///< 0: as it was asked for
  std::uint64_t run = 0;              ///< of a key: the number of the run; 0 = of a lock
  std::uint64_t permits = 0;          ///< unlike: how many there are
  // queued, busy, held
  std::chrono::microseconds left{};  ///< until the holder's lease ends
  bool first = false;                ///< nobody waits in front
  std::uint64_t holder_number = 0;   ///< 0: unknown
  std::uint64_t last_number = 0;     ///< that was granted, also where the holder has none
  Mode holder_mode = Mode::exclusive;
  std::size_t waiters = 0;
  std::string label{};
  std::shared_ptr<const Record> record{};  ///< recorded

  [[nodiscard]] static std::optional<Answer> parse(std::string_view text);
  /// @return the holder; nothing where there is none.
  [[nodiscard]] std::optional<Holder> holder() const;
  /// @return by what the hold that stands is known: the number of the last grant, with a sign where
  /// it is somebody else's hold, and then whose it is, as it was told.
  [[nodiscard]] std::string last_grant() const;
};

/// The answer of release.lua, and of conclude.lua.
struct ReleaseAnswer {
  enum class Outcome : char { freed = 'F', freed_before = 'A', lapsed = 'L', not_ours = 'N' };
  Outcome outcome = Outcome::not_ours;
  std::optional<Answer> successor{};

  [[nodiscard]] static std::optional<ReleaseAnswer> parse(std::string_view text);
};

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
  std::uint64_t run = 0;              // granted: as in Answer
  Mode mode = Mode::exclusive;        // taken: not of a key, which its name tells
  std::string key{};                  ///< of the lock, or the key of `Once`
  std::uint64_t clock = 0;  ///< by whose clock, as in Reading; what is pushed says nothing
  Instant heard_since{};    ///< in a cluster: the inbox listens for its name since then

  [[nodiscard]] static std::optional<Push> parse(std::string_view text);
};

/// An attempt for the scripts, in digits of base64url, since each byte of a lock counts: 16 of the
/// client (of whose bits, 96, the first 32 are zero in every id), by which its inbox is found, and
/// the sequence number without leading zeros. With the number of its grant behind, it is a hold of
/// Redlock's. No allocation: part of every request.
class AttemptText {
 public:
  explicit AttemptText(const AttemptId& attempt) noexcept;
  AttemptText(const AttemptId& attempt, std::uint64_t number) noexcept;
  [[nodiscard]] std::string_view view() const noexcept { return {text_.data(), size_}; }
  /// @return the digits of the client.
  [[nodiscard]] std::string_view client() const noexcept { return {text_.data(), 16}; }

 private:
  std::array<char, 48> text_{};
  std::size_t size_ = 0;
};
/// A hold for the scripts: "<number> <attempt> ", as its lock begins with it. The number is written
/// as the scripts do, who do not have to know what it is: see scripts/lock.lua, written(). No
/// allocation, either.
class HoldText {
 public:
  HoldText(const AttemptId& attempt, std::uint64_t number) noexcept;
  [[nodiscard]] std::string_view view() const noexcept { return {text_.data(), size_}; }

 private:
  std::array<char, 64> text_{};
  std::size_t size_ = 0;
};
/// @return the attempt of such a text; nothing = not one.
[[nodiscard]] std::optional<AttemptId> parse_attempt(std::string_view text);

}  // namespace mortise::redis
