// SPDX-License-Identifier: MIT
// A server that knows no protocol: the test decides what it answers. It counts its connections.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <thread>

namespace mortise::test {

/// Listens on 127.0.0.1 as long as it lives.
class FakeServer {
 public:
  struct Answer {
    std::string bytes{};
    bool hangs_up = false;  ///< behind the bytes
  };
  /// @param received what one read has brought
  /// @param before how many reads of this connection there were before
  using Answers = std::function<Answer(std::string_view received, std::size_t before)>;

  /// @param answers the thread of the server calls it
  explicit FakeServer(Answers answers);
  FakeServer(const FakeServer&) = delete;
  FakeServer& operator=(const FakeServer&) = delete;
  ~FakeServer();

  [[nodiscard]] std::uint16_t port() const noexcept { return port_; }
  /// @return how many connections it has accepted.
  [[nodiscard]] std::uint64_t accepted() const noexcept { return accepted_.load(); }

 private:
  void serve();

  const Answers answers_;
  int listener_ = -1;
  std::uint16_t port_ = 0;
  std::atomic<bool> ends_{false};
  std::atomic<std::uint64_t> accepted_{0};
  std::thread thread_;
};

}  // namespace mortise::test
