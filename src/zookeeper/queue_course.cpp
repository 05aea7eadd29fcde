// SPDX-License-Identifier: MIT
#include "zookeeper/queue_course.hpp"

#include "base/mutant.hpp"
#include "zookeeper/attempts.hpp"
#include "zookeeper/late_nodes.hpp"
#include "zookeeper/parts.hpp"
#include "zookeeper/seen_queues.hpp"

#include <utility>

namespace mortise::zookeeper {
namespace {

/// A longer queue is not listed each second.
constexpr std::size_t short_queue = 16;

}  // namespace

void QueueCourse::ask_again() {
  if (has_to_wait()) return;
  if (!is_watching()) return drive();
  if (base::mutant("zookeeper.waiter_never_looks")) return;
  // The event that reports the predecessor's end may be lost, nodes ahead may have gone, and
  // another program may have deleted its own node. One request, which is a sign of life as well.
  if (ahead_ <= short_queue) return look();
  holder().ask();
  if (std::exchange(own_is_next_, !own_is_next_)) return check_own();
  const auto looked = [this](const Reply& reply) {
    if (reply.code == Code::no_node && is_watching()) predecessor_gone();
    drive();
  };
  ask({Ask::exists, predecessor_}, looked);
}

// While there is no connection, the server reports only the last event of a node: that an owner has
// gone, but not that it continues as a reader.
void QueueCourse::disconnected() {
  event_grants_ = false;
  Course::disconnected();
}

void QueueCourse::forget_node() {
  Course::forget_node();
  event_grants_ = false;
  predecessor_.clear();
  ahead_ = 0;
}

void QueueCourse::let_go() {
  // A waiter that leaves before its turn must not be woken by it.
  if (!is_watching()) return;
  set_watching(false);
  session().unwatch(predecessor_, *this);
}

void QueueCourse::take() {
  const bool is_held =
      parts().seen->is_held(claim().queue, claim().mode == Mode::shared, parts().now());
  if (!claim().wait && is_held && !has_peeked()) return;
  node().make(operation().get());
}

void QueueCourse::peeked(const Children& children) {
  const Place place = Place::of(children, {});
  const bool may_join =
      claim().mode == Mode::shared && place.head_is_shared && place.holders == place.count;
  if (place.count == 0 || may_join) return drive();
  parts().seen->add_held(claim().queue, place, parts().now());
  leave_busy(path_below(claim().queue, place.head), place.waiters());
}

void QueueCourse::stand(const Children& children) {
  const Place place = Place::of(children, node().name(), claim().naming);
  const std::int64_t number = sequence_of(node().name()).value_or(last_sequence);
  node().set_last_of_counter(number >= last_sequence);
  switch (place.kind) {
    case Place::Kind::missing:
      // Another program has deleted it. (The end of its session would be known.)
      forget_node();
      return drive();
    case Place::Kind::tied:
      return fail({Errc::protocol,
                   claim().queue + ": two nodes have one number, because the queue's counter has "
                                   "reached its end"});
    case Place::Kind::foreign:
      return fail({Errc::protocol,
                   claim().queue + ": another library's lock on this path ignores this client's "
                                   "nodes; set interop in the URL"});
    case Place::Kind::first: return number >= stuck_sequence ? withdraw() : first_in_line(place);
    case Place::Kind::behind:
      if (!stays_behind(place)) return;
      return number >= last_sequence ? withdraw() : wait_behind(place);
  }
}

bool QueueCourse::stays_behind(const Place& place) {
  parts().seen->add_held(claim().queue, place, parts().now());
  const std::string head = path_below(claim().queue, place.head);
  if (!claim().wait) {
    leave_busy(head, place.waiters() - 1);
    return false;
  }
  holder().set(head, place.waiters());
  return true;
}

void QueueCourse::wait_behind(const Place& place) {
  const bool watches_head = base::mutant("zookeeper.watch_head");
  std::string predecessor =
      path_below(claim().queue, watches_head ? place.head : place.predecessor);
  ahead_ = watches_head ? 1 : place.ahead;
  // No node comes in before its own, except that of an owner that continues as a reader with its
  // number. A change of the owner's node reports that: see `watching()`.
  const auto before = Standing::of(place.predecessor);
  event_grants_ = claim().mode == Mode::shared || (before && before->shared);
  // It has waited for a second, or for more.
  if (is_watching() && predecessor == predecessor_) return holder().ask();
  predecessor_ = std::move(predecessor);
  set_watching(false);
  const auto looked = [this, node = predecessor_](const Reply& reply) { watching(node, reply); };
  if (!ask({Ask::get_and_watch, predecessor_}, looked)) return;
  // The session knows it from now on: the last other watcher that leaves must not end the watch.
  session().watches().add(predecessor_, shared_from_this());
}

void QueueCourse::watching(const std::string& node, const Reply& reply) {
  // An earlier attempt that has left may have had a watch of the same node. Its event came before
  // this reply, and did not end the watch of this request.
  if (reply.code == Code::ok) {
    session().watches().add(node, shared_from_this());
  } else {
    session().watches().remove(node, *this);
  }
  if (is_leaving() || node != predecessor_) {
    if (reply.code == Code::ok) session().unwatch(node, *this);
    return drive();
  }
  if (reply.code == Code::no_node) return predecessor_gone();
  if (reply.code == Code::denied) return fail(parts().failure_of(reply, predecessor_));
  if (reply.code != Code::ok) return;
  // Its session's, and of no attempt: one that stands behind it would wait for itself.
  const bool is_orphan = reply.owner == session().id() && !parts().attempts->is_known(predecessor_);
  if (is_orphan && !base::mutant("zookeeper.late_create_forgotten") &&
      !base::mutant("zookeeper.lost_create_forgotten")) {
    parts().late->remove(session(), predecessor_, predecessor_);
  }
  // The node is as it was made, and a change is reported before its end from now on. An owner by
  // Curator's read and write locks changes nothing when it continues as a reader.
  const auto before = Standing::of(predecessor_);
  const bool reports = before && (before->ours || before->naming != Naming::read_write);
  if (reports && reply.version == 0) event_grants_ = true;
  set_watching(true);
  report_queued(reply);
  drive();
}

void QueueCourse::report_queued(const Reply& reply) {
  const bool is_holder = predecessor_ == holder().head();
  if (is_holder) holder().set_told();
  if (!operation()) return;
  operation()->queued(is_holder ? std::optional(holder_of(reply, predecessor_, holder().waiters()))
                                : operation()->holder());
}

void QueueCourse::changed(std::string_view path, bool gone) {
  if (path != predecessor_) return;
  if (gone) return predecessor_gone();
  set_watching(false);
  drive();
}

void QueueCourse::predecessor_gone() {
  set_watching(false);
  if (phase() == Phase::wanted && node().is_there() && session().up()) next_in_line();
}

void QueueCourse::next_in_line() {
  if ((!is_next() || !event_grants_) && !base::mutant("zookeeper.event_is_grant")) {
    return look_soon();
  }
  believe();
  // Not before the grant, because it would cost a round trip. Only another program can have deleted
  // its node, and a holder without a node has to learn that soon.
  if (is_held()) check_own();
}

void QueueCourse::check_own() {
  const auto looked = [this](const Reply& reply) {
    reply.code == Code::no_node ? lose_node() : drive();
  };
  ask({Ask::exists, node().path()}, looked);
}

std::shared_ptr<Course> queue_course(NewAttempt its) {
  return std::make_shared<QueueCourse>(std::move(its));
}

}  // namespace mortise::zookeeper
