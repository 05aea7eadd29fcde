// SPDX-License-Identifier: MIT
// A master, its replicas, and the sentinels that watch them. What sentinels decide together is
// decided here, by their rules (sentinel.c), with times that the seed draws: a master that is gone
// for long enough is replaced by the replica that has most; each sentinel learns it by itself; an
// old master that comes back goes on until it is told, and then loses its clients.
#pragma once

#include "simulation/redis/redis_server.hpp"
#include "simulation/redis/sentinel.hpp"
#include "simulation/scene/redis_wire.hpp"
#include "simulation/world/room.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace simulation {

class RedisGroup {
 public:
  static constexpr const char* name = "mymaster";

  RedisGroup(Room& room, std::size_t replicas, std::size_t sentinels, Random luck);

  /// @return "redis+sentinel://10.0.0.3,10.0.0.4/mymaster".
  [[nodiscard]] const std::string& url() const noexcept { return url_; }
  [[nodiscard]] std::size_t size() const noexcept { return servers_.size(); }
  [[nodiscard]] redis::RedisModel& server(std::size_t i) { return *servers_.at(i).model; }
  [[nodiscard]] Host& host(std::size_t i) { return *servers_.at(i).host; }
  /// @return the number of the master, as the sentinels have decided it.
  [[nodiscard]] std::size_t master() const noexcept { return master_; }
  [[nodiscard]] std::size_t sentinels() const noexcept { return sentinels_.size(); }
  [[nodiscard]] Host& sentinel(std::size_t i) { return *sentinels_.at(i).host; }
  [[nodiscard]] RedisWire& wire() noexcept { return *wire_; }
  /// @return the replica that would take over now; nothing = none could
  [[nodiscard]] std::optional<std::size_t> successor() const;
  [[nodiscard]] std::uint64_t fail_overs() const noexcept { return epoch_ - 1; }
  /// @return for how long a master has to be gone.
  [[nodiscard]] Nanos down_after() const noexcept { return down_after_; }
  /// @return since when all sentinels that can be reached name the master; never: not all do
  [[nodiscard]] Nanos agreed_since() const noexcept { return agreed_since_; }
  /// @return whether all follow the master, and have what it has.
  [[nodiscard]] bool is_whole() const;

  /// SENTINEL FAILOVER. @return whether there is anybody to take over
  bool fail_over();
  /// A sentinel hears nothing from the others until then.
  void deafen(std::size_t sentinel, Nanos until);
  /// From now on old masters are told within a moment, also those of later fail-overs, and words
  /// arrive at once.
  void calm();
  /// An old master of the next fail-overs goes on for so long, until it is calm.
  void let_old_masters_go_on(Nanos time) { patience_ = time; }
  /// Told of each fail-over, before anybody else is.
  std::function<void(std::size_t before)> on_fail_over;

 private:
  static constexpr Nanos between_looks = 50ms;
  /// A server says its role when it is asked for it, which in trouble is each second; sentinels
  /// tell each other every two seconds.
  static constexpr Nanos between_questions = 1s;
  static constexpr Nanos between_greetings = 2s;
  /// Four of the latter, and as long as the next question may take.
  static constexpr Nanos longest_patience = 18s;
  static constexpr Nanos shortest_patience = 300ms;
  static constexpr Nanos quick{20'000};
  static constexpr Nanos quick_enough{500'000};

  struct Server {
    Host* host = nullptr;
    std::unique_ptr<redis::RedisModel> model;
    Nanos wrong_since = never;  // it is there, and does not follow the master
    Nanos patience{};           // of the sentinels, with that
  };
  struct Sentinel {
    Host* host = nullptr;
    std::unique_ptr<redis::SentinelModel> model;
    Nanos learns_at{};
    Nanos deaf_until{};
  };
  void look();
  void look_at_master();
  void look_at_the_others();
  void look_at_sentinels();
  [[nodiscard]] bool is_gone(std::size_t server) const;
  [[nodiscard]] bool is_there(const Host& host) const;
  void promote(std::size_t server);

  Room& room_;
  Random luck_;
  std::vector<Server> servers_;
  std::vector<Sentinel> sentinels_;
  std::optional<RedisWire> wire_;
  std::string url_;
  std::size_t master_ = 0;
  std::uint64_t epoch_ = 1;
  const Nanos down_after_;
  Nanos gone_since_ = never;
  Nanos agreed_since_ = never;
  std::optional<Nanos> patience_{};
  bool calm_ = false;
};

}  // namespace simulation
