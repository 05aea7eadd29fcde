// SPDX-License-Identifier: MIT
// Forwards each request and notes it before.
#include "support/contract_probe.hpp"

#include <algorithm>
#include <utility>

namespace mortise::contract {

Probe::Counts Probe::counts() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

std::uint64_t Probe::renewals_of(const std::string& name) const {
  const std::lock_guard lock(mutex_);
  const auto found = renewed_.find(name);
  return found == renewed_.end() ? 0 : found->second;
}

std::optional<HoldId> Probe::last_grant(const std::string& name) const {
  const std::lock_guard lock(mutex_);
  const auto found = std::find_if(attempts_.rbegin(), attempts_.rend(), [&](const auto& attempt) {
    return attempt->request().name == name && attempt->done() && attempt->grant().number != 0;
  });
  if (found == attempts_.rend()) return std::nullopt;
  return HoldId{.name = name,
                .attempt = (*found)->request().attempt,
                .number = (*found)->grant().number,
                .mode = (*found)->request().mode};
}

std::shared_ptr<Acquisition> Probe::last_attempt(const std::string& name) const {
  const std::lock_guard lock(mutex_);
  const auto found = std::find_if(attempts_.rbegin(), attempts_.rend(), [&](const auto& attempt) {
    return attempt->request().name == name;
  });
  return found == attempts_.rend() ? nullptr : *found;
}

void Probe::saw(const std::shared_ptr<Acquisition>& operation) {
  // Asked again: not a new attempt.
  if (!attempts_.empty() && attempts_.back() == operation) return;
  if (std::find(attempts_.begin(), attempts_.end(), operation) == attempts_.end()) {
    attempts_.push_back(operation);
  }
}

class ProbedBackend final : public Backend,
                            private Records,
                            private Inspector,
                            private Catalog,
                            private Enforcer {
 public:
  ProbedBackend(std::unique_ptr<Backend> backend, std::shared_ptr<Probe> probe)
      : backend_(std::move(backend)), probe_(std::move(probe)) {
    probe_->backend_.store(backend_.get());
  }

  [[nodiscard]] StoreDescription describe() const override { return backend_->describe(); }
  void start(Host& host) override { backend_->start(host); }
  void stop() noexcept override { backend_->stop(); }

  void acquire(const std::shared_ptr<Acquisition>& operation) override {
    {
      const std::lock_guard lock(probe_->mutex_);
      ++probe_->counts_.acquires;
      probe_->saw(operation);
    }
    if (!severed()) backend_->acquire(operation);
  }
  void cancel(const std::shared_ptr<Acquisition>& operation) override {
    {
      const std::lock_guard lock(probe_->mutex_);
      ++probe_->counts_.cancels;
    }
    if (!severed()) backend_->cancel(operation);
  }
  void renew(const std::shared_ptr<Renewal>& operation) override {
    {
      const std::lock_guard lock(probe_->mutex_);
      ++probe_->counts_.renewals;
      for (const Renewal::Item& item : operation->items()) ++probe_->renewed_[item.hold.name];
    }
    if (!severed()) backend_->renew(operation);
  }
  void release(const std::shared_ptr<Release>& operation) override {
    {
      const std::lock_guard lock(probe_->mutex_);
      ++probe_->counts_.releases;
      if (operation->successor()) probe_->saw(operation->successor());
    }
    if (!severed()) backend_->release(operation);
  }
  void check(const std::shared_ptr<Check>& operation) override {
    if (!severed()) backend_->check(operation);
  }
  [[nodiscard]] std::string identity() const override { return backend_->identity(); }
  [[nodiscard]] Records* records() noexcept override {
    return backend_->records() != nullptr ? this : nullptr;
  }
  [[nodiscard]] Inspector* inspector() noexcept override {
    return backend_->inspector() != nullptr ? this : nullptr;
  }
  [[nodiscard]] Catalog* catalog() noexcept override {
    return backend_->catalog() != nullptr ? this : nullptr;
  }
  [[nodiscard]] Enforcer* enforcer() noexcept override {
    return backend_->enforcer() != nullptr ? this : nullptr;
  }
  [[nodiscard]] std::string why_not(Feature feature) const override {
    return backend_->why_not(feature);
  }
  [[nodiscard]] bool needs_waiting_threads() const noexcept override {
    return backend_->needs_waiting_threads();
  }
  bool wait(Operation& operation, std::uint32_t seen, std::chrono::nanoseconds at_most) override {
    return backend_->wait(operation, seen, at_most);
  }

 private:
  void inspect(const std::shared_ptr<Inspection>& operation) override {
    if (!severed()) backend_->inspector()->inspect(operation);
  }
  void recall(const std::shared_ptr<Recollection>& operation) override {
    {
      const std::lock_guard lock(probe_->mutex_);
      ++probe_->counts_.recalls;
    }
    if (!probe_->severed_) backend_->records()->recall(operation);
  }
  void list(const std::shared_ptr<Listing>& operation) override {
    if (!severed()) backend_->catalog()->list(operation);
  }
  void queue(const std::shared_ptr<QueueLook>& operation) override {
    if (!severed()) backend_->catalog()->queue(operation);
  }
  void find(const std::shared_ptr<QueueLook>& operation) override {
    if (!severed()) backend_->enforcer()->find(operation);
  }
  void end(const std::shared_ptr<Release>& operation) override {
    if (!severed()) backend_->enforcer()->end(operation);
  }
  [[nodiscard]] bool severed() const { return probe_->severed_.load(); }

  const std::unique_ptr<Backend> backend_;
  const std::shared_ptr<Probe> probe_;
};

std::unique_ptr<Backend> probed(std::unique_ptr<Backend> backend, std::shared_ptr<Probe> probe) {
  return std::make_unique<ProbedBackend>(std::move(backend), std::move(probe));
}

}  // namespace mortise::contract
