// SPDX-License-Identifier: MIT
// Several sessions that do the same at the model and at a real server, step by step, and what
// comes of it in words.
#pragma once

#include "simulation/zookeeper/beside/client.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace simulation::zookeeper {

/// What one session does at once.
struct Step {
  enum class Kind : std::uint8_t {
    requests,  ///< in one write
    end,       ///< ends the session, and begins another one
    move,      ///< leaves without a word, and comes back with its watches
    expire,    ///< leaves, and comes back too late
  };
  Kind kind = Kind::requests;
  std::size_t who = 0;
  std::size_t server = 0;  ///< where it goes
  std::vector<std::pair<std::int32_t, Out>> requests{};
  std::vector<std::string> watches[3]{};  ///< of data, existence, children
  std::int64_t back = 0;                  ///< by how many zxids less than it has seen

  [[nodiscard]] std::string words() const;
};

class Conversation {
 public:
  static constexpr std::chrono::milliseconds session_timeout{30'000};
  static constexpr std::chrono::milliseconds short_timeout{1'000};

  /// @param servers to which its sessions connect, one after the other
  Conversation(Place& place, std::size_t sessions, std::size_t servers = 1);
  ~Conversation();
  Conversation(const Conversation&) = delete;
  Conversation& operator=(const Conversation&) = delete;

  /// @return what was answered, and what all sessions were told, each line with its session.
  std::vector<std::string> play(const Step& step);
  /// @return all nodes below, with their data and their stats.
  std::vector<std::string> tree(const std::string& root);

 private:
  void begin(std::size_t who, std::size_t server, std::chrono::milliseconds timeout);
  /// Hears until all is answered. @return false: the server has hung up
  bool hear_all(std::size_t who, std::vector<std::string>& out);
  /// Ends a session that the server has hung up on, and begins another.
  void replace(const Step& step, std::vector<std::string>& out);
  void end(std::size_t who, std::vector<std::string>& out);
  void come_back(const Step& step, std::vector<std::string>& out);
  /// Until each server has what any of the sessions has seen.
  void catch_up();
  void hear_others(std::size_t who, bool any_order, std::vector<std::string>& out);

  Place& place_;
  const bool apart_;  // its sessions are at several servers, of which some lag
  Words words_;
  std::vector<std::unique_ptr<Client>> clients_;
  std::vector<std::vector<std::string>> heard_;  // while they caught up
};

}  // namespace simulation::zookeeper
