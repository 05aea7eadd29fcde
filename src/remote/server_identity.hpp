// SPDX-License-Identifier: MIT
// The server that an address leads to, as its connection for commands has found it, and its clock.
#pragma once

#include <mortise/clock.hpp>

#include "base/address.hpp"
#include "remote/server_clock.hpp"

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <utility>

namespace mortise::remote {

/// @thread_safety every member may be called concurrently
class ServerIdentity {
 public:
  /// @param clocks numbers the clocks of all servers of a client; outlives it
  ServerIdentity(base::Address address, std::atomic<std::uint64_t>& clocks)
      : address_(std::move(address)), clocks_(clocks) {}

  [[nodiscard]] const base::Address& address() const noexcept { return address_; }
  /// One start of a server.
  struct Start {
    std::string run_id{};
    std::uint64_t clock = 0;
  };
  /// The connection for commands leads there.
  /// @param run_id another one after each start of a server
  /// @param time its clock, which a reply showed; 0 = not known. As ServerClock::read()
  void meet(const std::string& run_id, ServerTime time, Instant asked, Instant now) {
    time_.forget();
    if (time != ServerTime{}) time_.read(asked, time, now);
    const std::lock_guard lock(mutex_);
    const bool is_another = std::exchange(run_id_, run_id) != run_id;
    // In one step: an inbox that finds its own server here is read by the clock of that server.
    if (is_another) clock_.store(clocks_.fetch_add(1) + 1);
  }
  [[nodiscard]] Start start() const {
    const std::lock_guard lock(mutex_);
    return {run_id_, clock_.load()};
  }
  /// @return a number that differs for each server and for each start of a server.
  [[nodiscard]] std::uint64_t clock() const noexcept { return clock_.load(); }
  /// The time of that server, as an estimate.
  [[nodiscard]] ServerClock& time() noexcept { return time_; }
  [[nodiscard]] const ServerClock& time() const noexcept { return time_; }

 private:
  const base::Address address_;
  std::atomic<std::uint64_t>& clocks_;
  ServerClock time_;
  mutable std::mutex mutex_;
  std::string run_id_;
  std::atomic<std::uint64_t> clock_{0};
};

}  // namespace mortise::remote
