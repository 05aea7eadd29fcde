// SPDX-License-Identifier: MIT
// What the simulation and a model of a server know of each other. A model is bytes in, bytes out:
// it has no thread, no socket, no clock and no random numbers of its own, so that a seed decides
// everything, and so that the same model can be compared with the real server.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace simulation {

using Nanos = std::chrono::nanoseconds;

/// One connection of one server, never used twice.
using ConnectionId = std::uint64_t;

/// The place where a server runs: its clocks, its network, its luck.
class Site {
 public:
  virtual ~Site() = default;
  /// @return the wall clock since 1970; it drifts, and an administrator may step it.
  [[nodiscard]] virtual Nanos wall() const = 0;
  /// @return the time since some start; it drifts and never steps.
  [[nodiscard]] virtual Nanos uptime() const = 0;
  /// @return the next number of the seed.
  [[nodiscard]] virtual std::uint64_t random() = 0;
  /// Sends; what becomes of it on its way is the network's affair.
  virtual void send(ConnectionId connection, std::string_view bytes) = 0;
  /// Closes; the peer reads what was sent before, and then the end. `closed()` is not called.
  virtual void hang_up(ConnectionId connection) = 0;
  /// Calls back in that much of `uptime()`, unless the server is restarted before.
  virtual void after(Nanos delay, std::function<void()> then) = 0;
  /// For the trace of a failing run, which is in words.
  virtual void note(std::string_view words) = 0;
};

/// A model of a server. Called by the simulation only, never at once by two.
class Server {
 public:
  virtual ~Server() = default;
  virtual void opened(ConnectionId connection) = 0;
  virtual void received(ConnectionId connection, std::string_view bytes) = 0;
  /// The peer closed it, or the network broke it.
  virtual void closed(ConnectionId connection) = 0;
  /// The process ended and started again; all connections and callbacks are gone already.
  /// @param keeps_data what was on disk (acknowledged) is still there
  virtual void restarted(bool keeps_data) = 0;
};

}  // namespace simulation
