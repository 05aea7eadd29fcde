// SPDX-License-Identifier: MIT
// The way of an attempt through its queue: make a node, look where it stands, wait behind the one
// before it, have the lock; and back.
#include "base/mutant.hpp"
#include "core/figures.hpp"
#include "zookeeper/lock_path.hpp"
#include "zookeeper/zookeeper_backend.hpp"

#include <algorithm>
#include <utility>

namespace mortise::zookeeper {
namespace {

/// A try looks first where the queue was seen held so lately.
constexpr std::chrono::seconds memory_of_holders{2};
constexpr std::size_t most_remembered = 4'096;
/// A queue was there so lately that it cannot have been removed for its emptiness, as a rule.
constexpr std::chrono::seconds memory_of_queues{30};
/// Between two looks at a queue that has to drain.
constexpr std::chrono::milliseconds draining_pause{100};

}  // namespace

void ZooKeeperBackend::set(Contender& contender, bool Contender::*flag, bool value) noexcept {
  if (std::exchange(contender.*flag, value) == value) return;
  const std::size_t step = value ? 1U : std::size_t(-1);
  Session& session = *contender.session;
  if (flag == &Contender::held) {
    session.holding += step;
  } else {
    session.awaiting += step;
  }
}

bool ZooKeeperBackend::seen_held(const Contender& contender, Instant now) const {
  const auto found = held_.find(contender.path);
  if (found == held_.end()) return false;
  const SeenHeld& seen = found->second;
  return now - (contender.mode == Mode::shared ? seen.alone : seen.at_all) < memory_of_holders;
}

void ZooKeeperBackend::remember_holder(const std::string& path, const Place& place) {
  if (held_.size() >= most_remembered) held_.clear();
  SeenHeld& seen = held_[path];
  seen.at_all = clock_->now();
  // Behind whoever waits alone readers wait, too.
  if (!place.head_is_shared || place.waiters() > 0) seen.alone = seen.at_all;
}

// What comes next for an attempt that awaits no answer.
void ZooKeeperBackend::drive(const ContenderPtr& contender) {
  if (contender->erased || contender->stands || !contender->session->up()) return;
  const bool goes = contender->leaving || contender->withdrawn;
  if (goes && !contender->node.empty()) return remove(contender);
  if (contender->flight > 0) return;
  if (contender->unsure) {
    // The one that we were connected to may have done what this one has not heard of.
    if (contender->session->list_in_sync(contender->path,
                                         {.step = Step::settle, .contender = contender})) {
      ++contender->flight;
    }
    return;
  }
  if (contender->node.empty()) {
    if (contender->leaving) return gone(contender, Released::was_lost);
    return take(contender);
  }
  if (contender->held || contender->watching || clock_->now() < contender->again) return;
  look_at_queue(contender, Step::look);
}

// Of a key what is kept comes first: whoever runs it by that is in the list behind it.
void ZooKeeperBackend::look_at_queue(const ContenderPtr& contender, Step step) {
  if (contender->key) {
    look_at_shelf(contender);
    if (contender->session->get(contender->key->place.kept, false,
                                {.step = Step::kept, .contender = contender})) {
      ++contender->flight;
    }
  }
  // Who is to have the next permit is told of each that comes free.
  const bool watch = contender->gate && contender->gate->held;
  if (contender->mode == Mode::permit && !watch) look_at_gate(contender);
  ask_for_name(contender);
  if (contender->session->list(contender->path, {.step = step, .contender = contender}, watch)) {
    ++contender->flight;
  }
}

void ZooKeeperBackend::take(const ContenderPtr& contender) {
  Session& session = *contender->session;
  const Instant now = clock_->now();
  if (now < contender->again) return;
  if (std::optional<Failure> why = too_short(contender->lease, session)) {
    return fail(contender, *std::move(why));
  }
  if (contender->key) return take_key(contender);
  if (contender->mode == Mode::permit) return take_permit(contender);
  if (const ContenderPtr owner = owner_of(*contender)) return go_on_as_reader(contender, *owner);
  if (!contender->wait && !contender->peeked && seen_held(*contender, now)) {
    ask_for_name(contender);
    // Whoever has been told that the lock is free is not to find it held.
    if (session.list_in_sync(contender->path, {.step = Step::peek, .contender = contender})) {
      ++contender->flight;
    }
    return;
  }
  make_own_node(contender);
}

void ZooKeeperBackend::make_own_node(const ContenderPtr& contender) {
  Session& session = *contender->session;
  const Instant now = clock_->now();
  const ContenderPtr asked = contender->is_gate ? contender->opens_for.lock() : contender;
  if (asked && asked->operation) asked->operation->sent(now);
  make_parents(contender, now);
  if (!session.create(contender->prefix, contender->label,
                      {.step = Step::create, .contender = contender})) {
    return;
  }
  contender->unsure = true;
  ++contender->flight;
  // The server answers a session in order, so the list holds the node.
  look_at_queue(contender, Step::queue);
}

// Containers: the server removes them when they have been empty for a while. Where it is not known
// that there is one, it is made in the same flight as the node: that costs the server a write, and
// nobody a round trip.
void ZooKeeperBackend::make_parents(const ContenderPtr& contender, Instant now) {
  contender->parent_failure = Failure{};
  const bool all = std::exchange(contender->parents_missing, false) || queues_.empty();
  make_levels(contender, contender->path, true, all, now);
  // A shelf that were removed and made anew would count its removals anew.
  if (contender->key) make_levels(contender, contender->key->place.shelf, false, all, now);
}

void ZooKeeperBackend::make_levels(const ContenderPtr& contender, const std::string& path,
                                   bool while_needed, bool all, Instant now) {
  const auto known = queues_.find(path);
  const bool stays = !while_needed;
  if (!all && known != queues_.end() && (stays || now - known->second < memory_of_queues)) return;
  const std::vector<std::string> levels = levels_of(path);
  const std::string nothing;
  const std::size_t missing = contender->mode == Mode::permit || contender->is_gate ? 2 : 1;
  for (std::size_t i = all ? 0 : levels.size() - missing; i < levels.size(); ++i) {
    const std::string& data = levels[i] == contender->name_node ? contender->name : nothing;
    if (contender->session->create_parent(levels[i], while_needed, data,
                                          {.step = Step::parent, .contender = contender})) {
      ++contender->flight;
    }
  }
}

void ZooKeeperBackend::place(const ContenderPtr& contender, const Children& children) {
  if (contender->leaving || contender->withdrawn || contender->held) return drive(contender);
  remember_queue(contender->path);
  sweep(*contender->session, contender->path, children);
  if (contender->key) return place_key(contender, children);
  if (contender->mode == Mode::permit) return stand_for_permit(contender, children);
  stand(contender, children);
}

void ZooKeeperBackend::remember_queue(const std::string& path) {
  if (queues_.size() >= most_remembered) queues_.clear();
  queues_[path] = clock_->now();
}

void ZooKeeperBackend::stand(const ContenderPtr& contender, const Children& children) {
  const std::string_view own = std::string_view(contender->node).substr(contender->path.size() + 1);
  const Place place = Place::of(children, own, naming_of(*contender));
  const std::int64_t number = sequence_of(own).value_or(last_sequence);
  switch (place.kind) {
    case Place::Kind::missing:
      // A foreigner has deleted it. (With the session we would know.)
      forget_node(contender);
      return drive(contender);
    case Place::Kind::tied:
      fail(contender, {Errc::protocol,
                       contender->path + ": two nodes have one number, because the queue's counter "
                                         "has reached its end"});
      return;
    case Place::Kind::foreign:
      fail(contender,
           {Errc::protocol, contender->path + ": another library's lock on this path ignores this "
                                              "client's nodes; set interop in the URL"});
      return;
    case Place::Kind::first:
      contender->drains = number >= last_sequence;
      if (number >= stuck_sequence) return withdraw(contender);
      return contender->key ? key_in_turn(contender, place) : believe(contender);
    case Place::Kind::behind:
      if (contender->key) {
        if (!contender->wait) return leave_key_busy(contender);
        contender->drains = number >= last_sequence;
        return contender->drains ? withdraw(contender) : wait_behind(contender, place);
      }
      remember_holder(contender->path, place);
      if (!contender->wait) return leave_busy(contender, place);
      contender->drains = number >= last_sequence;
      if (contender->drains) return withdraw(contender);
      return wait_behind(contender, place);
  }
}

void ZooKeeperBackend::wait_behind(const ContenderPtr& contender, const Place& place) {
  const bool head = base::mutant("zookeeper.watch_head");
  std::string predecessor = contender->path + '/' + (head ? place.head : place.predecessor);
  contender->ahead = head ? 1 : place.ahead;
  contender->waiters = place.waiters();
  // Nobody comes in before us, but for an owner that goes on as a reader with its number. That is
  // told by a change of its node: see `watching()`.
  const auto before = Standing::of(place.predecessor);
  contender->event_grants = contender->mode == Mode::shared || (before && before->shared);
  std::string holder = contender->path + '/' + place.head;
  if (contender->key) {
    watch_kept(contender);  // which tells who it is
  } else if (holder != contender->head) {
    contender->head = std::move(holder);
    contender->head_told = false;
  }
  // It has waited for a second, or for more.
  if (contender->watching && predecessor == contender->predecessor) {
    return ask_for_holder(contender);
  }
  contender->predecessor = std::move(predecessor);
  set(*contender, &Contender::watching, false);
  if (!contender->session->get(contender->predecessor, true,
                               {.step = Step::watch, .contender = contender})) {
    return;
  }
  ++contender->flight;
  // Known to the session from now on: the event may come right behind the answer.
  contender->session->watch(contender->predecessor, contender);
}

// Who is next is told so with its watch. Of the others most are served before anybody wants to know
// it: the server is asked when one looks at the queue again, or leaves it.
void ZooKeeperBackend::ask_for_holder(const ContenderPtr& contender) {
  if (contender->head_told || contender->head.empty()) return;
  if (contender->session->get(contender->head, false,
                              {.step = Step::holder,
                               .contender = contender,
                               .path = contender->head,
                               .count = contender->waiters})) {
    ++contender->flight;
  }
}

void ZooKeeperBackend::leave_busy(const ContenderPtr& contender, const Place& place) {
  contender->leaving = true;
  contender->head = contender->path + '/' + place.head;
  contender->waiters = place.waiters() - (contender->node.empty() ? 0U : 1U);
  ask_for_holder(contender);
  drive(contender);
}

void ZooKeeperBackend::predecessor_gone(const ContenderPtr& contender) {
  set(*contender, &Contender::watching, false);
  if (contender->held || contender->leaving || contender->withdrawn || contender->erased) return;
  if (contender->node.empty() || !contender->session->up()) return;
  // Who was the only one ahead has left the lock to us.
  if (contender->key) {
    if (contender->flight == 0 && runner_has_gone(*contender)) return begin(contender);
  } else if ((contender->ahead <= 1 && contender->event_grants) ||
             base::mutant("zookeeper.event_is_grant")) {
    believe(contender);
    // Not before the grant, which would cost a round trip: only a stranger could have deleted our
    // node, and whoever holds the lock without one is to know it soon.
    if (contender->held) check_own(contender);
    return;
  }
  if (contender->flight > 0) {
    contender->hurry = true;
  } else {
    look_at_queue(contender, Step::look);
  }
}

void ZooKeeperBackend::check_own(const ContenderPtr& contender) {
  if (contender->session->exists(contender->node,
                                 {.step = Step::own_check, .contender = contender})) {
    ++contender->flight;
  }
}

// The event and the list are true, but say nothing of our own session, which may have ended since
// its last proof, where the process stood still for example. What proves it is a write that is
// committed: see life.hpp.
void ZooKeeperBackend::believe(const ContenderPtr& contender) {
  if (contender->is_gate) return gate_opens(contender);
  Session& session = *contender->session;
  if (session.is_proven(clock_->now())) return grant(contender);
  if (session.refused_write(
          contender->node,
          {.step = Step::confirm, .contender = contender, .path = contender->node})) {
    ++contender->flight;
  }
}

void ZooKeeperBackend::grant(const ContenderPtr& contender) {
  Session& session = *contender->session;
  if (base::mutant("zookeeper.sequence_is_token")) {
    contender->number = 1 + sequence_of(contender->node).value_or(0);
  }
  const auto number = static_cast<std::uint64_t>(contender->number);
  if (contender->number <= 0 || number >= core::grant_number_limit) {
    fail(contender,
         {Errc::protocol, where_ + ": transaction number " + std::to_string(contender->number) +
                              " is too large for a token (epoch above 2^21 - 1)"});
    return;
  }
  set(*contender, &Contender::watching, false);
  set(*contender, &Contender::held, true);
  watches_no_more(*contender);
  contender->counted = base::mutant("zookeeper.grant_from_now") ? clock_->now() : session.proven();
  contender->lapse = contender->counted + session.timeout();
  next_look_ = std::min(next_look_, contender->lapse);
  without_gate(contender);
  const Grant grant{.number = number,
                    .counted_from = contender->counted,
                    .lease = session.timeout(),
                    .fixed = true,
                    .run = contender->key ? contender->key->run : 0};
  then([operation = std::exchange(contender->operation, nullptr), grant] {
    operation->trouble(Failure{});
    operation->granted(grant);
  });
}

// The counter is near its end: the queue drains, its parent is removed, and the next one begins at
// zero.
void ZooKeeperBackend::withdraw(const ContenderPtr& contender) {
  contender->withdrawn = true;
  contender->again = clock_->now() + draining_pause;
  next_look_ = std::min(next_look_, contender->again);
  drive(contender);
}

void ZooKeeperBackend::remove(const ContenderPtr& contender) {
  if (contender->key && contender->key->conclusion) return conclude(contender);
  if (contender->removing) return;
  if (!contender->session->remove(contender->node,
                                  {.step = Step::remove, .contender = contender})) {
    return;
  }
  contender->removing = true;
  ++contender->flight;
  // A waiter that leaves before its turn is not to be woken by it.
  if (contender->watching) {
    set(*contender, &Contender::watching, false);
    if (contender->mode == Mode::permit) {
      contender->session->forget_watch(contender->path, *contender);
    } else {
      contender->session->unwatch(contender->predecessor, *contender);
    }
  }
  if (contender->key && std::exchange(contender->key->watching, false)) {
    contender->session->unwatch(contender->key->place.kept, *contender);
  }
  // Not empty where others are left, who will try, too.
  if (contender->drains) {
    static_cast<void>(contender->session->remove(contender->path, Call{}));
  }
}

}  // namespace mortise::zookeeper
