// SPDX-License-Identifier: MIT
// The servers are started anew with a lower limit for sessions, or not all of them have the same: a
// holder's connection breaks, and with the next one its session lasts as short as they allow.
// Then it is cut off. It does not believe in its hold when the next one has it (S1).
#pragma once

#include "simulation/scene/zookeeper_trial.hpp"

namespace simulation {

class ZooKeeperShorterSession final : public ZooKeeperTrial {
 public:
  using ZooKeeperTrial::ZooKeeperTrial;
  void come() override;

 private:
  static constexpr const char* name_of_shorter_session = "shorter-session";
  static constexpr const char* queue_of_shorter_session = "/locks/shorter-session";
  static constexpr Nanos a_look = 1ms;
  static constexpr int shorter = 2;  // times at least, or it ends too late to tell

  void hold(Process& process);
  void wait();
  /// Has the client connect anew. Returns when it has.
  void connect_anew(std::int64_t session);

  bool held_ = false;
  bool asks_ = false;
  bool served_ = false;
};

}  // namespace simulation
