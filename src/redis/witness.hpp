// SPDX-License-Identifier: MIT
// Holds back what the master has granted until n replicas have it, too (`replicas=n`).
#pragma once

#include <mortise/backend.hpp>

#include "base/timer_source.hpp"
#include "redis/connection.hpp"
#include "remote/last_failure.hpp"
#include "remote/timer.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <list>
#include <mutex>
#include <string>
#include <vector>

namespace mortise::redis {

/// A connection of its own to the server that grants, since WAIT stops the one that it comes by.
/// WAIT is about what its own client has written last; so a word that is replicated and heard by
/// nobody goes before each (PUBLISH): whatever was seen as granted before that stands before it in
/// the stream that replicas acknowledge. One WAIT is under way at a time; the next one is about all
/// that was seen meanwhile.
/// @thread_safety every member may be called concurrently; verdicts are told under no mutex.
class Witness final : private Connection::User {
 public:
  /// What is called once, with why they do not have it; clear = they do. Again where it throws.
  using Verdict = std::function<void(const Failure& why)>;

  /// @param settings, tls outlive it; tls may be null
  Witness(Host& host, const Settings& settings, const remote::Tls* tls);
  ~Witness() override;

  /// May throw: say it again then.
  void attach();
  void detach() noexcept;
  /// The connection that grants has come up, to this server.
  /// @param clock as in Reading: by which that server's grants are told from others'
  void follow(const base::Endpoint& endpoint, const std::string& host, const std::string& run_id,
              std::uint64_t clock);
  /// That connection broke: whether its server will ever be asked again is not known.
  void lose(const Failure& why);
  /// Seen on that connection, or by an inbox; perhaps by a thread that stood still since, while
  /// that connection came to lead to another server, whose replicas know nothing of it.
  /// @param clock of the server that has granted it
  /// @param until when it is of no use any more
  void attest(std::uint64_t clock, Instant until, Verdict verdict);

  /// For ever; call after it was detached. What is held back is told as closed.
  void close();

 private:
  /// When something has waited too long for a connection.
  class Timer final : public base::TimerSource {
   public:
    explicit Timer(Witness& witness) : witness_(witness) {}
    [[nodiscard]] Instant due() const noexcept override { return witness_.due_.get(); }
    void ready(short /*events*/, Instant now) override { witness_.look(now); }

   private:
    Witness& witness_;
  };
  struct Pending {
    std::uint64_t clock = 0;
    Instant until{};
    Verdict verdict{};
  };
  using Pendings = std::list<Pending>;
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
  [[nodiscard]] bool note_due_locked() noexcept;
  [[nodiscard]] Instant first_locked() const noexcept;
  void tell(Pendings& those, const Failure& why);

  Host& host_;
  const Settings& settings_;
  const std::shared_ptr<Clock> clock_;
  const std::string channel_;
  Connection connection_;
  remote::Moment due_;
  Timer timer_{*this};

  std::mutex mutex_;
  Pendings seen_;       // for the next WAIT
  Pendings under_way_;  // of this one
  bool asks_ = false;   // one is under way
  bool follows_ = false;
  bool closed_ = false;
  base::Endpoint endpoint_;
  std::string host_name_;
  std::string run_id_;          // of the server that grants
  std::uint64_t granting_ = 0;  // ... and its clock
  std::string met_;             // of the one that this connection leads to
  Failure refused_;             // the word before WAIT was
  remote::LastFailure why_down_;
};

}  // namespace mortise::redis
