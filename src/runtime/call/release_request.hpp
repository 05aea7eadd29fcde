// SPDX-License-Identifier: MIT
// The request of one call of unlock() to the store: to free a hold, to keep a name reserved, or to
// confirm an outcome.
#pragma once

#include <mortise/error.hpp>
#include <mortise/operation.hpp>

#include "core/release_course.hpp"

#include <memory>
#include <optional>

namespace mortise::runtime {

class KeptHold;
struct OpenRequest;
class StoreAccess;

/// Out of memory, a request counts as lost on its way.
/// @thread_safety one thread at a time
class ReleaseRequest {
 public:
  /// @param waker of a caller without a thread; null for a thread
  ReleaseRequest(StoreAccess& store, Waker* waker) noexcept;
  ReleaseRequest(const ReleaseRequest&) = delete;
  ReleaseRequest& operator=(const ReleaseRequest&) = delete;
  ~ReleaseRequest();

  void send(std::shared_ptr<Release> release) noexcept;
  void send(std::shared_ptr<KeptHold> kept) noexcept;
  /// Of a run whose hold is over: `close()` ends this one, because no hold waits for it.
  void confirm(std::shared_ptr<Release> release) noexcept;
  /// @return whether a second copy has left: not if the answer came just now
  bool repeat() noexcept;
  /// @param sent when it was sent just now, in real time; nothing: it was waited for
  /// @return how it stands, and when this was asked, in real time.
  core::ReleaseCourse::Looked look(std::optional<Instant> sent = std::nullopt) noexcept;
  /// Waits for the answer until then, in real time. @param at_most counted from the last look
  void wait(Instant until, core::Nanos at_most = core::Nanos::max()) noexcept;
  [[nodiscard]] core::ReleaseCourse::Answered answer() const noexcept;
  /// Leaves it to the client, which repeats it until it is answered. @param until of a release:
  /// when the hold has ended by itself
  void entrust(Instant until) noexcept;

  /// @return whether the store has the outcome that the runner has written itself.
  [[nodiscard]] bool stood() const noexcept {
    return release_ && release_->done() && release_->stood();
  }
  /// @return what the store answered instead of an outcome, or what keeps it from answering.
  [[nodiscard]] Failure why() const;

 private:
  [[nodiscard]] core::ReleaseCourse::Looked::Request standing() const noexcept;

  void wait_for(std::shared_ptr<Operation> asked) noexcept;

  StoreAccess& store_;
  Waker* const waker_;
  std::shared_ptr<Release> release_;
  std::shared_ptr<KeptHold> kept_;
  std::shared_ptr<Operation> asked_;  // the one to wait for; null if it was not sent
  std::unique_ptr<OpenRequest> open_;
  Instant looked_{};
};

}  // namespace mortise::runtime
