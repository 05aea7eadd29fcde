// SPDX-License-Identifier: MIT
// One run's world with its network: what the system's calls act on.
#pragma once

#include "simulation/world/network.hpp"
#include "simulation/world/world.hpp"

#include <utility>

namespace simulation {

class Room {
 public:
  explicit Room(std::uint64_t seed) : world(seed), network(world) {
    current_ = this;
    world.on_death = [this](Process& process) { network.descriptors.close_all_of(process); };
    world.on_resume = [this](const Process& process) { network.descriptors.resumed(process); };
  }
  ~Room() { current_ = nullptr; }
  Room(const Room&) = delete;
  Room& operator=(const Room&) = delete;
  [[nodiscard]] static Room* current() noexcept { return current_; }

  /// Looks into the library with a process' eyes, from outside of all threads: a judge does.
  template <class Look>
  auto as(const Process& process, Look look) {
    looked_at = &process;
    struct Back {
      Room& room;
      ~Back() { room.looked_at = nullptr; }
    } const back{*this};
    return look();
  }

  World world;
  Network network;
  const Process* looked_at = nullptr;

 private:
  inline static Room* current_ = nullptr;
};

}  // namespace simulation
