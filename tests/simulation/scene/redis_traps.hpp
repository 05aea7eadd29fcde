// SPDX-License-Identifier: MIT
// Trouble that waits for a grant which is pushed, or for a queue: it befalls what two connections
// of one client tell of one hold, which trouble at a random time hardly ever meets.
#pragma once

#include "simulation/redis/redis_server.hpp"
#include "simulation/scene/redis_crowd.hpp"
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
    deaf_successor,  ///< who is pushed a grant hears nothing for longer than a provisional lease
                     ///< stands, and of messages for longer still
    crowd            ///< a hundred others queue, and leave
  };
  static constexpr std::size_t kinds = 2;

  /// @param end of all effects
  RedisTraps(Room& room, Host& host, redis::RedisModel& server, Nanos lease, Nanos end)
      : room_(room),
        host_(host),
        server_(server),
        crowd_(server, connection_of_crowds),
        lease_(lease),
        end_(end) {}

  /// @return in words, for the trace
  std::string set(What what, const std::string& key, Random& random, Nanos length);
  /// The server sends a message.
  void told(std::string_view channel, std::string_view message);
  /// Told of a process whose threads are to keep until then what they hold.
  std::function<void(const Process& process, Nanos until)> keep;
  [[nodiscard]] std::uint64_t requests_of_crowds() const noexcept { return crowd_.requests(); }

  void opened(ConnectionId connection) override { server_.opened(connection); }
  void received(ConnectionId connection, std::string_view bytes) override {
    server_.received(connection, bytes);
  }
  void closed(ConnectionId connection) override { server_.closed(connection); }
  void restarted(bool keeps_data) override { server_.restarted(keeps_data); }

 private:
  static constexpr Nanos longest_provisional_lease = 2s;

  void deafen(Connection& inbox);
  std::string gather(const std::string& key, Random& random, Nanos length);

  static constexpr ConnectionId connection_of_crowds = ConnectionId{1} << 40U;
  Room& room_;
  Host& host_;
  redis::RedisModel& server_;
  RedisCrowd crowd_;
  const Nanos lease_;
  const Nanos end_;
  int deaf_ = 0;  // successors that are to be
  Random luck_;
};

}  // namespace simulation
