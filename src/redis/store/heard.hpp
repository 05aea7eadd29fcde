// SPDX-License-Identifier: MIT
// The messages about an attempt that waits: replies on one connection, pushes on the other one.
// Decides the meaning of a push.
#pragma once

#include "redis/store/answer.hpp"
#include "remote/reading.hpp"

#include <cstdint>
#include <optional>

namespace mortise::redis {

using remote::Reading;

/// Replies and pushes travel on different connections and are read in any order. So the number of
/// a grant decides which of them is news, never the order in which they came.
/// @thread_safety one thread at a time
class Heard {
 public:
  enum class Sense : std::uint8_t {
    over,        ///< of a grant that ended before the last reply
    too_early,   ///< the reply by which its time can be read is under way
    unreadable,  ///< by the clock of a server that has not replied: ask for the attempt
    readable,
  };
  /// @return what the push means. One that cannot be read yet is kept.
  [[nodiscard]] Sense push(const Push& push);
  /// By a reply, the attempt waits.
  /// @param number the last that was granted: no grant up to that one is this attempt's any more;
  /// 0 = not known
  /// @return a push that came before that reply, and is readable
  [[nodiscard]] std::optional<Push> reply(const Reading& reading, std::uint64_t number);
  /// @return the last reading of the server's clock; there must be one.
  [[nodiscard]] const Reading& reading() const noexcept { return *reading_; }
  /// It waits for a key, and by a push, this grant of the key has ended with a conclusion.
  void conclude(std::uint64_t number) noexcept;
  /// @return the last of those; 0 = none.
  [[nodiscard]] std::uint64_t concluded() const noexcept { return concluded_; }

 private:
  [[nodiscard]] bool is_of_its_server(const Push& push) const noexcept;
  [[nodiscard]] bool is_over(const Push& push) const noexcept;
  [[nodiscard]] bool is_readable(const Push& push) const noexcept;
  void keep(const Push& push);

  std::optional<Reading> reading_;
  std::optional<Push> early_;
  std::uint64_t seen_ = 0;  // what was granted up to here is over
  std::uint64_t concluded_ = 0;
};

}  // namespace mortise::redis
