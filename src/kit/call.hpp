// SPDX-License-Identifier: MIT
// One request on its way to the server of a protocol, until the server has answered.
#pragma once

#include <mortise/operation.hpp>

#include "remote/call.hpp"
#include "remote/void_moment.hpp"

#include <cstdint>
#include <memory>
#include <utility>

namespace mortise::kit {

/// Its purpose decides the type of its operation. A question is an `Inspection` or a `Check`.
struct Call : remote::Call {
  /// The bytes that were written for a connection.
  struct Written {
    std::uint64_t generation = 0;  ///< of that connection: see remote::UnderWay
    remote::VoidTime void_time{};  ///< of a take
  };

  bool is_check = false;
  Instant left{};      ///< when it was sent; unset = it did not leave
  Instant deadline{};  ///< of its answer
  remote::Patience patience{};
  Written written{};
  std::uint64_t number = 0;  ///< see remote::UnderWay

  [[nodiscard]] static Call of(remote::Purpose why, std::shared_ptr<Operation> operation,
                               Instant now = {}) {
    Call call;
    call.why = why;
    call.operation = std::move(operation);
    call.asked = now;
    call.patience = remote::Patience::for_lease(call.shortest_lease());
    return call;
  }

  // For remote::Exchange. A server removes the waiters of a connection that has ended.
  static constexpr bool asks_on_each_connection = true;
  [[nodiscard]] bool is_bound() const noexcept { return false; }
  /// A successor has a request of its own.
  [[nodiscard]] std::shared_ptr<Acquisition> successor() const noexcept { return nullptr; }
};

/// It is answered: drops what it refers to.
inline void let_go(Call& call) noexcept { call.operation.reset(); }

}  // namespace mortise::kit
