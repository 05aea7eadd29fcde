// SPDX-License-Identifier: MIT
// What one server of the quorum is asked, as commands that call the scripts: which keys and
// arguments each gets is said here and in the scripts, nowhere else.
#pragma once

#include <mortise/operation.hpp>

#include "redis/store/answer.hpp"

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace mortise::redlock {

/// How an attempt takes part in what happens when it is refused.
struct Manners {
  enum class StepsBack : char {
    not_at_all = '0',
    for_others = '1',   ///< for all who want a hint
    for_readers = '2',  ///< that came before it
  };
  bool interested = false;  ///< wants a hint when the lock may be free
  StepsBack steps_back =
      StepsBack::not_at_all;  ///< of a writer; a reader does for writers before it
};

/// No round has a larger step. If only the attempt of a hold is known, the end of the hold takes
/// back the votes of all its rounds.
constexpr std::uint32_t last_step = 1U << 29U;

/// How a request travels.
struct Passage {
  std::uint32_t step = 1;  ///< of its attempt; grows
  bool whole = false;      ///< send the script's text: the server does not know it, perhaps
  /// Of a request for a vote: the server ignores it after this moment of the server's clock.
  redis::ServerTime void_after{};
};

/// Appends one command each.
class Requests {
 public:
  explicit Requests(std::string prefix) : prefix_(std::move(prefix)) {}

  /// @param proposal the number that the hold is to have
  void take(std::string& out, const Passage& passage, const Acquisition::Request& request,
            Manners manners, std::uint64_t proposal) const;
  /// @param hold its number is the one that counts from now on
  void settle(std::string& out, const Passage& passage, const HoldId& hold) const;
  /// @param barred by an administrator: for how long the server refuses to give the hold of exactly
  /// that step its vote again; 0 = by its client
  void release(std::string& out, const Passage& passage, const HoldId& hold,
               std::chrono::milliseconds barred = {}) const;
  /// Releases what an attempt was given, whatever its number.
  /// @param leaves whether it wants no more hints
  /// @param barred as of `release()`
  void undo(std::string& out, const Passage& passage, std::string_view name,
            const AttemptId& attempt, bool leaves, std::chrono::milliseconds barred = {}) const;
  void renew(std::string& out, const Passage& passage,
             const std::vector<Renewal::Item>& items) const;
  void relock(std::string& out, const Passage& passage, const HoldId& hold,
              std::chrono::nanoseconds lease) const;
  void inspect(std::string& out, const Passage& passage, std::string_view name) const;
  /// Whether a vote could be written: nothing stays of it, and the server may refuse it.
  void check(std::string& out, const Passage& passage) const;
  /// As `inspect()`, with the identity of each hold.
  void whose(std::string& out, const Passage& passage, std::string_view name) const;

  /// @return the channel on which a client gets hints.
  [[nodiscard]] std::string inbox(const AttemptId& of_client) const;

 private:
  std::string prefix_;
};

}  // namespace mortise::redlock
