// SPDX-License-Identifier: MIT
// Whoever observes a client, as a program's log would: what it was told of the renewals of holds.
#pragma once

#include <mortise/observer.hpp>

#include <cstdint>
#include <set>

namespace simulation {

class Listener final : public mortise::Observer {
 public:
  void renewed(const mortise::Event& event) noexcept override {
    failed_.erase(event.token.value());
  }
  void failed(const mortise::Event& event, const mortise::Failure& /*why*/) noexcept override {
    failed_.insert(event.token.value());
  }
  /// @return whether it was told of a failure since the last renewal.
  [[nodiscard]] bool heard_failure(mortise::Token token) const {
    return failed_.contains(token.value());
  }

 private:
  std::set<std::uint64_t> failed_;  // the simulation runs one thread at a time
};

}  // namespace simulation
