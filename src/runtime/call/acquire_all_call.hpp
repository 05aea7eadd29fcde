// SPDX-License-Identifier: MIT
// One call of lock_all() in its own thread: carries out what core/acquire_all decides.
#pragma once

#include <mortise/error.hpp>
#include <mortise/guards.hpp>
#include <mortise/options.hpp>

#include "core/acquire_all.hpp"
#include "runtime/call/acquire_call.hpp"

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace mortise::runtime {

class Slot;

/// Lives in the frame of the calling thread.
class AcquireAllCall {
 public:
  struct Wanted {
    std::shared_ptr<Slot> slot;
    std::shared_ptr<const core::Terms> terms;
  };
  /// @param wanted are put in the order that is the same for everybody
  AcquireAllCall(std::vector<Wanted> wanted, const AcquireOptions& options);
  ~AcquireAllCall();
  AcquireAllCall(const AcquireAllCall&) = delete;
  AcquireAllCall& operator=(const AcquireAllCall&) = delete;

  /// @return why it failed; no failure = the owner holds all.
  Failure run();
  /// Gives back whatever it has, after `run()` has thrown.
  void forsake() noexcept;
  /// @return of a failure: whose it is; else null
  [[nodiscard]] const std::string* failed_name() const noexcept;
  /// @return who held that name, as far as anybody knows.
  [[nodiscard]] std::optional<Holder> take_holder();
  /// @return what is held, in the order in which it can be unlocked.
  [[nodiscard]] std::vector<HeldSlot> take_slots() noexcept;

 private:
  using Machine = core::AcquireAll;
  /// One of the wanted.
  struct Part {
    Wanted wanted;
    bool again = false;  // of the same name as the one before it
    Instant began;       // by the clock of its client
    Instant until;       // the same
    bool held = false;
    Failure failure;  // of its last request
    std::optional<Holder> holder;
    AcquireOptions options;  // of that request
    std::optional<AcquireCall> call;
  };

  /// What cannot be had together.
  Failure check();
  Machine::Flown fly();
  void ask_for_all();
  Machine::Waited wait(Part& part);
  void give_back(std::size_t from);
  /// What was wanted more than once.
  Failure reenter();
  void tell_contended(const Part& part) const;

  [[nodiscard]] bool takes_part(const Part& part) const noexcept {
    return !part.held && !part.again;
  }
  [[nodiscard]] core::Nanos left(const Part& part) const noexcept;
  /// @param together how many requests left with that of the part
  [[nodiscard]] bool cut_short(const Part& part, std::size_t together) const noexcept;
  /// @return for how long the call may still wait for answers that do not change its outcome.
  [[nodiscard]] core::Nanos may_wait_for_answers() noexcept;

  const AcquireOptions& options_;
  const bool may_wait_;
  std::vector<Part> parts_;
  std::vector<HeldSlot> freed_;  // has room for all
  const Part* failed_ = nullptr;
  Grace grace_;  // of the last flight, or wait
};

}  // namespace mortise::runtime
