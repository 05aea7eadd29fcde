// SPDX-License-Identifier: MIT
// The parts of a client. Passes answers, events of connections and timers to the parts that need
// them.
#pragma once

#include "redlock/attempts.hpp"
#include "redlock/holds.hpp"
#include "redlock/parts.hpp"
#include "redlock/questions.hpp"
#include "redlock/rounds.hpp"
#include "redlock/servers.hpp"
#include "remote/polling.hpp"
#include "remote/timer.hpp"

#include <atomic>
#include <list>
#include <string>
#include <vector>

namespace mortise::redlock {

/// @thread_safety every member may be called concurrently
class Polling final : public remote::Polling {
 public:
  /// @param parts outlive it
  explicit Polling(const Parts& parts) : remote::Polling(parts.host), parts_(parts) {}

  /// Leads addresses home soon, if that is wanted (see Servers).
  void lead_home_later();
  /// There is something to do at that moment.
  void wake(Instant when);

 private:
  // Source
  [[nodiscard]] Instant due() const noexcept override { return due_.get(); }
  void ready(short events, Instant now) override;
  // remote::Polling
  void attach_all() override;
  void detach_all() noexcept override;
  void hurry() override { is_ending_.store(true); }
  [[nodiscard]] bool is_any_pending(Instant in_time) override;
  void add_sources(std::vector<Source*>& sources) override;

  const Parts& parts_;
  remote::Moment due_;
  std::atomic<bool> is_ending_{false};  // an attempt that waits begins no round any more
};

/// @thread_safety every member may be called concurrently
class RedlockClient final : private Node::User, private Line::User {
  std::atomic<int> awaited_{0};  // first: the attempts count in it

 public:
  /// @param settings, words, tls outlive it; tls may be null
  RedlockClient(const Settings& settings, const std::string& words, const remote::Tls* tls,
                Host& host);

  /// All requests fail.
  void close() noexcept;

  // Declared first: the others refer to it.
  Requests requests;
  CallWriter writer;
  Servers servers;
  Attempts attempts;
  Parts parts;
  Rounds rounds{parts};
  Waits waits{parts};
  Releases releases{parts};
  Renewals renewals{parts};
  Questions questions{parts};
  Polling polling{parts};

 private:
  // Node::User
  [[nodiscard]] Server* recognise(Node& node, const std::string& run_id) override;
  void up(Node& node) override;
  void down(Node& node, bool was_up, std::list<redis::Call> unanswered) override;
  void answered(Node& node, const redis::Call& call, const redis::Reply& reply) override;
  [[nodiscard]] bool admits(Node& node, const redis::Call& call) override;
  void listens(Node& node) override { waits.listens(node); }
  void hinted(Node& node, const AttemptId& attempt) override { waits.hinted(node, attempt); }
  [[nodiscard]] bool awaits() const noexcept override { return awaited_.load() > 0; }
  // Line::User
  void not_asked(Node& node, const redis::Call& take) override;
  void sooner(Instant due) override { polling.wake(due); }

  void refused(Node& node, const redis::Call& call, const redis::Reply& reply);
  void nonsense(Node& node, const redis::Call& call);
  /// @param refused the server answered with an error
  void no_answer(Node& node, const redis::Call& call, const Failure& why, bool refused, bool apart);
  [[nodiscard]] bool send_whole(Node& node, redis::Call call);
};

}  // namespace mortise::redlock
