// SPDX-License-Identifier: MIT
// Goal: the memory backend keeps the contract. Method: the contract suite, on a server that can do
// everything that a test may ask of one, but be reached from another process.
#include <mortise/memory.hpp>

#include "support/contract_suites.hpp"

namespace mortise::contract {
namespace {

class MemoryStore final : public Store {
 public:
  explicit MemoryStore(std::shared_ptr<Clock> clock) : server_(std::move(clock)) {}
  [[nodiscard]] std::unique_ptr<Backend> backend() override { return server_.backend(); }
  [[nodiscard]] bool has(Hook hook) const override { return hook != Hook::processes; }
  void set_reachable(bool reachable) override { server_.set_reachable(reachable); }
  void restart() override { server_.restart(); }
  void take_away(const std::string& name) override { server_.drop(name); }
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

 private:
  memory::Server server_;
};

BackendUnderTest memory_backend() {
  return {.name = "memory", .open = [](std::shared_ptr<Clock> clock) {
            return std::make_unique<MemoryStore>(std::move(clock));
          }};
}

}  // namespace

MORTISE_CONTRACT(Memory, memory_backend());

}  // namespace mortise::contract
