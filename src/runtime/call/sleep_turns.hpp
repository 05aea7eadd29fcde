// SPDX-License-Identifier: MIT
// The sleep of one thread that waits for calls of several clients.
#pragma once

#include "core/figures.hpp"

#include <algorithm>
#include <chrono>
#include <functional>

namespace mortise::runtime {

class ClientState;

/// A thread that sleeps for a call reads the answers of that call's client only. So it sleeps for
/// the clients in turns. Otherwise a store that does not answer would use up the time of a store
/// that does.
/// @tparam Call has `sleeps_for()` and `sleep()`
template <class Call>
class SleepTurns {
 public:
  /// A round begins: `add()` each call that has to sleep, then `sleep()`.
  void begin() noexcept {
    call_ = nullptr;
    client_ = nullptr;
    several_ = false;
    at_most_ = core::Nanos::max();
  }
  void add(Call& call, const ClientState& client) noexcept {
    at_most_ = std::min(at_most_, call.sleeps_for());
    several_ = several_ || (call_ != nullptr && client_ != &client);
    // The last call of a client: the answers to its other calls may come before.
    if (call_ != nullptr && comes_before(client_, &client)) return;
    call_ = &call;
    client_ = &client;
  }
  [[nodiscard]] bool empty() const noexcept { return call_ == nullptr; }
  /// Sleeps for one of the calls: at most that long, and not longer than any of them has to.
  void sleep(core::Nanos at_most) {
    at_most = std::min(at_most, at_most_);
    if (several_) at_most = std::min(at_most, std::clamp(at_most_ / 2, shortest, longest));
    last_ = client_;
    call_->sleep(at_most);
  }

 private:
  static constexpr core::Nanos shortest = std::chrono::milliseconds(1);
  static constexpr core::Nanos longest = std::chrono::milliseconds(10);

  /// By their addresses, beginning behind the client that had the last turn.
  [[nodiscard]] bool comes_before(const ClientState* one, const ClientState* other) const noexcept {
    constexpr std::less<> less;
    const bool one_is_behind = less(last_, one);
    return one_is_behind == less(last_, other) ? less(one, other) : one_is_behind;
  }

  Call* call_ = nullptr;  // whose turn it is
  const ClientState* client_ = nullptr;
  const ClientState* last_ = nullptr;
  bool several_ = false;  // clients
  core::Nanos at_most_ = core::Nanos::max();
};

}  // namespace mortise::runtime
