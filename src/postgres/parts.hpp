// SPDX-License-Identifier: MIT
// The common state of the parts of a client's PostgreSQL backend.
#pragma once

#include <mortise/backend.hpp>

#include "postgres/attempts.hpp"
#include "postgres/bell.hpp"
#include "postgres/flight.hpp"
#include "postgres/pool.hpp"
#include "postgres/settings.hpp"
#include "postgres/statements.hpp"
#include "remote/exchange.hpp"

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

namespace mortise::postgres {

class Listener;
class Polling;
using Exchange = remote::Exchange<Flight, Pool, Attempts>;

/// The pause before the next look if no notification will come, after that many looks without
/// success.
inline constexpr std::chrono::milliseconds longest_look{250};
[[nodiscard]] std::chrono::nanoseconds next_look(unsigned in_vain);

/// @return true for the names that owners and readers have; others have spaces of their own.
[[nodiscard]] constexpr bool is_lock(Mode mode) noexcept {
  return mode == Mode::exclusive || mode == Mode::shared;
}

/// @thread_safety as each of them; the pointers are set before the first request
struct Parts {
  const Settings& settings;
  const Statements& statements;
  Host& host;
  Clock& clock;
  Attempts& attempts;
  Bell& bell;
  Pool* pool = nullptr;
  Exchange* exchange = nullptr;
  Listener* listener = nullptr;
  Polling* polling = nullptr;

  [[nodiscard]] Instant now() const noexcept { return clock.now(); }
  /// @return the store in words, for messages.
  [[nodiscard]] std::string where() const { return "postgresql " + settings.where(); }

  /// Asks for it, unless it is decided already.
  void ask(const std::shared_ptr<Acquisition>& operation) const;
  /// It found its row locked: it comes again soon, and then ever later.
  void again_soon(const Call& call) const;
  /// Notifies the waiters of a name. No promise depends on that: without memory for it, the waiters
  /// look by time.
  void ring(Mode mode, const std::string& name) const noexcept;
  /// The same for all names that were freed since the last request.
  void ring_for_the_rest() const;
};

}  // namespace mortise::postgres
