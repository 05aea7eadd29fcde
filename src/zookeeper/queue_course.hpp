// SPDX-License-Identifier: MIT
// An attempt for a lock: its node stands in a queue, and waits for the end of the node before it.
#pragma once

#include "zookeeper/course.hpp"

#include <cstddef>
#include <string>

namespace mortise::zookeeper {

class QueueCourse : public Course {
 public:
  using Course::Course;

  void ask_again() override;
  void disconnected() override;
  void forget_node() override;
  void let_go() override;

 protected:
  void take() override;
  void peeked(const Children& children) override;
  void place(const Children& children) override { stand(children); }
  void changed(std::string_view path, bool gone) override;
  /// The node before its own has gone.
  virtual void next_in_line();
  /// It is the first in line.
  virtual void first_in_line(const Place& /*place*/) { believe(); }
  /// The name is its own, as far as the queue is concerned.
  virtual void believe() { hold().prove(node().number()); }
  /// Another node has the lock. @return false: it has left
  [[nodiscard]] virtual bool stays_behind(const Place& place);
  /// It watches the node before its own. @param reply that node
  virtual void report_queued(const Reply& reply);

  /// @param children of the queue that concern it
  void stand(const Children& children);
  void wait_behind(const Place& place);
  /// The node before it is the only one ahead, and nothing but its end can happen to that.
  [[nodiscard]] bool is_next() const noexcept { return ahead_ <= 1; }
  [[nodiscard]] const std::string& predecessor() const noexcept { return predecessor_; }

 private:
  void predecessor_gone();
  void watching(const std::string& node, const Reply& reply);
  void check_own();

  std::string predecessor_{};  // path
  std::size_t ahead_ = 0;
  bool event_grants_ = false;  // the end of the predecessor leaves the lock to it
  bool own_is_next_ = false;   // to be looked at: its own node, not its predecessor
};

}  // namespace mortise::zookeeper
