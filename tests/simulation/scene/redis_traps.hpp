// SPDX-License-Identifier: MIT
// Trouble that waits for a grant which is pushed, or for a queue: it befalls what two connections
// of one client tell of one hold, which trouble at a random time hardly ever meets.
#pragma once

#include "simulation/redis/redis_server.hpp"
#include "simulation/world/room.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace simulation {

/// Stands before the server.
class RedisTraps final : public Server {
 public:
  enum class What {
    deaf_successor,  ///< who is pushed a grant hears nothing for longer than a claim stands, and of
                     ///< messages for longer still
    late_push,       ///< a grant is pushed late: about when its owner, who has asked, releases it
    crowd            ///< a hundred others queue, and leave
  };
  static constexpr std::size_t kinds = 3;

  /// @param end of all effects
  RedisTraps(Room& room, Host& host, redis::RedisModel& server, Nanos lease, Nanos end)
      : room_(room), host_(host), server_(server), lease_(lease), end_(end) {}

  /// @return in words, for the trace
  std::string set(What what, const std::string& key, Random& random, Nanos length);
  /// The server sends a message.
  void told(std::string_view channel, std::string_view message);
  /// Told of a process whose threads are to keep until then what they hold.
  std::function<void(const Process& process, Nanos until)> keep;
  [[nodiscard]] std::uint64_t requests_of_crowds() const noexcept { return requests_of_crowds_; }

  /// Attempts of crowds begin with it.
  static constexpr std::string_view of_crowds = "cccccccccccccccc";

  void opened(ConnectionId connection) override { server_.opened(connection); }
  void received(ConnectionId connection, std::string_view bytes) override {
    server_.received(connection, bytes);
  }
  void closed(ConnectionId connection) override { server_.closed(connection); }
  void restarted(bool keeps_data) override { server_.restarted(keeps_data); }

 private:
  void deafen(Connection& inbox);
  void delay(Connection& inbox);
  std::string gather(const std::string& key, Random& random, Nanos length);
  void ask(std::string_view text, const std::string& key, const std::string& attempt,
           const std::vector<std::string>& more);

  Room& room_;
  Host& host_;
  redis::RedisModel& server_;
  const Nanos lease_;
  const Nanos end_;
  int deaf_ = 0;  // successors that are to be
  int late_ = 0;
  std::uint64_t people_ = 0;  // of crowds so far
  std::uint64_t requests_of_crowds_ = 0;
  Random luck_;
};

}  // namespace simulation
