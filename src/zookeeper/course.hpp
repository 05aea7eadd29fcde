// SPDX-License-Identifier: MIT
// One attempt at the servers, from its first request until its node is proven gone. After each
// event it takes the next step by the present knowledge: a lost answer needs no step of its own.
#pragma once

#include "zookeeper/claim.hpp"
#include "zookeeper/hold.hpp"
#include "zookeeper/own_node.hpp"
#include "zookeeper/parts.hpp"
#include "zookeeper/session.hpp"
#include "zookeeper/watches.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mortise::zookeeper {

/// The releases of one hold that have no answer yet. The library repeats one, and an administrator
/// may send another.
class Releases {
 public:
  explicit Releases(Parts& parts) noexcept : parts_(parts) {}

  [[nodiscard]] bool has(const Release& release) const noexcept {
    return std::any_of(releases_.begin(), releases_.end(),
                       [&](const auto& each) { return each.get() == &release; });
  }
  void add(const std::shared_ptr<Release>& release) { releases_.push_back(release); }
  [[nodiscard]] std::vector<std::shared_ptr<Release>> take() noexcept {
    return std::exchange(releases_, {});
  }
  void answer(Released outcome) {
    for (const auto& release : take()) {
      parts_.then([release, outcome] { release->answered(outcome); });
    }
  }
  void fail(const Failure& why) {
    for (const auto& release : take()) parts_.fail(release, why);
  }
  void trouble(const Failure& why) const {
    for (const auto& release : releases_) release->trouble(why);
  }

 private:
  Parts& parts_;
  std::vector<std::shared_ptr<Release>> releases_;
};

struct NewAttempt {
  Parts& parts;
  Session& session;
  Claim claim;
  std::shared_ptr<Acquisition> operation{};  ///< null: of a gate
};

/// The state of an attempt, but for its node and its hold.
class CourseState : public std::enable_shared_from_this<CourseState>, public Watcher {
 public:
  enum class Phase : std::uint8_t {
    wanted,     ///< until it is granted
    held,       ///< granted; of a gate: its turn has come
    withdrawn,  ///< its node goes, and the attempt begins again
    leaving,    ///< its node goes
    standing,   ///< the same, but the library does not know yet that the hold is lost
    over,       ///< nothing is asked for it any more
  };

  explicit CourseState(NewAttempt its);
  CourseState(const CourseState&) = delete;
  CourseState& operator=(const CourseState&) = delete;

  [[nodiscard]] Parts& parts() const noexcept { return parts_; }
  [[nodiscard]] const Claim& claim() const noexcept { return claim_; }
  [[nodiscard]] Session& session() const noexcept { return session_; }
  [[nodiscard]] Releases& releases() noexcept { return releases_; }
  [[nodiscard]] Phase phase() const noexcept { return phase_; }
  [[nodiscard]] bool is_held() const noexcept { return phase_ == Phase::held; }
  /// @return true if its node goes, or it is over.
  [[nodiscard]] bool is_leaving() const noexcept { return phase_ > Phase::held; }
  void set_phase(Phase phase) noexcept;
  /// It waits for an event that its session knows.
  void set_watching(bool is_watching) noexcept;
  [[nodiscard]] bool is_watching() const noexcept { return is_watching_; }
  /// @return the operation of its caller; null = it is complete.
  [[nodiscard]] const std::shared_ptr<Acquisition>& operation() const noexcept {
    return operation_;
  }
  [[nodiscard]] std::shared_ptr<Acquisition> take_operation() noexcept {
    return std::exchange(operation_, nullptr);
  }

  /// @return true if its next step comes with an answer or a connection, or it has none.
  [[nodiscard]] bool has_to_wait() const;
  /// Asks a server.
  /// @param heed receives the reply
  /// @param even_if_over it does so if the attempt is over as well
  /// @return false: there is no connection
  template <class Heed>
  bool ask(Request request, Heed heed, bool even_if_over = false) {
    const bool is_asked = session_.ask(std::move(request), answer(std::move(heed), even_if_over));
    if (is_asked) ++under_way_;
    return is_asked;
  }
  /// The same, with data that the leader has by now.
  template <class Heed>
  bool ask_in_sync(Request request, Heed heed) {
    const bool is_asked = session_.ask_in_sync(std::move(request), answer(std::move(heed), false));
    if (is_asked) ++under_way_;
    return is_asked;
  }
  [[nodiscard]] bool is_asking() const noexcept { return under_way_ > 0; }
  /// The server refused a request of it, and did nothing.
  void report(const Reply& reply);
  /// It does nothing before that moment.
  void pause(Instant until);
  [[nodiscard]] Instant again() const noexcept { return again_; }

 protected:
  /// There is news for a waiter: it lists the queue as soon as no request is under way.
  void look_soon();
  [[nodiscard]] bool has_changed() const noexcept { return has_changed_; }
  virtual void look() = 0;
  /// It waits for nothing more: its session has room for other watches.
  void give_watches_back() noexcept;
  void give_paths_back() noexcept;

