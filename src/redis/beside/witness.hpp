// SPDX-License-Identifier: MIT
// Holds back what the master has granted until n replicas have it, too (`replicas=n`).
#pragma once

#include <mortise/backend.hpp>

#include "base/timer_source.hpp"
#include "redis/beside/unconfirmed.hpp"
#include "redis/connection/connection.hpp"
#include "remote/last_failure.hpp"

#include <chrono>
#include <cstdint>
#include <list>
#include <mutex>
#include <string>

namespace mortise::redis {

/// It has a connection of its own to the server that grants, because WAIT stops the connection on
/// which it is sent. WAIT is about the last write of its own client. So a message without receivers
/// (PUBLISH), which is replicated, goes before each WAIT: all grants that were seen before it stand
/// before it in the stream that replicas acknowledge.
/// @thread_safety every member may be called concurrently; verdicts are called under no mutex.
class Witness final : private Connection::User {
 public:
  using Verdict = Unconfirmed::Verdict;

  /// @param settings, tls outlive it; tls may be null
  Witness(Host& host, const Settings& settings, const remote::Tls* tls);
  ~Witness() override;

  /// May throw: call it again then.
  void attach();
  void detach() noexcept;
  /// The connection that grants has come up, to this server.
  /// @param clock as in Reading: the grants of that server have it
  void follow(const base::Endpoint& endpoint, const std::string& host, const std::string& run_id,
              std::uint64_t clock);
  /// That connection broke. The client may never ask that server again.
  void lose(const Failure& why);
  /// A grant was seen on that connection, or came to an inbox. The thread that saw it may have
  /// stood still since, and that connection may lead to another server now, whose replicas know
  /// nothing of the grant.
  /// @param clock of the server that has granted it
  /// @param until it is of no use afterwards
  void attest(std::uint64_t clock, Instant until, Verdict verdict);

  /// Call this after it was detached. Grants that are held back fail as closed.
  void close();

 private:
  /// When something has waited too long for a connection.
  class Timer final : public base::TimerSource {
   public:
    explicit Timer(Witness& witness) : witness_(witness) {}
    [[nodiscard]] Instant due() const noexcept override { return witness_.waiting_.due(); }
    void ready(short /*events*/, Instant now) override { witness_.look(now); }

   private:
    Witness& witness_;
  };
  using Grants = Unconfirmed::Grants;
  /// The server that grants, to which this connection has to lead.
  struct Granting {
    base::Endpoint endpoint{};
    std::string host{};
    std::string run_id{};
    std::uint64_t clock = 0;
    bool is_lost = true;  ///< it may never be asked again
  };
  enum class Word : std::uint32_t { publish, wait };

  // Connection::User
  void greeted(Connection& connection, const ServerFacts& facts) override;
  void connected(Connection& connection) override;
  void answered(const Call& call, const Reply& reply) override;
  [[nodiscard]] bool admits(const Call& /*call*/) override { return true; }
  void changed(Connection& connection) override { host_.changed(connection); }
  void pushed(const Reply& /*message*/) override {}
  void dropped(Connection& connection, const Failure& why, bool was_up,
               std::list<Call> unanswered) override;

  void begin(Instant now);
  void ask(std::chrono::milliseconds time, std::uint64_t epoch);
  void look(Instant now);
  void end_round(long long replicas, const Failure& why);
  [[nodiscard]] Failure refusal(const std::string& words) const;
  [[nodiscard]] Failure too_few(long long replicas) const;
  [[nodiscard]] Failure of_another() const;
  void tell(Grants& those, const Failure& why);
  [[nodiscard]] Instant now() const { return host_.clock()->now(); }

  Host& host_;
  const Settings& settings_;
  Connection connection_;
  Timer timer_{*this};
  remote::LastFailure why_down_;

  std::mutex mutex_;
  Unconfirmed waiting_;
  Granting granting_;
  std::string met_;  // the run_id of the server that this connection leads to
  Failure refused_;  // the command before WAIT was
  bool closed_ = false;
};

}  // namespace mortise::redis
