// SPDX-License-Identifier: MIT
// The model without sockets and without time that passes by itself: a test asks it one statement
// after the other, and says what the clock is.
#pragma once

#include "simulation/postgres/postgres_server.hpp"
#include "simulation/postgres/value.hpp"
#include "simulation/postgres/wire.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace simulation::postgres {

class DirectSite final : public Site {
 public:
  explicit DirectSite(std::uint64_t seed) : random_(seed) {}
  Nanos clock{};  ///< what `wall()` says

  /// Calls back whoever is the next to be. @return false: there is nobody
  bool go_on();
  /// @return what was sent to it, which is forgotten then.
  std::string taken(ConnectionId connection) { return std::exchange(sent_[connection], {}); }
  [[nodiscard]] const std::string& sent(ConnectionId connection) { return sent_[connection]; }

  [[nodiscard]] Nanos wall() const override { return clock; }
  [[nodiscard]] Nanos uptime() const override { return now_; }
  [[nodiscard]] std::uint64_t random() override { return random_(); }
  void send(ConnectionId connection, std::string_view bytes) override {
    sent_[connection] += bytes;
  }
  void hang_up(ConnectionId /*connection*/) override {}
  void after(Nanos delay, std::function<void()> then) override {
    timers_.emplace(now_ + delay, std::move(then));
  }
  void note(std::string_view words) override;

 private:
  std::mt19937_64 random_;
  Nanos now_{};
  std::map<ConnectionId, std::string> sent_;
  std::multimap<Nanos, std::function<void()>> timers_;
};

/// What a statement gave, as text: its rows, or "error <state>".
using Answers = std::vector<std::vector<std::string>>;

/// One session of the model.
class DirectTalk {
 public:
  DirectTalk(DirectSite& site, PostgresModel& model, ConnectionId connection);
  /// @param arguments in binary form
  Answers ask(const std::string& text, const std::vector<std::string>& arguments = {});
  /// @return the payloads of notifications that came since.
  std::vector<std::string> notifications();

 private:
  Answers read();
  DirectSite& site_;
  PostgresModel& model_;
  ConnectionId connection_;
  MessageStream in_;
  std::vector<std::string> heard_;
};

[[nodiscard]] std::string binary(std::int64_t number);
[[nodiscard]] std::string binary(const std::vector<std::string>& values);
[[nodiscard]] std::string binary(const std::vector<std::int64_t>& values);

}  // namespace simulation::postgres
