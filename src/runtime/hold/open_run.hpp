// SPDX-License-Identifier: MIT
// What an open run has at its client: the hold of its key, and what is to be written about it.
#pragma once

#include <mortise/operation.hpp>
#include <mortise/owner.hpp>
#include <mortise/record.hpp>

#include "runtime/call/key_talk.hpp"

#include <chrono>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>

namespace mortise::runtime {

class Slot;

/// Each run is an owner of its own: a thread may have several, one after the other is lost, and a
/// run may go from thread to thread.
/// @thread_safety every member may be called concurrently, except that a run ends once.
class OpenRun {
 public:
  /// @param waits whether its runner may wait for the store when it gives the run back
  OpenRun(std::shared_ptr<Slot> slot, bool waits) noexcept
      : slot_(std::move(slot)), owner_(Owner::unique()), waits_(waits) {}
  OpenRun(const OpenRun&) = delete;
  OpenRun& operator=(const OpenRun&) = delete;
  ~OpenRun();

  [[nodiscard]] Owner owner() const noexcept { return owner_; }
  [[nodiscard]] Slot& slot() const noexcept { return *slot_; }
  /// It was granted.
  void begun(KeyCall&& call) noexcept { call_ = std::move(call); }
  [[nodiscard]] const HoldId& hold() const noexcept { return call_.hold; }
  [[nodiscard]] const std::shared_ptr<const Memory>& memory() const noexcept {
    return call_.memory;
  }
  [[nodiscard]] std::uint64_t number() const noexcept { return call_.run; }
  /// It has written this by itself: see `Run::note()`.
  void note(std::shared_ptr<const Record> written) noexcept { written_ = std::move(written); }
  /// @return whether an outcome of this state is not written, but confirmed.
  [[nodiscard]] bool confirms(KeyState state) const noexcept {
    return written_ && written_->state == state;
  }
  [[nodiscard]] std::chrono::nanoseconds valid_for() const;
  [[nodiscard]] std::stop_token lost() const;

  /// @return what the run leaves if it ends so.
  [[nodiscard]] KeyEnding ending(KeyState state, std::string_view bytes) const;
  /// Ends it without an outcome.
  void give_back();

 private:
  std::shared_ptr<Slot> slot_;
  const Owner owner_;
  const bool waits_;
  KeyCall call_;
  std::shared_ptr<const Record> written_;
};

}  // namespace mortise::runtime