 private:
  template <class Heed>
  [[nodiscard]] Calls::Answer answer(Heed heed, bool even_if_over) {
    return [self = shared_from_this(), heed = std::move(heed), even_if_over](const Reply& reply) {
      --self->under_way_;
      if (!is_answer(reply.code)) self->look_later(reply.code);
      if (self->phase_ != Phase::over || even_if_over) heed(reply);
      self->answered();
    };
  }
  void look_later(Code code);
  void answered();

  Parts& parts_;
  const Claim claim_;
  Session& session_;
  std::shared_ptr<Acquisition> operation_;
  Releases releases_;
  Paths paths_;  // of the session's budget
  Phase phase_ = Phase::wanted;
  bool is_watching_ = false;
  bool has_changed_ = false;  // what it waits for, while a request was under way
  int under_way_ = 0;         // requests
  Instant again_{};           // not before then
};

class Course;

/// The holder of the name: the node that was first when the queue was listed last.
class HolderLook {
 public:
  explicit HolderLook(Course& course) noexcept : course_(course) {}

  /// The queue was listed.
  void set(std::string head, std::size_t waiters);
  void clear() noexcept;
  /// The caller knows whose node that is.
  void set_told() noexcept { is_told_ = true; }
  [[nodiscard]] const std::string& head() const noexcept { return head_; }
  [[nodiscard]] std::size_t waiters() const noexcept { return waiters_; }
  void set_waiters(std::size_t waiters) noexcept { waiters_ = waiters; }
  /// The first waiter knows it by its watch. Most other waiters have the lock before their callers
  /// want to know its holder. So the server is asked when an attempt looks at the queue again, or
  /// leaves it.
  void ask();

 private:
  void told(const std::string& node, std::size_t waiters, const Reply& reply);

  Course& course_;
  std::string head_{};       // path
  std::size_t waiters_ = 0;  // behind it
  bool is_told_ = false;
};

/// The steps of an attempt.
class Course : public CourseState {
 public:
  using CourseState::CourseState;

  [[nodiscard]] OwnNode& node() noexcept { return node_; }
  [[nodiscard]] Hold& hold() noexcept { return hold_; }

  // Requests of the library.
  virtual void ask_again() = 0;
  void cancel();
  virtual void release(const std::shared_ptr<Release>& release);
  /// Asks whether another client waits for the end of its hold. @return false: it is not sent
  virtual bool ask_who_waits(Instant /*now*/) { return false; }

  // Events of its session.
  virtual void disconnected();
  /// @param at_server the session has ended there
  /// @param final the next session will fail as well
  virtual void ended(const Failure& why, bool at_server, bool final);
  void watched(std::string_view path, bool gone) final;
  /// Its node has gone, although the session lives.
  virtual void lose_node();

  // Steps.
  /// Does what comes next, unless answers have to come first.
  void drive();
  /// Lists the queue.
  void look() override { list(false); }
  /// It fails for its caller. A hold stays.
  virtual void fail(Failure why);
  /// Its node is gone.
  virtual void gone(Released outcome);
  virtual void forget_node();
  /// Its node goes: it waits for its turn no longer.
  virtual void let_go() = 0;
  virtual void granted() { give_watches_back(); }

 protected:
  /// It has no node, and asks for none.
  virtual void take() = 0;
  /// The queue was listed before it has a node.
  virtual void peeked(const Children& children) = 0;
  /// The queue was listed with its node.
  virtual void place(const Children& children) = 0;
  /// Its caller takes it back.
  virtual void cancelled() {}
  /// There is news of a path other than its node's.
  virtual void changed(std::string_view path, bool gone) = 0;
  virtual void remove() { node_.remove(); }
  virtual void erase();

  void list(bool watch);
  /// @return true if it looked at the queue already, before it makes a node; otherwise it does so.
  [[nodiscard]] bool has_peeked();
  /// Its caller does not wait: it leaves when it knows who has the name.
  void leave_busy(std::string head, std::size_t waiters);
  /// Its node goes, and it begins again.
  void withdraw();
  [[nodiscard]] HolderLook& holder() noexcept { return holder_; }

 private:
  void listed(const Reply& reply, bool is_peek);

  OwnNode node_{*this};
  Hold hold_{*this};
  HolderLook holder_{*this};
  bool has_peeked_ = false;
};

// In the files of those names.
[[nodiscard]] std::shared_ptr<Course> queue_course(NewAttempt its);
[[nodiscard]] std::shared_ptr<Course> reader_course(NewAttempt its);
[[nodiscard]] std::shared_ptr<Course> permit_course(NewAttempt its);
[[nodiscard]] std::shared_ptr<Course> key_course(NewAttempt its);

}  // namespace mortise::zookeeper
