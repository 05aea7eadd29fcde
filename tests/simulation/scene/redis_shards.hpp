// SPDX-License-Identifier: MIT
// The masters of a cluster, and an administrator who moves slots from one to another while locks in
// them are held and waited for. A master that is gone for long enough has the others refuse
// everything: there are no replicas.
#pragma once

#include "simulation/redis/redis_server.hpp"
#include "simulation/scene/redis_wire.hpp"
#include "simulation/world/room.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace simulation {

class RedisShards {
 public:
  RedisShards(Room& room, std::size_t masters, Random luck);

  [[nodiscard]] const std::string& url() const noexcept { return url_; }
  [[nodiscard]] std::size_t size() const noexcept { return servers_.size(); }
  [[nodiscard]] redis::RedisModel& server(std::size_t i) { return *servers_.at(i).model; }
  [[nodiscard]] Host& host(std::size_t i) { return *servers_.at(i).host; }
  [[nodiscard]] RedisWire& wire() noexcept { return *wire_; }
  /// @return the master that has a key, or has its slot.
  [[nodiscard]] std::size_t place_of(std::string_view key);

  /// How long each part of a move takes.
  struct Move {
    Nanos before_keys{};  ///< both know that it is on its way, and nothing has gone
    Nanos between_keys{};
    Nanos after_keys{};   ///< all has gone, and the slot has not
    Nanos before_told{};  ///< the new master knows that it has it, and the old one does not
  };
  /// @return false: it is on its way already
  bool move(std::uint16_t slot, std::size_t to, Move times);
  [[nodiscard]] bool moves(std::uint16_t slot) const { return moving_.contains(slot); }
  /// @return how many slots have moved.
  [[nodiscard]] std::uint64_t moves() const noexcept { return moves_; }
  /// From now on moves are over soon, and words arrive at once.
  void calm();
  /// From now on a move takes as long as it is to.
  void go_on() noexcept { calm_ = false; }
  [[nodiscard]] Nanos node_timeout() const noexcept { return node_timeout_; }

 private:
  static constexpr Nanos between_looks = 50ms;
  static constexpr Nanos writable_delay = 2s;  // CLUSTER_WRITABLE_DELAY
  static constexpr Nanos longest_in_a_calm = 20ms;
  static constexpr Nanos quick{20'000};
  static constexpr Nanos quick_enough{500'000};

  struct Server {
    Host* host = nullptr;
    std::unique_ptr<redis::RedisModel> model;
    Nanos gone_since = never;
    Nanos back_since{0};
    bool was_up = true;
    Nanos ready_at{0};  ///< it was started anew
  };
  void look();
  [[nodiscard]] bool is_gone(std::size_t server) const;
  void after(Nanos time, std::vector<std::size_t> servers, std::function<void()> then);
  void move_keys(std::uint16_t slot, std::size_t from, std::size_t to, Move times);
  void assign(std::uint16_t slot, std::size_t from, std::size_t to, Move times);

  Room& room_;
  Random luck_;
  std::vector<Server> servers_;
  std::optional<RedisWire> wire_;
  std::string url_;
  const Nanos node_timeout_;
  std::set<std::uint16_t> moving_;
  std::uint64_t moves_ = 0;
  bool calm_ = false;
};

}  // namespace simulation
