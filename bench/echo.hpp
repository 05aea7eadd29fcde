// SPDX-License-Identifier: MIT
// A server that sends back what it gets, and a backend that knows nothing but asking it: what is
// left of a round trip when the locks are taken away.
#pragma once

#include <mortise/backend.hpp>

#include "placement.hpp"
#include "process.hpp"

#include <deque>
#include <memory>
#include <mutex>

namespace mortise::bench {

/// What is sent for each question; about a small command.
inline constexpr std::size_t echo_size = 32;

/// An echo server in a process of its own, placed as the server's side.
class EchoServer {
 public:
  explicit EchoServer(Mode mode);
  EchoServer(const EchoServer&) = delete;
  EchoServer& operator=(const EchoServer&) = delete;
  ~EchoServer();
  /// @return the connection; blocking.
  [[nodiscard]] int socket() const noexcept { return ends_[0]; }
  /// One question, by plain write and read.
  void ask() const;

 private:
  int ends_[2] = {-1, -1};
  std::unique_ptr<Process> process_;
};

/// Answers `check()` with a round trip. Questions of many threads share the connection, and a write
/// where they come together; the client's engine reads the answers.
class EchoBackend final : public Backend, private Source {
 public:
  /// @param socket stays open longer than the backend, and becomes non-blocking
  explicit EchoBackend(int socket);
  [[nodiscard]] StoreDescription describe() const override { return {.name = "echo"}; }
  void start(Host& host) override;
  void stop() noexcept override;
  void acquire(const std::shared_ptr<Acquisition>& operation) override { refuse(*operation); }
  void cancel(const std::shared_ptr<Acquisition>& operation) override { refuse(*operation); }
  void renew(const std::shared_ptr<Renewal>& operation) override { refuse(*operation); }
  void release(const std::shared_ptr<Release>& operation) override { refuse(*operation); }
  void check(const std::shared_ptr<Check>& operation) override;

 private:
  static void refuse(Operation& operation);
  [[nodiscard]] int descriptor() const noexcept override { return socket_; }
  [[nodiscard]] short interest() const noexcept override;
  [[nodiscard]] bool pushes() const noexcept override { return false; }
  [[nodiscard]] bool outstanding() const noexcept override;
  void ready(short events, Instant now) override;

  const int socket_;
  Host* host_ = nullptr;
  mutable std::mutex mutex_;
  std::deque<std::shared_ptr<Check>> asked_;  // in the order in which they are answered
  std::size_t unsent_ = 0;
  bool sending_ = false;
  std::size_t surplus_ = 0;  // bytes of an answer that is not whole yet
};

}  // namespace mortise::bench
