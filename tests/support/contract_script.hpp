// SPDX-License-Identifier: MIT
// A backend without a server: each request goes to a function of the test, which answers it when
// and how it likes, or not at all. What it answers need not make sense.
#pragma once

#include <mortise/backend.hpp>

#include "support/contract_backend.hpp"
#include "support/eventually.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace mortise::contract {

/// What the test answers, and what it was asked. Set the functions before the client is made; by
/// default nothing is answered.
struct Script {
  std::function<void(const std::shared_ptr<Acquisition>&)> on_acquire;
  std::function<void(const std::shared_ptr<Acquisition>&)> on_cancel;
  std::function<void(const std::shared_ptr<Release>&)> on_release;
  std::function<void(const std::shared_ptr<Renewal>&)> on_renew;
  std::function<void(const std::shared_ptr<Check>&)> on_check;     ///< by default it is answered
  std::function<void(const std::shared_ptr<QueueLook>&)> on_find;  ///< see `Enforcer`; empty: none
  std::function<void(const std::shared_ptr<Recollection>&)> on_recall;  ///< empty: no `Records`
  std::function<bool(Operation&)> on_wait;                              ///< as `Backend::wait()`
  std::function<void()> on_stop;
  StoreCapabilities can{.leases = Support::yes, .fencing = Support::yes};

  std::atomic<Host*> host{nullptr};
  std::atomic<int> acquires{0};
  std::atomic<int> cancels{0};
  std::atomic<int> releases{0};
  std::atomic<int> renewals{0};
  std::atomic<bool> stopped{false};

  /// @return the requests so far, oldest first; one that is repeated is there once more.
  [[nodiscard]] std::vector<std::shared_ptr<Acquisition>> asked() const {
    const std::lock_guard lock(mutex);
    return acquisitions;
  }
  [[nodiscard]] std::vector<std::shared_ptr<Release>> released() const {
    const std::lock_guard lock(mutex);
    return released_;
  }
  [[nodiscard]] std::shared_ptr<Renewal> renewal() const {
    const std::lock_guard lock(mutex);
    return renewal_;
  }

  mutable std::mutex mutex;
  std::vector<std::shared_ptr<Acquisition>> acquisitions;
  std::vector<std::shared_ptr<Release>> released_;
  std::shared_ptr<Renewal> renewal_;
};

class ScriptedBackend final : public Backend, private Records, private Inspector, private Enforcer {
 public:
  explicit ScriptedBackend(std::shared_ptr<Script> script) : script_(std::move(script)) {}

  [[nodiscard]] StoreDescription describe() const override {
    return {.name = "script", .capabilities = script_->can};
  }
  void start(Host& host) override { script_->host.store(&host); }
  void stop() noexcept override {
    script_->stopped.store(true);
    if (script_->on_stop) script_->on_stop();
    const auto acquisitions = script_->asked();
    for (const auto& each : acquisitions) each->failed({Errc::closed, "script"});
    if (const auto renewal = script_->renewal()) renewal->failed({Errc::closed, "script"});
  }
  void acquire(const std::shared_ptr<Acquisition>& operation) override {
    note(script_->acquisitions, operation);
    operation->sent(script_->host.load()->clock()->now());
    ++script_->acquires;
    if (script_->on_acquire) script_->on_acquire(operation);
  }
  void cancel(const std::shared_ptr<Acquisition>& operation) override {
    ++script_->cancels;
    if (script_->on_cancel) script_->on_cancel(operation);
  }
  void release(const std::shared_ptr<Release>& operation) override {
    note(script_->released_, operation);
    ++script_->releases;
    if (script_->on_release) script_->on_release(operation);
  }
  void renew(const std::shared_ptr<Renewal>& operation) override {
    {
      const std::lock_guard lock(script_->mutex);
      script_->renewal_ = operation;
    }
    ++script_->renewals;
    if (script_->on_renew) script_->on_renew(operation);
  }
  void check(const std::shared_ptr<Check>& operation) override {
    if (script_->on_check) return script_->on_check(operation);
    operation->answered();
  }
  [[nodiscard]] Records* records() noexcept override { return script_->on_recall ? this : nullptr; }
  [[nodiscard]] Inspector* inspector() noexcept override { return this; }
  [[nodiscard]] Enforcer* enforcer() noexcept override { return script_->on_find ? this : nullptr; }

  bool wait(Operation& operation, std::uint32_t /*seen*/,
            std::chrono::nanoseconds /*at_most*/) override {
    return script_->on_wait && script_->on_wait(operation);
  }

 private:
  void recall(const std::shared_ptr<Recollection>& operation) override {
    script_->on_recall(operation);
  }
  void inspect(const std::shared_ptr<Inspection>& operation) override {
    operation->answered(std::nullopt);
  }
  void find(const std::shared_ptr<QueueLook>& operation) override { script_->on_find(operation); }
  void end(const std::shared_ptr<Release>& operation) override { release(operation); }

  template <class Operations, class Asked>
  void note(Operations& operations, const Asked& operation) {
    const std::lock_guard lock(script_->mutex);
    operations.push_back(operation);
  }

  const std::shared_ptr<Script> script_;
};

}  // namespace mortise::contract
