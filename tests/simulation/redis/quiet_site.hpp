// SPDX-License-Identifier: MIT
// A Site for tests of the model alone: its clock stands still until the test moves it, and what is
// sent is kept.
#pragma once

#include "simulation/server.hpp"

#include <chrono>
#include <map>
#include <set>
#include <string>
#include <utility>

namespace simulation::redis {

class QuietSite final : public Site {
 public:
  [[nodiscard]] Nanos wall() const override { return wall_; }
  [[nodiscard]] Nanos uptime() const override { return uptime_; }
  [[nodiscard]] std::uint64_t random() override { return seed_ = seed_ * 6364136223846793005U + 1; }
  void send(ConnectionId connection, std::string_view bytes) override {
    sent_[connection].append(bytes);
  }
  void hang_up(ConnectionId connection) override { hung_up_.insert(connection); }
  void after(Nanos /*delay*/, std::function<void()> /*then*/) override {}
  void note(std::string_view /*words*/) override {}

  void pass(Nanos time) {
    wall_ += time;
    uptime_ += time;
  }
  void set_wall(Nanos wall) { wall_ = wall; }
  /// @return what was sent to a connection since the last call
  [[nodiscard]] std::string take(ConnectionId connection) {
    return std::exchange(sent_[connection], {});
  }
  [[nodiscard]] bool has_hung_up(ConnectionId connection) const {
    return hung_up_.contains(connection);
  }

 private:
  Nanos wall_ = std::chrono::seconds(1'700'000'000);
  Nanos uptime_{};
  std::uint64_t seed_ = 1;
  std::map<ConnectionId, std::string> sent_;
  std::set<ConnectionId> hung_up_;
};

}  // namespace simulation::redis
