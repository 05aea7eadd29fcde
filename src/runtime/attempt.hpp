// SPDX-License-Identifier: MIT
// An acquisition as the library sends it: it can be abandoned by its caller, and is then undone by
// the client, whatever its outcome.
#pragma once

#include <mortise/operation.hpp>

#include <atomic>
#include <memory>

namespace mortise::runtime {

class ClientState;

/// Somebody always answers for an attempt: the caller that waits for it, or, once abandoned, the
/// client, which releases a grant that comes late.
class Attempt final : public Acquisition {
 public:
  Attempt(Request&& request, const std::weak_ptr<ClientState>& client)
      : Acquisition(std::move(request)), client_(client) {}
  /// The caller stops waiting for it.
  /// @return false: it was completed before, and the caller has to deal with the result
  [[nodiscard]] bool abandon() noexcept { return (custody_.fetch_or(abandoned) & completed) == 0; }
  /// @return whether it is over, and what it was granted after it was abandoned is given back.
  [[nodiscard]] bool settled() const noexcept { return (custody_.load() & settled_bit) != 0; }

  /// When the server was asked last; kept with the attempt, because callers that inherit it one
  /// from the other, each sooner than it is due to be asked again, would otherwise never ask. Only
  /// the caller that waits for the attempt may use these.
  /// @param now the answer where nobody has waited for it yet
  [[nodiscard]] Instant asked_last(Instant now) noexcept {
    if (asked_ == Instant{}) asked_ = now;
    return asked_;
  }
  void asked(Instant now) noexcept { asked_ = now; }

 private:
  void finished() noexcept override;

  static constexpr int abandoned = 1;
  static constexpr int completed = 2;
  static constexpr int settled_bit = 4;
  std::atomic<int> custody_{0};
  Instant asked_{};
  std::weak_ptr<ClientState> client_;
};

}  // namespace mortise::runtime
