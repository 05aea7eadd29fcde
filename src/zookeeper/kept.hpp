// SPDX-License-Identifier: MIT
// What a node keeps of a key, as bytes and as a record. Pure: no server, no clock.
#pragma once

#include <mortise/operation.hpp>
#include <mortise/record.hpp>

#include "zookeeper/leaders_clock.hpp"
#include "zookeeper/lock_path.hpp"
#include "zookeeper/request.hpp"

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
  std::string name{};                ///< of the key: see `name_to_keep()`

  [[nodiscard]] std::string bytes() const;
  /// @return nothing: it is none.
  [[nodiscard]] static std::optional<Kept> read(std::string_view bytes);
};

/// What was found of a key.
struct Memo {
  bool there = false;
  Kept kept{};
  std::int32_t version = 0;   ///< of the node's data: whoever writes names it
  std::int32_t removals = 0;  ///< on its shelf, before it was read: whoever removes names it
  std::int64_t written = 0;   ///< when, by the leader's clock in milliseconds

  /// @return nothing: the node holds something else.
  [[nodiscard]] static std::optional<Memo> read(const Reply& reply);
  /// @return the same, or an empty one.
  [[nodiscard]] static Memo found(const Reply& reply) {
    return reply.code == Code::ok ? read(reply).value_or(Memo()) : Memo();
  }

  /// @return whether it is what is kept of that key, and not of another one with its digest.
  [[nodiscard]] bool is_of(std::string_view key) const { return kept.name == name_to_keep(key); }
  [[nodiscard]] bool pending() const noexcept {
    return there && kept.record.state == KeyState::pending;
  }
  /// @return whether that node is its runner's. A record of another program may name none.
  [[nodiscard]] bool is_run_by(std::string_view node) const noexcept {
    return pending() && !kept.runner.empty() && node.starts_with(kept.runner);
  }
  /// @return whether the time for which it is to be remembered is over for sure.
  [[nodiscard]] bool is_over(const LeadersTime& time) const noexcept {
    return there && time.least != 0 && time.least - written >= kept.keep.count();
  }
  /// @return whether it may be, or may not.
  [[nodiscard]] bool may_be_over(const LeadersTime& time) const noexcept {
    return there && !is_over(time) && (time.least == 0 || time.most - written >= kept.keep.count());
  }
  /// @param held whether the runner's node stands
  /// @return what is remembered: nothing where it is over, and nobody runs it
  [[nodiscard]] Record record(bool held, const LeadersTime& time) const;
};

}  // namespace mortise::zookeeper
