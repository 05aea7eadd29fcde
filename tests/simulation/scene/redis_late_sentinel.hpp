// SPDX-License-Identifier: MIT
// A fail-over of which one sentinel does not hear, while the old master goes on: whoever asks the
// others, too, leaves it all the same, and does not come back to it when that sentinel is the only
// one that answers.
#pragma once

#include "simulation/scene/redis_group.hpp"
#include "simulation/scene/trial.hpp"

#include <cstddef>
#include <string>
#include <utility>

namespace simulation {

class RedisLateSentinel final : public Trial {
 public:
  /// @param late the number of that sentinel
  RedisLateSentinel(Room& room, Judge& judge, std::string url, RedisGroup& group, std::size_t late)
      : Trial(room, judge, std::move(url)), group_(group), late_(late) {}
  void come() override;

 private:
  static constexpr const char* the_name = "late sentinel";
  static constexpr auto lease = 1s;
  static constexpr auto patience = 200ms;
  static constexpr auto between_two = 50ms;
  /// Longer than the trial.
  static constexpr Nanos far = 60s;
  /// In which all others know the new master, by when sentinels greet each other.
  static constexpr Nanos to_be_told = 3s;
  /// One sentinel a second is asked, and a connection made.
  static constexpr Nanos to_leave = 4s;
  static constexpr Nanos alone = 3s;
  static constexpr Nanos between_looks = 50ms;

  void use();
  void be_alone();
  void look_for(const Host& host, Nanos time, const char* words);
  RedisGroup& group_;
  const std::size_t late_;
  Process* user_ = nullptr;
  bool over_ = false;
};

}  // namespace simulation
