// SPDX-License-Identifier: MIT
// One session of a test, on one connection.
#pragma once

#include "simulation/zookeeper/beside/channels.hpp"
#include "simulation/zookeeper/beside/talking.hpp"
#include "simulation/zookeeper/numbers.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace simulation::zookeeper {

struct Answer {
  std::int32_t xid = 0;
  std::int64_t zxid = 0;
  std::int32_t code = 0;
  std::string body{};
};

/// @return the node that a request has made.
[[nodiscard]] inline std::string made_by(const Answer& answer) {
  return std::string(In(answer.body).text());
}

/// @return a request for a node in the queue /q.
[[nodiscard]] inline Out queue_node() { return create_body("/q/x-", flag::ephemeral_sequential); }

class Client {
 public:
  /// A new session.
  Client(Place& place, std::size_t server, std::chrono::milliseconds timeout)
      : place_(place), timeout_(timeout) {
    if (!connect(server)) throw std::runtime_error("there is no new session");
  }

  /// Connects to a server, with the session if there is one.
  /// @return false: the server has hung up without a word, or the session has expired
  bool connect(std::size_t server) {
    channel_ = place_.connect(server);
    awaited_.clear();
    channel_->send(greeting_frame(static_cast<std::int32_t>(timeout_.count()), welcome_.session,
                                  welcome_.password, seen_));
    const auto frame = channel_->next();
    expired_ = frame && read_welcome(*frame).timeout == 0;
    if (!frame || expired_) return false;
    welcome_ = read_welcome(*frame);
    return true;
  }
  void drop() { channel_.reset(); }

  [[nodiscard]] const Welcome& welcome() const noexcept { return welcome_; }
  /// @return whether the last `connect()` was told that the session is over.
  [[nodiscard]] bool expired() const noexcept { return expired_; }
  void pretend_seen(std::int64_t zxid) noexcept { seen_ = zxid; }
  [[nodiscard]] std::int64_t seen() const noexcept { return seen_; }

  void send(std::int32_t type, const Out& body = {}) { send_as(next_xid(type), type, body); }
  void send_as(std::int32_t number, std::int32_t type, const Out& body) {
    awaited_.emplace_back(number, type);
    channel_->send(request_frame(number, type, body));
  }
  /// @return the next reply; events are kept. @throws std::runtime_error: the server has hung up
  Answer receive() {
    while (true) {
      const auto frame = channel_->next();
      if (!frame) throw std::runtime_error("the server has hung up");
      In in(*frame);
      Answer out{.xid = in.int32(), .zxid = in.int64(), .code = in.int32()};
      if (out.xid == xid::watch) {
        events_.push_back(*frame);
        continue;
      }
      out.body = in.rest();
      seen_ = std::max(seen_, out.zxid);
      awaited_.pop_front();
      return out;
    }
  }
  Answer ask(std::int32_t type, const Out& body = {}) {
    send(type, body);
    return receive();
  }
  /// @return what happens next, in words; nothing: the server has hung up.
  std::optional<std::string> hear(const Words& words) {
    const auto frame = channel_->next();
    if (!frame) return std::nullopt;
    In in(*frame);
    const std::int32_t number = in.int32();
    std::int32_t type = 0;
    if (number != xid::watch) {
      seen_ = std::max(seen_, in.int64());
      if (!awaited_.empty()) type = awaited_.front().second;
      if (!awaited_.empty()) awaited_.pop_front();
    }
    return words.of(*frame, type);
  }
  [[nodiscard]] std::size_t awaited() const noexcept { return awaited_.size(); }
  [[nodiscard]] std::vector<std::string> take_events() { return std::exchange(events_, {}); }

 private:
  std::int32_t next_xid(std::int32_t type) {
    if (type == op::ping) return xid::ping;
    if (type == op::auth) return xid::auth;
    return ++last_;
  }

  Place& place_;
  const std::chrono::milliseconds timeout_;
  std::unique_ptr<Channel> channel_;
  Welcome welcome_;
  bool expired_ = false;
  std::int64_t seen_ = 0;
  std::int32_t last_ = 0;
  std::deque<std::pair<std::int32_t, std::int32_t>> awaited_;
  std::vector<std::string> events_;
};

}  // namespace simulation::zookeeper
