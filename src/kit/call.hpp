// SPDX-License-Identifier: MIT
// One request on its way to the server of a protocol, until the server has answered.
#pragma once

#include <mortise/operation.hpp>

#include "core/figures.hpp"
#include "remote/purpose.hpp"
#include "remote/server_clock.hpp"
#include "remote/void_moment.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <utility>

namespace mortise::kit {

struct Call {
  /// How long its answer may take. Unanswered for longer, its connection counts as dead.
  struct Patience {
    std::chrono::nanoseconds usual{};    ///< if the round trips of the connection are short
    std::chrono::nanoseconds longest{};  ///< if they are long
  };
  /// The connection that its bytes are for.
  struct Passage {
    std::uint64_t generation = 0;        ///< see remote::UnderWay
    remote::ServerTime void_after{};     ///< the call takes nothing after this moment of the server
    std::chrono::nanoseconds void_in{};  ///< ... which is that long after it left
  };

  remote::Purpose why = remote::Purpose::question;
  bool is_check = false;  ///< the operation is a `Check`; another question is an `Inspection`
  bool once = false;      ///< see remote::Courses::asked()
  std::shared_ptr<Operation> operation{};
  std::chrono::nanoseconds lease{};  ///< how long the hold that it frees would keep others out
  Instant asked{};                   ///< our clock before it left; unset = it leaves now
  Instant since{};                   ///< when the library asked
  Instant left{};                    ///< when it was sent; unset = it did not leave
  Instant deadline{};                ///< of its answer
  Patience patience{};
  Passage passage{};
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
    core::Nanos shortest = core::longest_lease;
    for (const Renewal::Item& item : of->items()) shortest = std::min(shortest, item.lease);
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
  [[nodiscard]] remote::Purpose purpose() const noexcept { return why; }
  [[nodiscard]] bool is_bound() const noexcept { return false; }
  /// A successor has a request of its own.
  [[nodiscard]] Attempt successor() const noexcept { return nullptr; }

  [[nodiscard]] Acquisition& acquisition() const { return static_cast<Acquisition&>(*operation); }
  [[nodiscard]] Attempt shared_acquisition() const {
    return std::static_pointer_cast<Acquisition>(operation);
  }
  [[nodiscard]] const AttemptId& attempt() const { return acquisition().request().attempt; }
  [[nodiscard]] Release& releasing() const { return static_cast<Release&>(*operation); }
  [[nodiscard]] Renewal& renewal() const { return static_cast<Renewal&>(*operation); }
  [[nodiscard]] Inspection& inspection() const { return static_cast<Inspection&>(*operation); }

 private:
  [[nodiscard]] static Call about(remote::Purpose why, Attempt of, Instant now) {
    const core::Nanos lease = of->request().lease;
    return made(why, std::move(of), now, lease);
  }
  [[nodiscard]] static Call made(remote::Purpose why, std::shared_ptr<Operation> of, Instant now,
                                 std::chrono::nanoseconds lease = core::longest_lease) {
    return {.why = why,
            .operation = std::move(of),
            .asked = now,
            .patience = {core::command_timeout(lease), core::longest_command(lease)}};
  }
};

}  // namespace mortise::kit
