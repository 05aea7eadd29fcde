// SPDX-License-Identifier: MIT
// What a client knows of its sentinels: whom to ask first, and whom to believe where they differ.
#pragma once

#include "redis/topology/sentinel_talk.hpp"

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

namespace mortise::redis {

/// Sentinels lie late: one that was cut off, or stood still, names the master of before. Each
/// fail-over gives their configuration a greater epoch, by which they themselves agree; so an
/// answer of an older one than was heard of already is not believed. Where nothing can be told by
/// epochs (an administrator gave the sentinels another master by hand, or did not give us the right
/// to ask), all of them have to say the same before a master that is there is left for it.
/// @thread_safety every member may be called concurrently.
class Sentinels {
 public:
  explicit Sentinels(std::size_t count);

  /// @return all of them, by number, in the order in which to ask who is the master.
  [[nodiscard]] std::vector<std::size_t> order() const;
  /// One of them answered a search. @return whether to believe that; if so it is asked first from
  /// now on
  [[nodiscard]] bool believes(std::size_t sentinel, const SentinelAnswer& answer);
  /// Most of them answered, and none knows anything newer: they have forgotten. It is believed.
  void settle_for(std::size_t sentinel, const SentinelAnswer& answer);
  /// @return what was believed last; no host: nothing was.
  [[nodiscard]] SentinelAnswer known() const;
  /// What it led to was no master, or not there: others are asked first from now on.
  void misled();

  /// @return who is to be asked next whether the master is still the same, in turn.
  [[nodiscard]] std::size_t next_in_turn();
  /// One of them answered that. @return whether there is another master, to be searched for
  [[nodiscard]] bool names_another(std::size_t sentinel, const SentinelAnswer& answer);

 private:
  void believe_locked(std::size_t sentinel, const SentinelAnswer& answer);

  mutable std::mutex mutex_;
  std::vector<std::size_t> order_;
  base::Address master_{};  // as it is named; no host: not known
  std::uint64_t epoch_ = 0;
  std::size_t turn_ = 0;
  std::vector<base::Address> named_;  // by each, if another one, though by no newer epoch
};

}  // namespace mortise::redis
