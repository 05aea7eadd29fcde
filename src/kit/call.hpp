// SPDX-License-Identifier: MIT
// One request on its way to the server of a protocol, until the server has answered.
#pragma once

#include <mortise/operation.hpp>

#include "core/figures.hpp"
#include "remote/call.hpp"
#include "remote/void_moment.hpp"

#include <chrono>
#include <cstdint>
#include <memory>
#include <utility>

namespace mortise::kit {

struct Call : remote::Call {
  /// The bytes that were written for a connection.
  struct Written {
    std::uint64_t generation = 0;  ///< of that connection: see remote::UnderWay
    remote::VoidTime void_time{};  ///< of a take
  };

  bool is_check = false;  ///< the operation is a `Check`; another question is an `Inspection`
  bool once = false;      ///< see remote::Courses::asked()
  Instant left{};         ///< when it was sent; unset = it did not leave
  Instant deadline{};     ///< of its answer
  remote::Patience patience{};
  Written written{};
  std::uint64_t number = 0;  ///< see remote::UnderWay

  using Attempt = std::shared_ptr<Acquisition>;

  [[nodiscard]] static Call take(Attempt of, Instant now, bool once) {
    Call call = about(remote::Purpose::take, std::move(of), now);
    call.once = once;
    return call;
  }
  [[nodiscard]] static Call cancel(Attempt of, Instant now) {
    return about(remote::Purpose::cancel, std::move(of), now);
  }
  [[nodiscard]] static Call undo(Attempt of, Instant now) {
    return about(remote::Purpose::undo, std::move(of), now);
  }
  [[nodiscard]] static Call look(Attempt of, Instant now) {
    return about(remote::Purpose::look, std::move(of), now);
  }
  [[nodiscard]] static Call release(std::shared_ptr<Release> of, Instant now) {
    return made(remote::Purpose::release, std::move(of), now);
  }
  [[nodiscard]] static Call give_back(std::shared_ptr<Release> of,
                                      std::chrono::nanoseconds its_lease, Instant now) {
    Call call = made(remote::Purpose::give_back, std::move(of), now);
    call.lease = its_lease;
    return call;
  }
  [[nodiscard]] static Call renew(std::shared_ptr<Renewal> of, Instant now) {
    const core::Nanos shortest = remote::shortest_lease(*of);
    return made(remote::Purpose::renew, std::move(of), now, shortest);
  }
  [[nodiscard]] static Call inspect(std::shared_ptr<Inspection> of, Instant now) {
    return made(remote::Purpose::question, std::move(of), now);
  }
  [[nodiscard]] static Call check(std::shared_ptr<Check> of, Instant now) {
    Call call = made(remote::Purpose::question, std::move(of), now);
    call.is_check = true;
    return call;
  }

  // For remote::Exchange. A server removes the waiters of a connection that has ended.
  static constexpr bool asks_on_each_connection = true;
  [[nodiscard]] bool is_bound() const noexcept { return false; }
  /// A successor has a request of its own.
  [[nodiscard]] Attempt successor() const noexcept { return nullptr; }

 private:
  [[nodiscard]] static Call about(remote::Purpose why, Attempt of, Instant now) {
    const core::Nanos lease = of->request().lease;
    return made(why, std::move(of), now, lease);
  }
  [[nodiscard]] static Call made(remote::Purpose why, std::shared_ptr<Operation> of, Instant now,
                                 std::chrono::nanoseconds lease = core::longest_lease) {
    Call call;
    call.why = why;
    call.operation = std::move(of);
    call.asked = now;
    call.patience = remote::Patience::for_lease(lease);
    return call;
  }
};

/// It is answered: drops what it refers to.
inline void let_go(Call& call) noexcept { call.operation.reset(); }

}  // namespace mortise::kit
