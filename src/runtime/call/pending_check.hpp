// SPDX-License-Identifier: MIT
// One call of `Client::check_async()`.
#pragma once

#include "core/figures.hpp"
#include "runtime/call/asking.hpp"
#include "runtime/call/pending_call.hpp"

#include <memory>
#include <optional>

namespace mortise::runtime {

class PendingCheck final : public PendingCall {
 public:
  PendingCheck(std::shared_ptr<ClientState> client, core::Nanos wait) noexcept
      : PendingCall(std::move(client)), wait_(wait) {}

 private:
  void begin() override;
  [[nodiscard]] bool step() override;
  [[nodiscard]] Instant again() const noexcept override { return until_; }
  void deliver(detail::Handler* handler) noexcept override;

  const core::Nanos wait_;
  Instant until_ = never;
  bool sent_ = false;
  std::shared_ptr<Check> check_;
  std::optional<Question> question_;
};

}  // namespace mortise::runtime
