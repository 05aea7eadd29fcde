// SPDX-License-Identifier: MIT
#include "zookeeper/course.hpp"

#include "base/mutant.hpp"
#include "zookeeper/attempts.hpp"
#include "zookeeper/late_nodes.hpp"
#include "zookeeper/parts.hpp"
#include "zookeeper/seen_queues.hpp"

#include <chrono>
#include <cstddef>
#include <optional>
#include <utility>

namespace mortise::zookeeper {

CourseState::CourseState(NewAttempt its)
    : parts_(its.parts),
      claim_(std::move(its.claim)),
      session_(its.session),
      operation_(std::move(its.operation)),
      releases_(its.parts),
      paths_(claim_.is_gate ? Paths() : claim_.paths(operation_ && operation_->request().beside)) {
  session_.load.paths.owned += paths_.owned;
  session_.load.paths.watched += paths_.watched;
}

void CourseState::set_phase(Phase phase) noexcept {
  if (phase_ == Phase::held) --session_.load.holding;
  phase_ = phase;
  if (phase_ == Phase::held) ++session_.load.holding;
}

void CourseState::set_watching(bool is_watching) noexcept {
  if (is_watching_ == is_watching) return;
  is_watching ? ++session_.load.awaiting : --session_.load.awaiting;
  is_watching_ = is_watching;
}

bool CourseState::has_to_wait() const {
  if (is_held() || phase_ >= Phase::leaving) return true;
  if (session_.up()) return is_asking();
  if (operation_ && session_.trouble()) operation_->trouble(session_.trouble());
  return true;
}

void CourseState::report(const Reply& reply) {
  const Failure why = parts_.failure_of(reply, claim_.queue);
  if (operation_) operation_->trouble(why);
  releases_.trouble(why);
}

void CourseState::pause(Instant until) {
  again_ = until;
  parts_.look_by(until);
}

void CourseState::look_soon() {
  if (is_asking()) {
    has_changed_ = true;
  } else {
    look();
  }
}

// The server reports nothing more of a request that it has refused, so the attempt asks again by
// time. Without a pause it would do so in each round trip.
void CourseState::look_later(Code code) {
  const Instant again = parts_.now() + pause_of_refused(session_);
  code == Code::not_done ? pause(std::max(again_, again)) : parts_.look_by(again);
}

void CourseState::answered() {
  if (phase_ == Phase::over || is_asking() || !std::exchange(has_changed_, false)) return;
  if (!is_held() && session_.up()) look();
}

void CourseState::give_watches_back() noexcept {
  session_.load.paths.watched -= std::exchange(paths_.watched, std::size_t{0});
}

void CourseState::give_paths_back() noexcept {
  give_watches_back();
  session_.load.paths.owned -= std::exchange(paths_.owned, std::size_t{0});
}

void HolderLook::set(std::string head, std::size_t waiters) {
  waiters_ = waiters;
  if (head == head_) return;
  head_ = std::move(head);
  is_told_ = false;
}

void HolderLook::clear() noexcept {
  head_.clear();
  waiters_ = 0;
  is_told_ = false;
}

void HolderLook::ask() {
  if (is_told_ || head_.empty()) return;
  course_.ask({Ask::get, head_}, [this, node = head_, waiters = waiters_](const Reply& reply) {
    told(node, waiters, reply);
  });
}

void HolderLook::told(const std::string& node, std::size_t waiters, const Reply& reply) {
  std::optional<Holder> holder;
  if (reply.code == Code::ok) holder = holder_of(reply, node, waiters);
  if (node == head_) {
    is_told_ = holder.has_value();
    if (reply.code == Code::no_node) head_.clear();  // not asked for before the next list
  }
  const bool waits = course_.phase() < Course::Phase::leaving || course_.claim().wait;
  if (course_.operation() && !waits) {
    course_.parts().then(
        [operation = course_.take_operation(), holder] { operation->busy(holder); });
  } else if (course_.operation() && holder) {
    course_.operation()->queued(holder);
  }
  course_.drive();
}

namespace {

/// Between two looks at a queue that has to drain.
constexpr std::chrono::milliseconds draining_pause{100};

}  // namespace

void Course::cancel() {
  // The library is about to get its grant, or its loss.
  if (is_held() || phase() == Phase::standing) return;
  // In the flight that removes its node.
  if (!is_leaving() || phase() == Phase::withdrawn) holder_.ask();
  set_phase(Phase::leaving);
  cancelled();
  if (phase() == Phase::over) return;
  const bool is_nowhere = !node_.is_there() && !node_.is_unsure() && !is_asking();
  const bool forgets = base::mutant("zookeeper.cancel_forgets_flight") && !node_.is_there();
  if (is_nowhere || forgets || base::mutant("zookeeper.cancel_leaves_node")) {
    return gone(Released::was_lost);
  }
  if (!session().up() && session().trouble() && operation()) {
    operation()->trouble(session().trouble());
  }
  drive();
}

void Course::release(const std::shared_ptr<Release>& release) {
  if (!releases().has(*release)) releases().add(release);
  set_phase(Phase::leaving);
  if (!session().up() && session().trouble()) release->trouble(session().trouble());
  drive();
}

void Course::disconnected() {
  if (operation()) operation()->trouble(session().trouble());
  releases().trouble(session().trouble());
}

void Course::ended(const Failure& why, bool /*at_server*/, bool final) {
  if (is_held()) {
    if (base::mutant("zookeeper.expiry_not_told")) return;
    hold_.lose(why.text);
    return erase();
  }
  if (phase() >= Phase::leaving) {
    return gone(node_.may_be_removed() ? Released::unknown : Released::was_lost);
  }
  // Its node is gone or goes: the attempt begins again in the next session, with another guid.
  forget_node();
  set_phase(Phase::wanted);
  if (final) return fail(why);
  if (operation()) operation()->trouble(session().trouble());
}

void Course::watched(std::string_view path, bool gone) {
  if (phase() == Phase::over) return;
  if (path != node_.path()) return changed(path, gone);
  hold_.forget_watch();
  if (gone) return lose_node();
  if (is_held()) hold_.watch(parts().attempts->watches_holds());
}

void Course::lose_node() {
  if (base::mutant("zookeeper.own_deletion_ignored")) return;
  if (is_held() && base::mutant("zookeeper.expiry_not_told")) return;
  if (is_leaving()) return;  // by its own request, whose answer follows
  if (is_held()) {
    hold_.lose("another program deleted its node");
    return erase();
  }
  forget_node();
  drive();
}

void Course::drive() {
  if (phase() >= Phase::standing || !session().up()) return;
  if (is_leaving() && node_.is_there()) return remove();
  if (is_asking()) return;
  if (node_.is_unsure()) return node_.settle();
  if (!node_.is_there()) {
    if (phase() == Phase::leaving) return gone(Released::was_lost);
    if (phase() == Phase::withdrawn) set_phase(Phase::wanted);
    if (parts().now() < again()) return;
    if (std::optional<Failure> why = parts().too_short(claim().lease, session())) {
      return fail(*std::move(why));
    }
    return take();
  }
  if (!is_held() && !is_watching() && parts().now() >= again()) look();
}

bool Course::has_peeked() {
  if (has_peeked_) return true;
  node_.ask_for_name();
  // A caller that knows that the name is free must not find it held.
  ask_in_sync({Ask::list, claim().queue}, [this](const Reply& reply) { listed(reply, true); });
  return false;
}

void Course::list(bool watch) {
  node_.ask_for_name();
  ask({watch ? Ask::list_and_watch : Ask::list, claim().queue},
      [this](const Reply& reply) { listed(reply, false); });
}

void Course::listed(const Reply& reply, bool is_peek) {
  if (!is_answer(reply.code)) return;  // again with the next connection, or after a while
  if (reply.code == Code::no_node) {
    has_peeked_ = true;
    if (is_held()) return lose_node();
    // Its node has gone with the queue.
    if (!is_peek && !node_.is_removing() && node_.is_there()) forget_node();
    return drive();
  }
  if (reply.code != Code::ok) return fail(parts().failure_of(reply, claim().queue));
  // The node that keeps the name was not read: again, as above.
  if (!node_.is_queue_of_name() && phase() < Phase::leaving) return;
  if (is_peek) {
    has_peeked_ = true;
    return phase() < Phase::leaving ? peeked(*reply.children) : drive();
  }
  if (!node_.is_there() || is_leaving() || is_held()) return drive();
  parts().seen->add(claim().queue, parts().now());
  parts().late->sweep(session(), claim().queue, *reply.children);
  place(*reply.children);
}

void Course::leave_busy(std::string head, std::size_t waiters) {
  set_phase(Phase::leaving);
  holder_.set(std::move(head), waiters);
  holder_.ask();
  drive();
}

void Course::withdraw() {
  pause(parts().now() + draining_pause);
  set_phase(Phase::withdrawn);
  drive();
}

void Course::fail(Failure why) {
  // A look that was under way when the event granted the lock: it ends no hold.
  if (is_held() && !claim().is_gate) return;
  if (const auto operation = take_operation()) parts().fail(operation, std::move(why));
  if (phase() == Phase::over) return;
  if (phase() < Phase::leaving) set_phase(Phase::leaving);
  !node_.is_there() && !node_.is_unsure() ? gone(Released::was_lost) : drive();
}

void Course::gone(Released outcome) {
  if (phase() == Phase::withdrawn) {
    forget_node();
    set_phase(Phase::wanted);
    return drive();
  }
  releases().answer(outcome);
  if (const auto operation = take_operation()) {
    parts().then([operation] { operation->busy(operation->holder()); });
  }
  erase();
}

void Course::forget_node() {
  set_watching(false);
  hold_.forget_watch();
  node_.forget();
  holder_.clear();
}

void Course::erase() {
  set_watching(false);
  hold_.forget_watch();
  set_phase(Phase::over);
  give_paths_back();
  parts().attempts->erase(claim().attempt);
}

}  // namespace mortise::zookeeper
