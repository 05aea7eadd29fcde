// SPDX-License-Identifier: MIT
// A server that has voted is started anew while the round goes on, and another address leads there
// by then: under its new name it has no second vote (S1). A restart, an address that moves and a
// round of a few milliseconds hardly ever meet by themselves.
#pragma once

#include "simulation/scene/trial.hpp"

#include <cstddef>
#include <string>
#include <utility>

namespace simulation {

class RedlockVoices final : public Trial {
 public:
  RedlockVoices(Room& room, Judge& judge, std::string url) : Trial(room, judge, std::move(url)) {}
  void come() override;

 private:
  static constexpr auto lease = 6s;
  static constexpr const char* name = "voices/0";
  /// In which a few messages have come and gone, whatever the weather.
  static constexpr Nanos to_arrive = 10ms;
  /// For so long the servers that know better say nothing: the round goes on.
  static constexpr Nanos silence = 400ms;

  void hold();
  void rival();
  void stall_the_holders();
  void confuse();
  /// @return how many servers the holder leaves to others: the first ones.
  [[nodiscard]] std::size_t left() const;

  Process* holder_ = nullptr;
  Process* rival_ = nullptr;
  bool held_ = false;
  bool tried_ = false;
};

}  // namespace simulation
