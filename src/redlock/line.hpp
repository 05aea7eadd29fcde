// SPDX-License-Identifier: MIT
// The addresses that lead to one server, by which its exchange sends.
#pragma once

#include "redis/store/call.hpp"
#include "redlock/ballot.hpp"
#include "redlock/node.hpp"
#include "redlock/requests.hpp"
#include "remote/courses.hpp"
#include "remote/exchange.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace mortise::redlock {

/// @thread_safety every member may be called concurrently
class CallWriter {
 public:
  /// @param requests outlives it
  CallWriter(const Requests& requests, std::shared_ptr<Clock> clock)
      : requests_(requests), clock_(std::move(clock)) {}

  /// @param call without its fields that depend on the connection
  /// @param only the address has to lead to that server; null = to any
  [[nodiscard]] redis::Connection::Sent send(Node& node, redis::Call call,
                                             const Server* only = nullptr) const;

 private:
  void write(std::string& bytes, const redis::Call& call, Node& node) const;
  void write_take(std::string& bytes, const Passage& passage, const Ballot& ballot,
                  Node& node) const;
  void write_ending(std::string& bytes, Passage passage, const Ending& ending) const;

  const Requests& requests_;
  const std::shared_ptr<Clock> clock_;
};

class Line;
struct NothingMore {};
using Courses = remote::Courses<NothingMore>;
using Exchange = remote::Exchange<redis::Call, Line, Courses>;

/// @return true if the call takes a vote back.
[[nodiscard]] constexpr bool takes_back(const redis::Call& call) noexcept {
  return call.kind == redis::Call::Kind::cancel || call.kind == redis::Call::Kind::release;
}
/// @return true if the exchange of its server decides its fate.
[[nodiscard]] constexpr bool is_of_exchange(const redis::Call& call) noexcept {
  return call.kind == redis::Call::Kind::acquire || takes_back(call);
}

/// A release of a vote goes by each address that leads to the server, because the request for the
/// vote may be under way by any of them.
/// @thread_safety every member may be called concurrently
class Line final : public Exchange::Store {
 public:
  using Nodes = std::vector<std::unique_ptr<Node>>;
  class User {
   public:
    virtual ~User() = default;
    /// A request for a vote did not leave.
    virtual void not_asked(Node& node, const redis::Call& take) = 0;
    /// An exchange has something to do at that moment.
    virtual void sooner(Instant due) = 0;
  };
  /// The common state of the lines of all servers. All of it outlives them.
  struct Shared {
    const Nodes& nodes;
    const CallWriter& writer;
    const std::shared_ptr<Clock>& clock;
    User& user;
  };

  /// @param server, courses, exchange outlive it
  Line(const Shared& shared, const Server& server, Courses& courses, const Exchange& exchange)
      : shared_(shared), server_(server), courses_(courses), exchange_(exchange) {}

  // Exchange::Store
  [[nodiscard]] Line& line_of(const redis::Call& /*call*/) override { return *this; }
  [[nodiscard]] remote::LineState state_of(const Line& line) const noexcept override;
  Failure want(Line& line, bool now) override;
  [[nodiscard]] bool send(Line& line, redis::Call& call) override;
  void note_lost(const Line& line, redis::Call& call) noexcept override;
  void break_lines() noexcept override;
  void sooner() override { shared_.user.sooner(exchange_.due()); }

  /// The call of a take cannot leave.
  void not_asked(const redis::Call& take) {
    shared_.user.not_asked(*shared_.nodes[take.route.node], take);
  }

  /// The exchange does not ask for a vote again on the next connection: the round does, if it goes
  /// on.
  static constexpr std::uint64_t any_connection = 1;

 private:
  [[nodiscard]] bool leads_here(Node& node) const noexcept;
  [[nodiscard]] bool send_take(redis::Call& call);

  const Shared shared_;
  const Server& server_;
  Courses& courses_;
  const Exchange& exchange_;
};

}  // namespace mortise::redlock
