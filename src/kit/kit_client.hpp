// SPDX-License-Identifier: MIT
// The parts of a client of a protocol: its connection, its attempts, and the calls that it still
// has to send.
#pragma once

#include <mortise/backend.hpp>
#include <mortise/remote/protocol.hpp>

#include "kit/answers.hpp"
#include "kit/call_writer.hpp"
#include "kit/connection.hpp"
#include "remote/name_watch.hpp"
#include "remote/polling.hpp"

#include <atomic>
#include <list>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace mortise::kit {

/// @thread_safety every member may be called concurrently
class KitClient final : public remote::Polling, private ConnectionUser {
 public:
  /// @param destination, protocol, host outlive it
  KitClient(const Destination& destination, const remote::Protocol& protocol, Host& host);

  [[nodiscard]] Exchange& exchange() noexcept { return exchange_; }
  [[nodiscard]] Attempts& attempts() noexcept { return attempts_; }
  [[nodiscard]] Clock& clock() noexcept { return clock_; }
  /// After `close()`: completes all operations with `closed`.
  void end() noexcept;

 private:
  // Source. Pushes come on the connection of the answers, so the alarm must not look like a source
  // of pushes: a caller that waits for a push would poll it, and leave the connection unread.
  [[nodiscard]] bool pushes() const noexcept override { return false; }
  [[nodiscard]] bool outstanding() const noexcept override { return due() != never; }
  [[nodiscard]] Instant due() const noexcept override { return exchange_.due(); }
  void ready(short /*events*/, Instant now) override { exchange_.tick(now); }
  // remote::Polling
  void attach_all() override;
  void detach_all() noexcept override;
  void hurry() override { remote::hurry(exchange_, attempts_, clock_.now()); }
  [[nodiscard]] bool is_any_pending(Instant in_time) override {
    return remote::is_any_pending(exchange_, attempts_, clock_.now(), in_time);
  }
  void add_sources(std::vector<Source*>& sources) override { sources.push_back(&connection_); }
  // ConnectionUser
  [[nodiscard]] bool admits(const Call& call) override;
  void greeted(const remote::Message& greeting, Instant asked) override;
  void connected(const base::Endpoint& endpoint) override;
  void answered(const Call& call, const remote::Message& message) override;
  void pushed(const remote::Message& message) override { answers_.handed_over(message); }
  void dropped(const Failure& why, bool was_up, std::list<Call> unanswered) override;

  Host& host_;
  Clock& clock_;
  const Destination& destination_;
  std::atomic<std::uint64_t> clocks_{0};
  std::mutex mutex_;  // of the attempts, and of the calls under way
  Attempts attempts_{mutex_};
  Server server_;
  Connection connection_;
  CallWriter writer_;
  Exchange exchange_;
  Answers answers_;
  std::optional<remote::NameWatch> names_;  // none = the address is no name
};

}  // namespace mortise::kit
