// SPDX-License-Identifier: MIT
// What a node keeps of a key, as bytes and as a record. Pure: no server, no clock.
#pragma once

#include <mortise/operation.hpp>
#include <mortise/record.hpp>

#include "zookeeper/handle.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace mortise::zookeeper {

/// The data of such a node: a line for people and programs, and behind it the bytes that it tells
/// the lengths of. `Record::held` is no part of it, nor is the grant's number while the key is
/// pending: that is the transaction which wrote the node.
struct Kept {
  Record record{};
  std::chrono::milliseconds keep{};  ///< from the time at which it was written
  std::string runner{};              ///< what the name of its node in the queue begins with
  std::string attempt{};             ///< `AttemptId::text()` of who wrote it
  std::string label{};               ///< of the same

  [[nodiscard]] std::string bytes() const;
  /// @return nothing: it is none.
  [[nodiscard]] static std::optional<Kept> read(std::string_view bytes);
};

/// What was found of a key.
struct Memo {
  bool there = false;
  Kept kept{};
  std::int32_t version = 0;  ///< of the node's data: whoever writes names it
  std::int64_t written = 0;  ///< when, by the leader's clock in milliseconds

  /// @return nothing: the node holds something else.
  [[nodiscard]] static std::optional<Memo> read(const Reply& reply);

  [[nodiscard]] bool pending() const noexcept {
    return there && kept.record.state == KeyState::pending;
  }
  /// @param time by the leader's clock; 0: not known
  [[nodiscard]] bool is_over(std::int64_t time) const noexcept {
    return there && time != 0 && time - written >= kept.keep.count();
  }
  /// @param held whether the runner's node stands
  /// @return what is remembered: nothing where the time for that is over, and nobody runs it
  [[nodiscard]] Record record(bool held, std::int64_t time) const;
};

}  // namespace mortise::zookeeper
