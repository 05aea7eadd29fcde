// SPDX-License-Identifier: MIT
// A backend in front of another one, which hands everything on: what is built on it changes one
// thing. And a line to it that a test can cut, so that a client falls silent as one that was
// killed.
#pragma once

#include <mortise/backend.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

namespace mortise::model {

class Relay : public Backend {
 public:
  explicit Relay(std::unique_ptr<Backend> behind) : behind_(std::move(behind)) {}

  [[nodiscard]] StoreDescription describe() const override { return behind_->describe(); }
  void start(Host& host) override {
    host_ = &host;
    behind_->start(host);
  }
  void stop() noexcept override { behind_->stop(); }
  void acquire(const std::shared_ptr<Acquisition>& operation) override {
    behind_->acquire(operation);
  }
  void cancel(const std::shared_ptr<Acquisition>& operation) override {
    behind_->cancel(operation);
  }
  void renew(const std::shared_ptr<Renewal>& operation) override { behind_->renew(operation); }
  void release(const std::shared_ptr<Release>& operation) override { behind_->release(operation); }
  void check(const std::shared_ptr<Check>& operation) override { behind_->check(operation); }
  [[nodiscard]] std::string identity() const override { return behind_->identity(); }
  [[nodiscard]] Records* records() noexcept override { return behind_->records(); }
  [[nodiscard]] Inspector* inspector() noexcept override { return behind_->inspector(); }
  [[nodiscard]] Catalog* catalog() noexcept override { return behind_->catalog(); }
  [[nodiscard]] Enforcer* enforcer() noexcept override { return behind_->enforcer(); }
  [[nodiscard]] std::string why_not(Feature feature) const override {
    return behind_->why_not(feature);
  }
  [[nodiscard]] bool needs_waiting_threads() const noexcept override {
    return behind_->needs_waiting_threads();
  }
  bool wait(mortise::Operation& operation, std::uint32_t seen,
            std::chrono::nanoseconds at_most) override {
    return behind_->wait(operation, seen, at_most);
  }

 protected:
  [[nodiscard]] Backend& behind() noexcept { return *behind_; }
  [[nodiscard]] Instant now() const noexcept { return host_->clock()->now(); }

 private:
  std::unique_ptr<Backend> behind_;
  Host* host_ = nullptr;
};

// Nothing that this client asks arrives once `cut` is true; what comes by itself still does.
class CutRelay final : public Relay, private Records {
 public:
  CutRelay(std::unique_ptr<Backend> behind, std::shared_ptr<const std::atomic<bool>> cut)
      : Relay(std::move(behind)), cut_(std::move(cut)) {}

  void acquire(const std::shared_ptr<Acquisition>& operation) override {
    if (!cut_->load()) Relay::acquire(operation);
  }
  void cancel(const std::shared_ptr<Acquisition>& operation) override {
    if (!cut_->load()) Relay::cancel(operation);
  }
  void renew(const std::shared_ptr<Renewal>& operation) override {
    if (!cut_->load()) Relay::renew(operation);
  }
  void release(const std::shared_ptr<Release>& operation) override {
    if (!cut_->load()) Relay::release(operation);
  }
  [[nodiscard]] Records* records() noexcept override {
    return Relay::records() != nullptr ? this : nullptr;
  }

 private:
  void recall(const std::shared_ptr<Recollection>& operation) override {
    if (!cut_->load()) Relay::records()->recall(operation);
  }

  const std::shared_ptr<const std::atomic<bool>> cut_;
};

// What a backend tells by itself of the end of a hold never comes.
class DeafHost final : public Host {
 public:
  explicit DeafHost(Host& host) : host_(host) {}
  [[nodiscard]] const std::shared_ptr<Clock>& clock() const noexcept override {
    return host_.clock();
  }
  void attach(Source& source) override { host_.attach(source); }
  void detach(Source& source) noexcept override { host_.detach(source); }
  void changed(Source& source) noexcept override { host_.changed(source); }
  void hold_lost(const HoldId& /*hold*/, Failure /*why*/) override {}
  void hold_wanted(const HoldId& hold) override { host_.hold_wanted(hold); }

 private:
  Host& host_;
};

}  // namespace mortise::model
