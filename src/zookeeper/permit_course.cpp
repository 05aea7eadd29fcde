// SPDX-License-Identifier: MIT
// An attempt for a permit of a semaphore. It makes its node, and has a permit if the node is one of
// the first N and no client waits: one round trip. Otherwise the node goes, because Curator's
// semaphore counts all nodes, and the waiter takes the semaphore's lock first, which is a queue as
// any other: the *gate*. The client that has the gate makes its node and waits until the node is
// one of the first N.
#include "base/mutant.hpp"
#include "zookeeper/attempts.hpp"
#include "zookeeper/lease_place.hpp"
#include "zookeeper/queue_course.hpp"
#include "zookeeper/seen_queues.hpp"

namespace mortise::zookeeper {
namespace {

/// The attempt for a permit, as its gate sees it.
class GateUser : public Course {
 public:
  using Course::Course;
  /// The gate has opened, or is gone.
  virtual void gate_changed(bool is_gone) = 0;
};

/// A waiter for a permit in the queue at the gate. The library does not learn that it has that
/// lock: the attempt for the permit goes on.
class GateCourse final : public QueueCourse {
 public:
  GateCourse(GateUser& user, std::weak_ptr<CourseState> weak)
      : QueueCourse(
            NewAttempt{user.parts(), user.session(), user.claim().at_gate(user.parts().settings)}),
        user_(std::move(weak)) {}

  /// Its attempt does not wait here any more.
  void leave() {
    if (phase() == Phase::over || (is_held() && base::mutant("zookeeper.gate_stays_shut"))) return;
    set_phase(Phase::leaving);
    const bool is_nowhere = !node().is_there() && !node().is_unsure() && !is_asking();
    is_nowhere ? gone(Released::was_lost) : drive();
  }
  /// It lets go, and its attempt gets no news of it.
  void leave_alone() {
    is_alone_ = true;
    leave();
  }
  void ended(const Failure& why, bool at_server, bool final) override {
    if (is_held()) set_phase(Phase::wanted);
    QueueCourse::ended(why, at_server, final);
  }
  void lose_node() override {
    if (is_leaving() || base::mutant("zookeeper.own_deletion_ignored")) return;
    set_phase(Phase::wanted);
    forget_node();
    drive();
  }
  void fail(Failure why) override {
    if (const std::shared_ptr<GateUser> its = user()) return its->fail(std::move(why));
    QueueCourse::fail(std::move(why));
  }
  void gone(Released outcome) override {
    const std::shared_ptr<GateUser> its = user();
    QueueCourse::gone(outcome);
    if (its && phase() == Phase::over) its->gate_changed(true);
  }

 protected:
  void take() override {
    const std::shared_ptr<GateUser> its = user();
    node().make(its ? its->operation().get() : nullptr);
  }
  void believe() override {
    const std::shared_ptr<GateUser> its = user();
    if (!its) return leave();
    set_watching(false);
    set_phase(Phase::held);
    its->gate_changed(false);
  }
  // Its caller learns that it waits, as by a queue of its own.
  void report_queued(const Reply& reply) override {
    QueueCourse::report_queued(reply);
    const std::shared_ptr<GateUser> its = user();
    if (its && its->operation()) its->operation()->queued(its->operation()->holder());
  }

 private:
  /// @return the attempt that waits here; null = it has left.
  [[nodiscard]] std::shared_ptr<GateUser> user() const {
    return is_alone_ ? nullptr : std::static_pointer_cast<GateUser>(user_.lock());
  }

  const std::weak_ptr<CourseState> user_;
  bool is_alone_ = false;
};

class PermitCourse final : public GateUser {
 public:
  using GateUser::GateUser;

  void ask_again() override {
    if (has_to_wait()) return;
    if (gate_ && !has_gate()) return std::shared_ptr<GateCourse>(gate_)->ask_again();
    if (!is_watching()) return drive();
    if (!base::mutant("zookeeper.waiter_never_looks")) look();
  }
  void fail(Failure why) override {
    if (is_held()) return;
    drop_gate();
    Course::fail(std::move(why));
  }
  void gone(Released outcome) override {
    if (phase() == Phase::withdrawn || !gate_ || !session().up()) return Course::gone(outcome);
    // The client that asks next must not find it waiting.
    forget_node();
    cancelled();
  }
  // The client that has the gate is notified of each permit that becomes free.
  void look() override {
    const bool watches = has_gate();
    if (!watches) look_at_gate();
    list(watches);
  }
  void let_go() override {
    if (!is_watching()) return;
    set_watching(false);
    session().watches().remove(claim().queue, *this);
  }
  void granted() override {
    Course::granted();
    drop_gate();
  }
  void gate_changed(bool is_gone) override {
    if (is_gone) gate_.reset();
    drive();
  }

