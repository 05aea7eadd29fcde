// SPDX-License-Identifier: MIT
// What servers send each other: in order between two of them, as late as the seed says, and held up
// for as long as one of them is cut off, as by TCP.
#pragma once

#include "simulation/world/room.hpp"

#include <cstddef>
#include <deque>
#include <functional>
#include <vector>

namespace simulation {

class RedisWire {
 public:
  /// @param least, most what a word takes
  RedisWire(Room& room, std::vector<Host*> hosts, Random luck, Nanos least, Nanos most);

  void carry(std::size_t from, std::size_t to, std::function<void()> then);
  /// From now on words take so long.
  void take(Nanos least, Nanos most) noexcept {
    least_ = least;
    most_ = most;
  }
  /// Nothing that a server sends to the others arrives until then.
  void hold_up(std::size_t from, Nanos until);
  /// Nothing passes between that server and the others until then.
  void cut_off(std::size_t server, Nanos until);
  [[nodiscard]] Nanos cut_off_until(std::size_t server) const { return cut_off_.at(server); }
  /// Whatever holds words up is over.
  void flow();

 private:
  struct Pipe {
    std::deque<std::function<void()>> waiting;
    Nanos last{0};
    bool planned = false;
  };
  void plan(std::size_t from, std::size_t to);
  void arrive(std::size_t from, std::size_t to);
  [[nodiscard]] Nanos free_at(std::size_t from, std::size_t to) const;
  [[nodiscard]] Pipe& pipe(std::size_t from, std::size_t to) {
    return pipes_[from * hosts_.size() + to];
  }

  Room& room_;
  const std::vector<Host*> hosts_;
  Random luck_;
  Nanos least_;
  Nanos most_;
  std::vector<Pipe> pipes_;
  std::vector<Nanos> held_up_;
  std::vector<Nanos> cut_off_;
};

}  // namespace simulation
