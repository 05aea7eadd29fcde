// SPDX-License-Identifier: MIT
// A call on its way, with all that it needs there.
#pragma once

#include <mortise/clock.hpp>

#include "postgres/arguments.hpp"
#include "postgres/call.hpp"
#include "postgres/pq.hpp"
#include "remote/round_trip.hpp"

#include <cstddef>
#include <list>
#include <memory>
#include <optional>
#include <utility>

namespace mortise::postgres {

struct Flight : Call {
  // NOLINTNEXTLINE(google-explicit-constructor): a call that is sent is one
  Flight(Call call) : Call(std::move(call)) {}
  /// A copy is as the call was before it left.
  Flight(const Flight& other) : Call(other), alone(other.alone), is_counted(other.is_counted) {}
  Flight(Flight&&) = default;
  Flight& operator=(const Flight&) = delete;
  Flight& operator=(Flight&&) = default;
  ~Flight() = default;

  // For remote::Exchange.
  [[nodiscard]] static Flight of(remote::Purpose why, std::shared_ptr<Operation> operation,
                                 Instant now) {
    const Kind kind = remote::is_release(why)        ? Kind::release
                      : why == remote::Purpose::take ? Kind::acquire
                                                     : Kind::cancel;
    Flight call = made(kind, std::move(operation), now);
    call.why = why;
    return call;
  }
  /// Each request goes by any connection: a new one needs no request by itself.
  static constexpr bool asks_on_each_connection = false;
  [[nodiscard]] static bool is_bound() noexcept { return false; }
  /// It is asked for by a call of its own.
  [[nodiscard]] static std::shared_ptr<Acquisition> successor() noexcept { return nullptr; }

  /// It leaves now. In a fixed time, a server or a pooler that needs long to begin a statement
  /// would answer none, and each would be void by then.
  void leave(Instant now, const remote::RoundTrip& round_trips) noexcept {
    passage.left = now;
    passage.void_time.in = round_trips.time(patience().usual, patience().longest);
    deadline = now + passage.void_time.in;
  }

  // Of its connection.
  Arguments arguments{};           ///< kept, since it may have to be sent once more
  Instant deadline{};              ///< once it is under way
  std::optional<Result> result{};  ///< until the end of the transaction confirms it
  std::size_t together = 0;        ///< of the first of a transaction: how many it has
  bool alone = false;              ///< in a transaction of its own
  bool prepares = false;           ///< the connection sends it for itself, and it ends with it
  bool is_counted = false;         ///< by the pool: it is under way for its name
};

/// One allocation for the whole way: it goes from list to list, from a connection to the calls that
/// wait, and none of that needs memory. So what a connection leaves behind is not forgotten if
/// there is none.
using Flights = std::list<Flight>;

}  // namespace mortise::postgres
