// SPDX-License-Identifier: MIT
// The requests that a client still has to send after the caller has gone: attempts to be taken
// back, releases without an answer, names that stay reserved.
#pragma once

#include <mortise/clock.hpp>

#include "core/figures.hpp"

#include <memory>
#include <mutex>
#include <vector>

namespace mortise {
class Backend;
class Release;
}  // namespace mortise

namespace mortise::runtime {

/// One of them.
class Errand {
 public:
  Errand() = default;
  Errand(const Errand&) = delete;
  Errand& operator=(const Errand&) = delete;
  virtual ~Errand() = default;
  /// Sends it, or sends it again. @param self this errand
  virtual void send(const std::shared_ptr<Errand>& self, Backend& backend, Instant now) = 0;
  /// @return whether the server has answered: `close()` need not wait.
  [[nodiscard]] virtual bool is_answered() const noexcept = 0;
  /// @return whether nothing is left to be sent.
  [[nodiscard]] virtual bool is_over() const noexcept { return is_answered(); }
  /// @return when to send it next, if it was sent at that moment.
  [[nodiscard]] virtual Instant next(Instant now) const noexcept {
    return now + core::fallback_period;
  }
};

/// Sends each errand once per fallback period, until the server has answered or the errand is over
/// by itself.
/// @thread_safety every member may be called concurrently.
class Errands {
 public:
  explicit Errands(Backend& backend) noexcept : backend_(backend) {}
  /// @param errand was sent just now
  /// @param until when it is over by itself
  /// @return when `run()` is due
  Instant adopt(std::shared_ptr<Errand> errand, Instant now, Instant until);
  /// The same of a release.
  Instant adopt(std::shared_ptr<Release> release, Instant now, Instant until);
  /// Sends all that are due. @return when to call it next; `never` = nothing is left.
  Instant run(Instant now);
  /// @return whether everything that was sent has been answered.
  [[nodiscard]] bool idle();

 private:
  struct Case {
    std::shared_ptr<Errand> errand;
    Instant again;
    Instant until;
  };
  Backend& backend_;
  std::mutex mutex_;
  std::vector<Case> cases_;
};

}  // namespace mortise::runtime
