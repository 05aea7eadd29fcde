// SPDX-License-Identifier: MIT
// Callers of one client that come while another of them has asked for a key already: its answer is
// on its way, and meanwhile the key was forgotten, and was run again. What they are told is to be
// what stood when they came, or later.
#pragma once

#include <mortise/client.hpp>

#include "simulation/scene/trial.hpp"
#include "simulation/world/random.hpp"

#include <functional>
#include <memory>
#include <string>
#include <utility>

namespace simulation {

class Latecomers final : public Trial {
 public:
  using Backends = std::function<std::unique_ptr<mortise::Backend>()>;
  Latecomers(Room& room, Judge& judge, Backends backends, Random luck)
      : Trial(room, judge, {}), backends_(std::move(backends)), luck_(luck) {}
  void come() override;
  /// Has each message take so long that is sent from now on.
  std::function<void(Nanos)> delay;

 private:
  static constexpr const char* the_key = "run again";
  static constexpr const char* first_result = "first";
  static constexpr const char* second_result = "second";
  static constexpr auto patience = 10s;
  /// Its command time-out, a sixth, is longer than a question and its answer are on their way.
  static constexpr auto lease = 6s;
  static inline const mortise::OnceOptions options{.wait = patience, .lease = lease};
  static constexpr Nanos on_its_way = 200ms;
  static constexpr int latecomers = 3;

  void run_twice();
  void run(mortise::Once& once, const char* result);
  void ask();
  /// @return what the caller is told of the key.
  [[nodiscard]] std::string told(mortise::Client& client);

  const Backends backends_;
  Random luck_;
  bool first_done_ = false;
  bool answer_is_late_ = false;
  bool second_done_ = false;
};

}  // namespace simulation
