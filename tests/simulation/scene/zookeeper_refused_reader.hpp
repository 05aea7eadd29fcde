// SPDX-License-Identifier: MIT
// An owner asks to go on as a reader, and the servers have too many requests. It lets go, somebody
// else has the lock, and it asks anew, as any other by now; of that the answer is lost. Its token
// is not that of its first hold, which is smaller than that of whoever had the lock since (S2).
#pragma once

#include <mortise/token.hpp>

#include "simulation/scene/zookeeper_trial.hpp"

#include <cstdint>
#include <optional>

namespace simulation {

class ZooKeeperRefusedReader final : public ZooKeeperTrial {
 public:
  using ZooKeeperTrial::ZooKeeperTrial;
  void come() override;

 private:
  /// The first node of its queue: of another one's number nothing would be left to be mixed up,
  /// since it makes the next one wait for the queue to drain.
  static constexpr const char* name_of_refused_reader = "refused-reader";
  static constexpr const char* queue_of_refused_reader = "/locks/refused-reader";
  static constexpr Nanos to_be_answered = 80ms;

  enum class Act {
    begins,
    owns,
    asks,        ///< to read on
    is_refused,  ///< its request has arrived, and was not carried out
    asks_anew,   ///< it has let go
    is_unheard,  ///< the answer is lost
  };
  void read(Process& process);
  void write();
  void asked(Connection& from, std::int32_t type);
  void refuse_all(bool yes);

  Act act_ = Act::begins;
  std::optional<mortise::Token> written_{};
};

}  // namespace simulation
