// SPDX-License-Identifier: MIT
// Finishes what callers could not wait for: attempts to be taken back, releases without an answer.
#pragma once

#include <mortise/operation.hpp>

#include "runtime/attempt.hpp"

#include <memory>
#include <mutex>
#include <vector>

namespace mortise {
class Backend;
}

namespace mortise::runtime {

class KeptHold;

/// Asks again each fallback period until the server has answered or the matter is over by itself.
/// @thread_safety every member may be called concurrently.
class Reaper {
 public:
  explicit Reaper(Backend& backend) : backend_(backend) {}
  /// An abandoned attempt, to be cancelled until it is proven gone.
  /// @return when `run()` is due
  Instant adopt(std::shared_ptr<Attempt> attempt, Instant now);
  /// A release whose answer has not come, to be repeated until the hold has ended by itself.
  /// @return when `run()` is due
  Instant adopt(std::shared_ptr<Release> release, Instant now, Instant until);
  /// A hold that is to be kept until it is over by itself, and whose server has not heard that.
  Instant adopt(std::shared_ptr<KeptHold> kept, Instant now);
  /// Asks again whatever is due. @return when to call it next; `never` = nothing is left.
  Instant run(Instant now);
  /// @return whether everything that it was given has been answered.
  [[nodiscard]] bool idle();

 private:
  template <class Item>
  struct Case {
    std::shared_ptr<Item> item;
    Instant again;
    Instant until;
  };
  std::mutex mutex_;
  Backend& backend_;
  std::vector<Case<Attempt>> attempts_;
  std::vector<Case<Release>> releases_;
  std::vector<Case<KeptHold>> kept_;
};

}  // namespace mortise::runtime
