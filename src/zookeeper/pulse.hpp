// SPDX-License-Identifier: MIT
// Keeps sessions alive and proves that they live, with one pulse for everything that a session
// holds and waits for. A pulse is a sync, and behind its answer a write that changes nothing. The
// sync shows that the leader knows of the pulse before. The write proves it, and is the sign of
// life that the next pulse shows. See life.hpp.
#pragma once

#include "zookeeper/parts.hpp"
#include "zookeeper/session.hpp"

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace mortise::zookeeper {

class Course;

class Pulse {
 public:
  explicit Pulse(Parts& parts) noexcept : parts_(parts) {}

  /// @return when the next pulse of a session is due.
  [[nodiscard]] static Instant due(const Session& session);
  /// Begins one if it is due.
  void beat(Session& session, Instant now) const;

 private:
  void synced(Session& session, const Reply& reply) const;
  void write(Session& session) const;
  void written(Session& session, const std::shared_ptr<Course>& course, const std::string& node,
               const Reply& reply) const;

  Parts& parts_;
};

/// Renewals that wait for a pulse of their sessions.
class Renewals {
 public:
  explicit Renewals(Parts& parts) noexcept : parts_(parts) {}

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
  [[nodiscard]] static Instant end_of_patience(const Part& part);
  void answer(const Part& part);

  Parts& parts_;
  std::vector<Part> waiting_;
};

}  // namespace mortise::zookeeper
