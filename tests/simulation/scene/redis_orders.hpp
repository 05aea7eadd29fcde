// SPDX-License-Identifier: MIT
// Orders of events that protocols are about and that trouble at a random time never makes: two
// things come to one client by two connections and overtake each other while a lock changes hands,
// or a connection breaks and is made anew while a thread stands between two steps of a send.
#pragma once

#include "simulation/redis/redis_server.hpp"
#include "simulation/scene/redis_bystander.hpp"
#include "simulation/scene/redis_second_grants.hpp"
#include "simulation/world/room.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace simulation {

class RedisOrders {
 public:
  enum class What {
    taken_meanwhile,  ///< a lock is taken by force while the answer that grants it is under way
    overdue_push,     ///< the same with the push that grants it, whose owner asks before it comes
    late_sender,      ///< a thread stops while it sends, and then the connection is another one
    late_writer,      ///< it stops when it has found that the connection is broken
    second_grant      ///< a waiter's question takes the lock anew when its grant is over already
  };
  /// @param end of all effects
  RedisOrders(Room& room, Host& host, redis::RedisModel& server, Nanos lease, Nanos end);

  /// Makes the order as soon as it can be made. @return in words, for the trace
  std::string make(What what, Random& random);
  /// Another machine takes its place then: of those who wait one is to be told of its grant before
  /// it has learned how that machine's clock reads, and to be cut off once it was told.
  void hear_of_another_machine(Random& random, Nanos from);
  /// The server answers.
  void runs(const redis::ScriptRun& run);
  /// It sends a message.
  void told(std::string_view channel, std::string_view message);
  /// Told of a process whose threads are to keep until then what they hold.
  std::function<void(const Process& process, Nanos until)> keep;
  [[nodiscard]] std::uint64_t requests() const noexcept { return administrator_.requests(); }

 private:
  static constexpr ConnectionId connection_of_the_administrator = ConnectionId{1} << 41U;
  static constexpr std::size_t client_size = 16;  // of an attempt's id
  /// In which whoever is told something has read it (see RedisHearing), and a little more.
  static constexpr Nanos to_hear = 26ms;
  /// A waiter asks once a second.
  static constexpr Nanos until_it_asks = 1'200ms;
  /// Longer than it takes to make a connection anew.
  static constexpr Nanos shortest_stop = 15ms;
  static constexpr Nanos longest_stop = 40ms;
  static constexpr int stops = 12;
  /// Places where a thread may stop, in one lock() and unlock() with what the background does for
  /// it.
  static constexpr std::uint64_t places = 60;
  static constexpr std::uint64_t places_behind_a_write = 5;
  /// In which some holder lets go, and whoever waits for it is told.
  static constexpr Nanos until_it_is_told = 3s;
  /// What a clock may be ahead, and a provisional lease takes: when whoever believes that clock's
  /// readings to be those of another one believes too much.
  static constexpr Nanos shortest_silence = 1s;
  static constexpr Nanos longest_silence = 6s;

  /// A grant whose push stalls.
  struct Overdue {
    std::string attempt;
    ConnectionId inbox{};
    Nanos until{};
  };
  /// Whose connection has broken while a thread of it stops.
  struct Late {
    const Process* process = nullptr;
    ConnectionId broken{};
    Nanos until{0};
  };
  /// Who waited when another machine came, and which of them is to hear of a grant first.
  struct Moved {
    std::set<std::string> waiters{};
    std::string attempt{};
    Nanos from{0};
    Nanos until{0};
  };
  void hold_up_reading(const redis::ScriptRun& run);
  void tell_of_moved(Connection& inbox, std::string_view attempt);
  [[nodiscard]] Connection* some_connection(Random& random) const;
  void cut_all(const Process& process) const;
  [[nodiscard]] Connection* inbox_of(std::string_view attempt) const;
  void take(const std::string& key, Nanos after);
  void hold_up_answer(const redis::ScriptRun& run);
  void tell_of_overdue(const redis::ScriptRun& run);
  void stop_a_sender(Process& process, int times);
  void stop_a_writer(Connection& connection);

  Room& room_;
  Host& host_;
  redis::RedisModel& server_;
  RedisBystander administrator_;
  const Nanos lease_;
  const Nanos end_;
  Random luck_;
  int answers_ = 0;  // that are to be held up
  int pushes_ = 0;
  std::optional<Overdue> overdue_;
  RedisSecondGrants second_grants_;
  Late late_;
  Moved moved_;
};

}  // namespace simulation
