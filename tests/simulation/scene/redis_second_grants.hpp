// SPDX-License-Identifier: MIT
// One attempt that is granted twice: while a waiter's question is under way it is told of a grant
// by a message, that grant ends at the server, and what the question takes then nobody is told.
#pragma once

#include "simulation/redis/redis_server.hpp"
#include "simulation/world/room.hpp"

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace simulation {

class RedisSecondGrants {
 public:
  /// @param take ends the hold of a key by force, so much later
  /// @param end of all effects
  RedisSecondGrants(Room& room, Host& host, redis::RedisModel& server,
                    std::function<void(const std::string& key, Nanos after)> take, Nanos end)
      : room_(room), host_(host), server_(server), take_(std::move(take)), end_(end) {}

  /// As soon as somebody waits alone.
  void make(Random& random);
  /// The server answers.
  void runs(const redis::ScriptRun& run);
  /// It sends a message.
  void told(std::string_view channel, std::string_view message);
  /// Told of a process whose threads are to keep until then what they hold.
  std::function<void(const Process& process, Nanos until)> keep;

 private:
  /// A waiter asks once a second; and the whole takes no longer.
  static constexpr Nanos until_it_asks = 1'200ms;
  static constexpr Nanos in_all = 2'500ms;
  static constexpr Nanos a_look = 10ms;
  /// In which whoever is told something has read it (see RedisHearing), and a little more.
  static constexpr Nanos to_hear = 26ms;
  /// How long the twice granted one keeps its hold, and whoever is silenced hears nothing.
  static constexpr Nanos shortest_keep = 60ms;
  static constexpr Nanos longest_keep = 400ms;
  static constexpr std::size_t client_size = 16;  // of an attempt's id

  struct Waiter {
    std::string key;
    std::string attempt;
    ConnectionId connection{};  // that its questions travel on
    Nanos until{0};
    bool granted = false;
    bool goes_on = false;
  };
  void begin(const redis::ScriptRun& run);
  void wait_for_question();
  void end_the_grant(ConnectionId inbox);
  void let_go_on();
  void silence(const Process& than, Nanos until) const;

  Room& room_;
  Host& host_;
  redis::RedisModel& server_;
  const std::function<void(const std::string& key, Nanos after)> take_;
  const Nanos end_;
  Random luck_;
  int left_ = 0;
  std::optional<Waiter> waiter_;
};

}  // namespace simulation
