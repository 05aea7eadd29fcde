// SPDX-License-Identifier: MIT
// Keeps sessions alive and proves that they live, with one pulse for everything that a session
// holds and waits for. A pulse is a sync, and behind its answer a write that changes nothing. The
// sync shows that the leader knows of the pulse before. The write proves it, and is the sign of
// life that the next pulse shows. See life.hpp.
#pragma once

#include "zookeeper/parts.hpp"
#include "zookeeper/session.hpp"

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace mortise::zookeeper {

class Course;

/// The pulses of one session.
class Pulse {
 public:
  Pulse(Parts& parts, Session& session) noexcept : parts_(parts), session_(session) {}

  /// The session has a connection. Its first pulse proves what the connection has shown, and is not
  /// to wait.
  void connected();
  /// @return when the next one is due.
  [[nodiscard]] Instant due() const;
  /// Begins one if it is due.
  void beat(Instant now);
  /// A renewal needs one, as soon as it proves something.
  /// @param soon one that comes by then is early enough
  void want(Instant soon);

 private:
  void synced(const Reply& reply);
  void write();
  void written(const std::shared_ptr<Course>& course, const std::string& node, const Reply& reply);

  Parts& parts_;
  Session& session_;
  Instant last_{};  // when the last one was sent or answered
  bool is_under_way_ = false;
  bool is_wanted_ = false;    // by a renewal
  AttemptId last_written_{};  // whose node was written last
};

class Pulses {
 public:
  explicit Pulses(Parts& parts) noexcept : parts_(parts) {}
  [[nodiscard]] Pulse& of(Session& session) {
    return pulses_.try_emplace(&session, parts_, session).first->second;
  }
  /// @return when the next one of that session is due.
  [[nodiscard]] Instant due(const Session& session) const {
    const auto its = pulses_.find(&session);
    return its == pulses_.end() ? never : its->second.due();
  }

 private:
  Parts& parts_;
  std::map<const Session*, Pulse> pulses_;
};

/// Renewals that wait for a pulse of their sessions.
class Renewals {
 public:
  Renewals(Parts& parts, Pulses& pulses) noexcept : parts_(parts), pulses_(pulses) {}

  void add(const std::shared_ptr<Renewal>& operation);
  /// Answers the renewals whose proof has come, and those that have waited long enough.
  void settle();
  /// It is known by now which clients wait for the end of a shared hold.
  /// @param asked when the server was asked for that
  void settle_news(const Course& course, Instant asked);
  [[nodiscard]] bool empty() const noexcept { return waiting_.empty(); }
  /// The client closes. @return the operations that have no answer
  [[nodiscard]] std::vector<std::shared_ptr<Operation>> close();

 private:
  /// The holds of a renewal in one session. There may be thousands of them: they are not looked up
  /// again with each event of the session.
  struct Part {
    std::shared_ptr<Renewal> operation{};
    Session* session = nullptr;
    Instant asked{};
    Instant from{};                       ///< the session has to be proven to live from then on
    Instant looks{};                      ///< when it asked which clients wait; that is not known
    std::vector<std::size_t> items{};     ///< of its holds
    std::shared_ptr<std::size_t> left{};  ///< of the operation's parts
  };

  void note(std::vector<Part>& parts, Course& course, std::size_t item) const;
  void await(const std::shared_ptr<Renewal>& operation, std::vector<Part> parts);
  [[nodiscard]] bool is_decided(const Part& part, Instant now) const;
  [[nodiscard]] Instant end_of_patience(const Part& part) const;
  void answer(const Part& part);

  Parts& parts_;
  Pulses& pulses_;
  std::vector<Part> waiting_;
  /// Since when a renewal waits and nothing was proven, in each session.
  struct Silence {
    Instant proven{};  ///< when renewals were looked at last
    Instant since = never;
  };
  std::map<const Session*, Silence> silences_;
};

}  // namespace mortise::zookeeper
