// SPDX-License-Identifier: MIT
// A sentinel that lies: it answers each command with what the test says, whatever that is.
#pragma once

#include "support/fake_server.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>

namespace mortise::test {

/// Listens on 127.0.0.1 as long as it lives.
class FakeSentinel {
 public:
  [[nodiscard]] std::uint16_t port() const noexcept { return server_.port(); }
  /// Names that port of 127.0.0.1 from now on, and that epoch.
  void name(std::uint16_t port, std::uint64_t epoch);
  /// Sends these bytes from now on, as soon as something is asked; none: nothing ever comes.
  void say(std::string bytes);
  /// Closes each connection as soon as something is asked, after the bytes.
  void hang_up(bool yes) { hangs_up_.store(yes); }
  /// @return how often it was asked.
  [[nodiscard]] std::uint64_t asked() const noexcept { return asked_.load(); }
  /// @return all that it was sent.
  [[nodiscard]] std::string heard() const {
    const std::lock_guard lock(mutex_);
    return heard_;
  }

 private:
  [[nodiscard]] FakeServer::Answer answer(std::string_view received);

  mutable std::mutex mutex_;
  std::string bytes_;
  std::string heard_;
  std::atomic<bool> hangs_up_{false};
  std::atomic<std::uint64_t> asked_{0};
  // Last: its thread uses all of the above.
  FakeServer server_{
      [this](std::string_view received, std::size_t /*before*/) { return answer(received); }};
};

}  // namespace mortise::test
