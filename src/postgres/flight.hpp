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
#include <optional>

namespace mortise::postgres {

struct Flight : Call {
  explicit Flight(Call call) : Call(std::move(call)) {}

  [[nodiscard]] Call& call() noexcept { return *this; }
  [[nodiscard]] const Call& call() const noexcept { return *this; }
  /// It leaves now. In a fixed time, a server or a pooler that needs long to begin a statement
  /// would answer none, and each would be void by then.
  void leave(Instant now, const remote::RoundTrip& round_trips) noexcept {
    left = now;
    time = round_trips.time(patience().usual, patience().longest);
    deadline = now + time;
  }

  // Of its connection.
  Arguments arguments{};           ///< kept, since it may have to be sent once more
  Instant deadline{};              ///< once it is under way
  std::optional<Result> result{};  ///< until the end of the transaction confirms it
  std::size_t together = 0;        ///< of the first of a transaction: how many it has
  bool prepares = false;           ///< of nobody's: it is sent by the connection, and ends with it
};

/// One allocation for the whole way: it goes from list to list, from a connection to the outbox, to
/// what is made later, and to the next connection, and none of that needs memory. So what a
/// connection leaves behind is not forgotten where there is none.
using Flights = std::list<Flight>;

}  // namespace mortise::postgres