 protected:
  void take() override {
    if (has_gate()) return node().make(operation().get());
    if (gate_) return come_to_gate();
    const bool is_full = parts().seen->is_held(claim().queue, false, parts().now());
    if (is_full && claim().wait) come_to_gate();
    // Even a waiter looks: it may have come with another number of permits.
    if (is_full && !has_peeked()) return;
    if (!gate_) node().make(operation().get());
  }
  void peeked(const Children& children) override {
    const LeasePlace place = LeasePlace::of(children, {}, claim().permits);
    if (place.other_number) return fail_by_number(*place.other_number);
    claim().wait || place.count < claim().permits ? drive() : leave_without_permit(place);
  }
  void place(const Children& children) override {
    const LeasePlace place = LeasePlace::of(children, node().name(), claim().permits);
    if (!place.there) {
      forget_node();
      return drive();
    }
    if (place.other_number) return fail_by_number(*place.other_number);
    const bool drains = place.number >= last_sequence;
    node().set_last_of_counter(drains);
    if (drains && place.count > 1) return withdraw();
    const bool is_admitted = gate_ ? gate_->is_held() : !is_gate_wanted_;
    const std::size_t more = base::mutant("zookeeper.one_permit_too_many") ? 1 : 0;
    if (place.ahead < claim().permits + more && is_admitted) {
      let_go();
      return hold().prove(node().number());
    }
    if (!claim().wait) return leave_without_permit(place);
    remember(place);
    if (operation()) operation()->queued(operation()->holder());
    if (!has_gate()) {
      // Its place in the list is of no use: waiters stand at the gate.
      set_phase(Phase::withdrawn);
      come_to_gate();
    } else if (!is_watching()) {
      set_watching(true);
      session().watches().add(claim().queue, shared_from_this());
    }
    drive();
  }
  // A permit has become free, or a node has gone that had none.
  void changed(std::string_view path, bool /*gone*/) override {
    if (path != claim().queue) return;
    set_watching(false);
    if (!is_held() && !is_leaving() && node().is_there()) look_soon();
  }
  void cancelled() override {
    if (gate_) std::shared_ptr<GateCourse>(gate_)->leave();
  }
  void erase() override {
    drop_gate();
    Course::erase();
  }

 private:
  [[nodiscard]] bool has_gate() const noexcept { return gate_ && gate_->is_held(); }
  void come_to_gate() {
    if (!gate_) {
      const auto gate = std::make_shared<GateCourse>(*this, weak_from_this());
      parts().attempts->add(gate);
      gate_ = gate;
    }
    std::shared_ptr<GateCourse>(gate_)->drive();  // which may drop it
  }
  void drop_gate() {
    if (const auto gate = std::exchange(gate_, nullptr)) gate->leave_alone();
  }
  // With each list of permits, unless it has the gate. The request comes behind its own node. So a
  // client that was given a permit before that, and left the gate with it, is not taken for a
  // waiter.
  void look_at_gate() {
    is_gate_wanted_ = true;
    const auto listed = [this](const Reply& reply) {
      is_gate_wanted_ =
          reply.code == Code::ok ? !reply.children->empty() : reply.code != Code::no_node;
      drive();
    };
    const std::string gate = GatePlace::of(parts().settings.root, claim().name).locks;
    ask({Ask::list, gate}, listed);
  }
  void fail_by_number(std::uint32_t number) {
    fail({Errc::misconfigured, claim().name + ": the store has " + std::to_string(number) +
                                   " permits, but this client asks for " +
                                   std::to_string(claim().permits) +
                                   "; use one number in all clients"});
  }
  void remember(const LeasePlace& place) {
    parts().seen->add_held(claim().queue, Place{.count = place.count, .holders = place.count},
                           parts().now());
  }
  void leave_without_permit(const LeasePlace& place) {
    remember(place);
    const bool is_empty = place.first.empty();
    leave_busy(is_empty ? holder().head() : path_below(claim().queue, place.first), 0);
  }

  std::shared_ptr<GateCourse> gate_{};  // null: it has not come to it
  bool is_gate_wanted_ = false;         // other clients stand there, as far as is known
};

}  // namespace

std::shared_ptr<Course> permit_course(NewAttempt its) {
  return std::make_shared<PermitCourse>(std::move(its));
}

}  // namespace mortise::zookeeper
