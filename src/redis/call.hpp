// SPDX-License-Identifier: MIT
// One command on its way: what was asked for whom, until the server has answered.
#pragma once

#include <mortise/operation.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>

namespace mortise::redis {

struct Answer;

struct Call {
  enum class Kind : std::uint8_t { acquire, cancel, renew, release, inspect, check, force };
  Kind kind = Kind::check;
  bool whole = false;       ///< sent with the script's text: see LoadedScripts
  std::uint8_t script = 0;  ///< the user's own number of it
  bool ours = false;        ///< a release of the backend's own: no library repeats it
  bool goes_on = false;     ///< a release, as it was written: it names its successor
  bool leftover = false;    ///< a cancel of what a copy has taken for an attempt that is decided
  std::chrono::nanoseconds lease{};  ///< how long what it frees would keep others out
  std::uint32_t tag = 0;             ///< the user's own, as the three that follow
  bool copies = false;               ///< what was sent before may come after it
  std::uint64_t server = 0;          ///< for which server it is meant
  std::size_t node = 0;              ///< by which address
  std::uint64_t epoch = 0;           ///< generation of the connection that it is written for
  std::uint64_t number = 0;          ///< the connection's own
  std::shared_ptr<Operation> operation{};
  std::shared_ptr<const Answer> found{};  ///< force: whose hold it ends; null = it looks for one
  Instant asked{};                        ///< the clock before it left
  Instant since{};                        ///< when the library asked
  Instant deadline{};                     ///< unanswered until then: the connection counts as dead
};

}  // namespace mortise::redis
