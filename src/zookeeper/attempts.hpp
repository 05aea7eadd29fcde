// SPDX-License-Identifier: MIT
// The attempts of a client. A client has few compared with its requests, so a step may look at all.
#pragma once

#include "zookeeper/course.hpp"
#include "zookeeper/parts.hpp"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace mortise::zookeeper {

class Attempts {
 public:
  explicit Attempts(Parts& parts) noexcept : parts_(parts) {}

  // Requests of the library.
  void acquire(const std::shared_ptr<Acquisition>& operation);
  void cancel(const std::shared_ptr<Acquisition>& operation);
  /// The successor of a hold asks after the release. @return false: no attempt has that hold
  [[nodiscard]] bool release(const std::shared_ptr<Release>& operation);

  // Events of a session.
  void connected(const Session& session);
  void disconnected(const Session& session);
  void ended(const Session& session, const Failure& why, bool at_server, bool final);
  /// Does what is due: the library alone ends a hold that was not renewed while its session lives.
  void tick(Instant now);
  /// The client closes. @return the operations that have no answer
  [[nodiscard]] std::vector<std::shared_ptr<Operation>> operations();
  void clear() noexcept { courses_.clear(); }

  // For the other parts.
  void add(std::shared_ptr<Course> course);
  void erase(const AttemptId& attempt) noexcept { courses_.erase(attempt); }
  /// @return null: there is no such hold any more.
  [[nodiscard]] std::shared_ptr<Course> hold(const HoldId& hold) const;
  /// @return the attempt if it holds the name of that queue; null otherwise.
  [[nodiscard]] Course* owner(const AttemptId& attempt, const std::string& queue) const;
  /// @return true if that is the node of an attempt.
  [[nodiscard]] bool is_known(const std::string& node) const;
  /// @return the attempt behind that one whose node can be written; null = there is none.
  [[nodiscard]] std::shared_ptr<Course> next_with_node(const Session& session,
                                                       const AttemptId& behind) const;
  /// @return true if the client has so few holds that it watches their nodes.
  [[nodiscard]] bool watches_holds() const;

 private:
  using CoursePtr = std::shared_ptr<Course>;
  [[nodiscard]] CoursePtr find(const AttemptId& attempt) const;
  [[nodiscard]] std::vector<CoursePtr> all_of(const Session& session) const;

  Parts& parts_;
  std::map<AttemptId, CoursePtr> courses_;  // in the order of their coming
};

}  // namespace mortise::zookeeper
