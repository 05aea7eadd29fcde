// SPDX-License-Identifier: MIT
// Whether pushes come to an inbox: what other threads ask, and the probe that finds it out.
#pragma once

#include <mortise/clock.hpp>

#include "remote/last_failure.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>

namespace mortise::redis {

/// If something on the way has forgotten the connection, an inbox looks like one to which nothing
/// has come: the server passes its waiters over, or waits for each. So it is probed now and then,
/// as long as a caller waits, by a subscription, for which it has the permission anyway.
/// @thread_safety every member may be called concurrently
class InboxState {
 public:
  /// @return true if waiters get to know. Otherwise no waiter joins a queue.
  [[nodiscard]] bool is_up() const noexcept { return is_up_.load(); }
  /// @return true if it is up, or if the last try to connect has failed.
  [[nodiscard]] bool is_decided() const noexcept { return is_decided_.load(); }
  /// @return as ServerIdentity::clock(), of the server to which the inbox leads.
  [[nodiscard]] std::uint64_t clock() const noexcept { return clock_.load(); }
  /// @return why there will be no inbox.
  [[nodiscard]] remote::LastFailure& why_deaf() noexcept { return why_deaf_; }
  [[nodiscard]] const remote::LastFailure& why_deaf() const noexcept { return why_deaf_; }

  void comes_up(std::uint64_t clock) noexcept {
    clock_.store(clock);
    is_up_.store(true);
    is_decided_.store(true);
  }
  void goes_down() noexcept {
    is_up_.store(false);
    awaits_probe_.store(false);
  }
  void decide() noexcept { is_decided_.store(true); }
  /// A client wants the inbox again. If the inbox is not up, its state is undecided.
  void renew() noexcept { is_decided_.store(is_up_.load()); }

  enum class Probe : std::uint8_t {
    none,   ///< not now
    begin,  ///< send one
    failed  ///< the last one was not answered in time: break the connection
  };
  [[nodiscard]] Probe probe(Instant now) noexcept {
    constexpr std::chrono::seconds interval{1};
    constexpr std::chrono::seconds patience_of_a_probe{2};
    if (!is_up()) return Probe::none;
    const Instant before{Instant::duration(probed_.load())};
    if (awaits_probe_.load()) {
      const bool is_late = now - before >= patience_of_a_probe && awaits_probe_.exchange(false);
      return is_late ? Probe::failed : Probe::none;
    }
    if (now - before < interval || awaits_probe_.exchange(true)) return Probe::none;
    probed_.store(now.time_since_epoch().count());
    return Probe::begin;
  }
  /// It was answered, or could not be sent.
  void end_probe() noexcept { awaits_probe_.store(false); }

 private:
  std::atomic<bool> is_up_{false};
  std::atomic<bool> is_decided_{false};
  std::atomic<std::uint64_t> clock_{0};
  remote::LastFailure why_deaf_;
  std::atomic<Instant::rep> probed_{0};  // when the last probe was sent
  std::atomic<bool> awaits_probe_{false};
};

}  // namespace mortise::redis
