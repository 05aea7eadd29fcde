// SPDX-License-Identifier: MIT
// A memory server as a store under test: it can do everything that a test may ask of one, but be
// reached from another process.
#pragma once

#include <mortise/memory.hpp>

#include "support/contract_backend.hpp"

#include <memory>
#include <string>
#include <utility>

namespace mortise::contract {

class MemoryServerStore final : public Store {
 public:
  explicit MemoryServerStore(std::shared_ptr<Clock> clock) : server_(std::move(clock)) {}

  [[nodiscard]] std::unique_ptr<Backend> backend() override { return server_.backend(); }
  void set_reachable(bool reachable) override { server_.set_reachable(reachable); }
  void restart() override { server_.restart(); }
  void take_away(const std::string& name) override { server_.drop(name); }
  void take_key_away(const std::string& key) override { server_.drop(key, Mode::once); }
  void misbehave(const Misbehaviour& how) override {
    server_.set_faults({.seed = how.seed,
                        .delay_min = how.delay_min,
                        .delay_max = how.delay_max,
                        .lose_request = how.lose_request,
                        .lose_reply = how.lose_reply,
                        .lose_push = how.lose_push});
  }
  [[nodiscard]] std::size_t waiters() const override { return server_.waiters(); }
  [[nodiscard]] std::uint64_t pushes() const override { return server_.pushes(); }
  [[nodiscard]] memory::Server& server() noexcept { return server_; }

 private:
  memory::Server server_;
};

inline BackendUnderTest memory_server() {
  return {.name = "memory",
          .open =
              [](std::shared_ptr<Clock> clock) {
                return std::make_unique<MemoryServerStore>(std::move(clock));
              },
          .hooks = all_hooks_but({Hook::processes}),
          .qualities = {Quality::leases, Quality::fair, Quality::one_wake, Quality::once,
                        Quality::min_hold, Quality::shared, Quality::permits, Quality::holders,
                        Quality::lists, Quality::lists_once, Quality::lists_long_names,
                        Quality::queues, Quality::queues_of_many, Quality::queues_of_both,
                        Quality::waiters, Quality::waiter_labels, Quality::forces}};
}

}  // namespace mortise::contract
