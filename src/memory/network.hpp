// SPDX-License-Identifier: MIT
// The network between the memory server and its clients: the delay or the loss of each message.
#pragma once

#include <mortise/memory.hpp>

#include "base/random_id.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>

namespace mortise::memory {

/// @thread_safety every member may be called concurrently.
class Network {
 public:
  enum class Message : std::uint8_t { request, reply, push };
  /// @return the delay of a message; empty if the network loses it.
  std::optional<std::chrono::nanoseconds> send(Message kind);

  void set_faults(const Faults& faults);
  void set_reachable(bool reachable) noexcept { reachable_.store(reachable); }
  [[nodiscard]] bool reachable() const noexcept { return reachable_.load(); }
  /// @return whether a message may arrive long after the next ones of its sender: the network
  /// delays messages, or has done so.
  [[nodiscard]] bool delivers_late() const noexcept { return has_been_faulty_.load(); }
  /// @return the number of pushes that were sent, including lost ones.
  [[nodiscard]] std::uint64_t pushes() const noexcept { return pushes_.load(); }

 private:
  std::mutex mutex_;
  Faults faults_;             // under the mutex
  base::SplitMix random_{1};  // under the mutex
  std::atomic<bool> faulty_{false};
  std::atomic<bool> has_been_faulty_{false};
  std::atomic<bool> reachable_{true};
  std::atomic<std::uint64_t> pushes_{0};
};

}  // namespace mortise::memory
