// SPDX-License-Identifier: MIT
// One call of `lock_all_async()`.
#pragma once

#include <mortise/options.hpp>

#include "runtime/call/acquire_all_call.hpp"
#include "runtime/call/pending_call.hpp"

#include <memory>
#include <optional>
#include <vector>

namespace mortise::runtime {

/// The client of the call steps it, and posts its completion. The locks may belong to other clients
/// as well: their answers ring the call, and the end of its client ends it.
class PendingAcquireAll final : public PendingCall {
 public:
  /// @param options see `without_thread()`
  PendingAcquireAll(std::shared_ptr<ClientState> client, std::vector<WantedName> wanted,
                    const AcquireOptions& options);
  ~PendingAcquireAll() override;

 private:
  void begin() override;
  [[nodiscard]] bool step() override;
  void abandon() override { call_->forsake(); }
  [[nodiscard]] Instant again() const noexcept override;
  void deliver(detail::Handler* handler) noexcept override;

  std::vector<WantedName> wanted_;
  const AcquireOptions options_;
  std::vector<ClientState*> others_;
  bool is_first_step_ = true;
  bool was_closed_ = false;  // before the caller gave the call up
  mutable std::optional<AcquireAllCall> call_;
};

}  // namespace mortise::runtime
