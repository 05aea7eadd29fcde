// SPDX-License-Identifier: MIT
// Which client an attempt belongs to, and when that client died or began to close. An attempt's id
// starts with the id of its client.
#pragma once

#include "simulation/redis/redis_server.hpp"
#include "simulation/world/room.hpp"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace simulation {

class AttemptClients {
 public:
  explicit AttemptClients(Room& room) : room_(room) {}

  /// A script ran at a server. The first argument of each script that takes is an attempt.
  void runs(const redis::ScriptRun& run) {
    if (run.arguments.empty() || run.arguments[0].size() <= client_size) return;
    const std::string_view client = run.arguments[0].substr(0, client_size);
    const auto is_digit = [](char each) {
      return std::isalnum(static_cast<unsigned char>(each)) != 0 || each == '-' || each == '_';
    };
    if (!std::all_of(client.begin(), client.end(), is_digit)) return;
    if (const Connection* const from = room_.network.find(run.connection)) {
      clients_.try_emplace(std::string(client), &from->process());
    }
  }
  /// The process is about to be killed, or its client to be closed.
  void ends(const Process& process) { ended_.try_emplace(&process, room_.world.now()); }

  /// @return whether the client is known, has not died and has not begun to close
  [[nodiscard]] bool lives(std::string_view attempt) const {
    const Process* const process = process_of(attempt);
    return process != nullptr && !process->dead() && !ended_.contains(process);
  }
  /// @return whether the client of the attempt runs at this moment, and reaches that server, which
  /// runs as well
  [[nodiscard]] bool reaches(std::string_view attempt, const Host& host) const {
    const Process* const process = process_of(attempt);
    const Nanos now = room_.world.now();
    return process != nullptr && process->paused_until() <= now && host.up() &&
           host.paused_until() <= now && room_.network.parted_until(*process, host) <= now;
  }
  /// @return when the client died or began to close; nothing = it lives, or is unknown
  [[nodiscard]] std::optional<Nanos> ended_at(std::string_view attempt) const {
    const auto found = ended_.find(process_of(attempt));
    return found == ended_.end() ? std::nullopt : std::optional(found->second);
  }

 private:
  static constexpr std::size_t client_size = 16;  // of an attempt's id

  [[nodiscard]] const Process* process_of(std::string_view attempt) const {
    const auto found = clients_.find(attempt.substr(0, client_size));
    return found == clients_.end() ? nullptr : found->second;
  }

  Room& room_;
  std::map<std::string, const Process*, std::less<>> clients_;  // by the beginning of attempts
  std::map<const Process*, Nanos> ended_;
};

}  // namespace simulation
