// SPDX-License-Identifier: MIT
// A master that nobody but its clients can reach, and goes on beside its successor; one that is
// told of a release twice while it does, and gives the name on in between; and one that dies when
// it has granted a lock, before anybody else has that, while the replicas are asked for what it has
// granted just before.
#pragma once

#include <mortise/client.hpp>

#include "simulation/scene/redis_group.hpp"
#include "simulation/scene/trial.hpp"

#include <cstddef>
#include <functional>
#include <string>
#include <utility>

namespace simulation {

class RedisLostMaster final : public Trial {
 public:
  /// @param waits a grant counts only when replicas have it, so that the second one is judged
  RedisLostMaster(Room& room, Judge& judge, std::string url, RedisGroup& group, bool waits)
      : Trial(room, judge, std::move(url)), group_(group), waits_(waits) {}
  void come() override;
  /// Has the master die when it grants that name next.
  std::function<void(std::size_t name)> trap;

 private:
  static constexpr auto lease = 60s;
  static constexpr std::size_t the_name = 0;
  static constexpr const char* beside = "beside a lost master";
  /// Longer than it takes each client to ask one sentinel after the other.
  static constexpr Nanos with_the_old_one = 5s;
  static constexpr Nanos to_be_copied = 50ms;
  /// The next master knows of the hold until then, since it never hears of its release.
  static constexpr auto short_lease = 6s;
  /// Longer than a release waits for its answer.
  static constexpr Nanos on_its_way = 2s;

  void goes_on();
  void gives_on();
  void leave(const Process& process);
  void wait_behind();
  [[nodiscard]] bool is_command(const Connection& connection, const Process& process,
                                std::size_t server) const;
  bool cut_what_is_said(const Process& process, std::size_t server);
  void dies_of_a_grant();
  void take(Process& process);
  void take_beside(mortise::Client& client);
  void take_after(Process& process);
  void until_whole(Nanos patience);
  RedisGroup& group_;
  const bool waits_;
  bool held_ = false;
  bool left_ = false;
  bool ready_ = false;
  bool asked_ = false;
  bool over_ = false;
};

}  // namespace simulation
