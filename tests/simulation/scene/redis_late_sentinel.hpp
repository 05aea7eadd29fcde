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
  void use();
  void be_alone();
  void look_for(const Host& host, Nanos time, const char* words);
  RedisGroup& group_;
  const std::size_t late_;
  Process* user_ = nullptr;
  bool over_ = false;
};

}  // namespace simulation
