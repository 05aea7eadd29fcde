// SPDX-License-Identifier: MIT
// What trials of PostgreSQL have in common: a server of their own, which nothing befalls but what
// they do to it, and clients of that. The run's own server is in whatever state the storm left.
#pragma once

#include "simulation/postgres/postgres_server.hpp"
#include "simulation/scene/judge.hpp"
#include "simulation/world/room.hpp"

#include <functional>
#include <string>
#include <string_view>

namespace mortise {
class Client;
}

namespace simulation {

class PostgresTrial {
 public:
  /// @param mistake that its functions make; "" = none
  PostgresTrial(Room& room, Judge& judge, const postgres::Options& options,
                std::string_view mistake);

  /// Its program: on a thread of the client's process.
  using Life = std::function<void(Process&, mortise::Client&)>;
  /// Starts a process with a client of the server. All must live as long as the world does.
  /// @param parameters of the URL: "&mortise.fair=yes"
  void begin(const char* name, Life life, const std::string& parameters = {});
  /// Ends one of them at once, in the middle of its life. Not by a thread of its own.
  void kill(Process& process);
  /// Runs the world until all of those have ended.
  void run_until_gone();
  /// From now on, for each statement that a process of the server has reached.
  /// @param how returns how long the process stands still there
  void delay(std::function<Nanos(ConnectionId, postgres::Statement, postgres::Point)> how) {
    server_.watch_points(std::move(how));
  }

  [[nodiscard]] Room& room() const noexcept { return room_; }
  [[nodiscard]] Judge& judge() const noexcept { return judge_; }
  [[nodiscard]] postgres::PostgresModel& server() noexcept { return server_; }
  [[nodiscard]] Host& host() noexcept { return host_; }
  [[nodiscard]] std::string url(const std::string& parameters) const;

 private:
  Room& room_;
  Judge& judge_;
  Host& host_;
  postgres::PostgresModel server_;
  int here_ = 0;
};

}  // namespace simulation
