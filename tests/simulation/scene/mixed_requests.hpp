// SPDX-License-Identifier: MIT
// Callers of one client that ask for one key with two fingerprints, and wait for each other since
// none of them could look whose outcome it has: what one of them learns serves some of the others,
// and to the rest is no answer.
#pragma once

#include <mortise/client.hpp>

#include "simulation/scene/trial.hpp"
#include "simulation/world/random.hpp"

#include <functional>
#include <memory>
#include <string>
#include <utility>

namespace simulation {

class MixedRequests final : public Trial {
 public:
  using Backends = std::function<std::unique_ptr<mortise::Backend>()>;
  MixedRequests(Room& room, Judge& judge, Backends backends, Random luck)
      : Trial(room, judge, {}), backends_(std::move(backends)), luck_(luck) {}
  void come() override;
  /// Has nobody reach the store for so long.
  std::function<void(Nanos)> cut_off;

 private:
  static constexpr const char* the_key = "mixed requests";
  static constexpr const char* its_fingerprint = "a";
  static constexpr const char* another_fingerprint = "b";
  static constexpr const char* its_result = "a: done";
  static constexpr auto lease = 600ms;
  static constexpr auto patience = 10s;
  /// Three that wait for each other are the fewest of which one learns what is no answer for the
  /// next one, and some of their orders alone matter.
  static constexpr int callers = 6;
  static constexpr Nanos between_two = 5ms;
  /// Longer than whoever finds others with another fingerprint looks what the key has, a command
  /// time-out, before it waits behind them.
  static constexpr Nanos out_of_reach = 300ms;

  void run_it();
  void ask();
  void ask_as(mortise::Client& client, const std::string& fingerprint);
  void look_at(mortise::Run& run, const std::error_code& error, const std::string& fingerprint);

  const Backends backends_;
  Random luck_;
  bool done_ = false;
};

}  // namespace simulation
