// SPDX-License-Identifier: MIT
// Has the protocol write the calls of a client, and sends them, for remote/exchange.
#pragma once

#include <mortise/remote/protocol.hpp>

#include "kit/call.hpp"
#include "kit/connection.hpp"
#include "remote/courses.hpp"
#include "remote/exchange.hpp"
#include "remote/last_failure.hpp"
#include "remote/polling.hpp"
#include "remote/reading.hpp"
#include "remote/server_identity.hpp"

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>

namespace mortise::kit {

/// The part of an attempt that waits.
struct Waiting {
  std::optional<remote::Reading> reading{};  ///< of the clock, by the last answer that it waits
};
using Attempts = remote::Courses<Waiting>;
using Exchange = remote::Exchange<Call, Connection, Attempts>;

/// The facts of the server.
struct Server {
  Server(const base::Address& address, std::atomic<std::uint64_t>& clocks)
      : identity(address, clocks) {}
  remote::ServerIdentity identity;
  remote::LastFailure why_down{};
};

/// @thread_safety every member may be called concurrently
class CallWriter final : public Exchange::Store {
 public:
  /// All of it outlives this.
  struct Parts {
    Clock& clock;
    const remote::Protocol& protocol;
    Connection& connection;
    const Server& server;
    Attempts& attempts;
    remote::Polling& polling;
    Exchange& exchange;
  };
  explicit CallWriter(const Parts& parts) : parts_(parts) {}

  [[nodiscard]] Connection& line_of(const Call& /*call*/) override { return parts_.connection; }
  [[nodiscard]] remote::LineState state_of(const Connection& line) const noexcept override;
  Failure want(Connection& line, bool now) override;
  [[nodiscard]] bool send(Connection& line, Call& call) override;
  void note_lost(const Connection& line, Call& call) noexcept override;
  void break_lines() noexcept override;
  void sooner() override { parts_.polling.sooner(); }

 private:
  void write(std::string& bytes, const Call& call) const;

  const Parts parts_;
};

}  // namespace mortise::kit
