// SPDX-License-Identifier: MIT
// The commands that take and free one name, as a raw program sends them: those of the library
// itself, and those of the plain locks that the field uses. Nothing here sends or waits.
#pragma once

#include <mortise/operation.hpp>

#include "raw_redis.hpp"

#include <cstdint>
#include <string>

namespace mortise::bench {

/// The library's two scripts, with the words that the library gives them: taken from its own
/// commands, and only the attempt and the grant's number are new in each cycle.
class OwnScripts {
 public:
  explicit OwnScripts(const std::string& name);
  /// @return the command of another attempt.
  [[nodiscard]] RawCommand& acquire();
  /// @param granted the answer. @throws std::runtime_error where it is no grant
  [[nodiscard]] RawCommand& release(const redisReply& granted);
  /// Has a server know the scripts.
  static void load(RawRedis& redis);

 private:
  OwnScripts(const std::string& name, const AttemptId& attempt);

  RawCommand acquire_;
  RawCommand release_;
  std::size_t attempt_of_acquire_;
  std::size_t attempt_of_release_;
  std::size_t number_of_release_;
  std::uint64_t sequence_ = 0;
};

/// A hash with a count per owner, a time to live, and a message at the last unlock: no token, no
/// queue, no hand-over.
class PlainScripts {
 public:
  explicit PlainScripts(const std::string& name, const std::string& owner = "owner:1");
  [[nodiscard]] RawCommand& acquire() noexcept { return acquire_; }
  [[nodiscard]] RawCommand& release() noexcept { return release_; }
  /// Has a server know the scripts, and learns their names.
  void load(RawRedis& redis);

 private:
  RawCommand acquire_;
  RawCommand release_;
};

}  // namespace mortise::bench
