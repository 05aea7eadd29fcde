// SPDX-License-Identifier: MIT
// Which scripts the server has been sent whole on the present connection.
#pragma once

#include <atomic>
#include <cstdint>

namespace mortise::redis {

/// A script that the server does not know is refused, and has to be sent once more: a round trip,
/// and for the last word of a client that closes there is no once more. So the first call of each
/// script on a connection carries its text, and whoever sends behind that names it only. Noted by
/// the connection itself: what was withdrawn at the last moment has not told it anything.
/// @thread_safety every member may be called concurrently.
class LoadedScripts {
 public:
  /// @param script the user's own number of it, below 16
  /// @param connection its number: grows
  /// @return whether the script went whole on that connection before.
  [[nodiscard]] bool has(unsigned script, std::uint64_t connection) const noexcept {
    const std::uint64_t seen = seen_.load(std::memory_order_acquire);
    return seen >> bits == connection && (seen & bit(script)) != 0;
  }
  /// It was sent whole: what is sent from now on comes behind it.
  void sent(unsigned script, std::uint64_t connection) noexcept {
    std::uint64_t seen = seen_.load();
    while (seen >> bits <= connection) {
      const std::uint64_t of_this = seen >> bits == connection ? seen : connection << bits;
      if (seen_.compare_exchange_weak(seen, of_this | bit(script))) return;
    }
  }
  /// The server has forgotten them (SCRIPT FLUSH).
  void forget() noexcept { seen_.store(0); }

 private:
  static constexpr unsigned bits = 16;
  static constexpr std::uint64_t bit(unsigned script) noexcept {
    return std::uint64_t{1} << script;
  }
  std::atomic<std::uint64_t> seen_{0};  // of the newest connection; its number above the bits
};

}  // namespace mortise::redis
