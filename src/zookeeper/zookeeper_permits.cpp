// SPDX-License-Identifier: MIT
// The way to a permit. Whoever comes makes its node, and has a permit if it is one of the first so
// many, and nobody waits: one round trip. Otherwise the node goes, since Curator's semaphore counts
// all that are there, and whoever waits takes the semaphore's lock first, a queue as any other: its
// own contender, the *gate*. Who has that makes its node and waits for it to be one of the first.
#include "base/mutant.hpp"
#include "zookeeper/lease_place.hpp"
#include "zookeeper/zookeeper_backend.hpp"

#include <utility>

namespace mortise::zookeeper {
namespace {

/// No attempt of the library has one of these.
constexpr std::uint64_t of_a_gate = std::uint64_t{1} << 63U;

}  // namespace

// Its node is not there, nor asked for.
void ZooKeeperBackend::take_permit(const ContenderPtr& contender) {
  Session& session = *contender->session;
  if (contender->gate) {
    if (contender->gate->held) return make_own_node(contender);
    return drive(contender->gate);
  }
  const bool others = seen_held(*contender, clock_->now());
  if (others && contender->wait) come_to_gate(contender);
  // Also by who waits: it may have come with another number.
  if (others && !contender->peeked) {
    ask_for_name(contender);
    if (session.list_in_sync(contender->path, {.step = Step::peek, .contender = contender})) {
      ++contender->flight;
    }
    return;
  }
  if (!contender->gate) make_own_node(contender);
}

// With each list of permits, but of whoever has the gate. Behind the own node, so that whoever was
// given a permit before that was asked for, and left the gate with it, is not taken for a waiter.
void ZooKeeperBackend::look_at_gate(const ContenderPtr& contender) {
  contender->gate_is_wanted = true;
  if (contender->session->list(GatePlace::of(settings_.root, contender->name).locks,
                               {.step = Step::gate, .contender = contender})) {
    ++contender->flight;
  }
}

void ZooKeeperBackend::peeked_at_permits(const ContenderPtr& contender, const Children& children) {
  const LeasePlace place = LeasePlace::of(children, {}, contender->permits);
  if (contender->leaving) return drive(contender);
  if (place.other_number) return fail_by_number(contender, *place.other_number);
  if (contender->wait || place.count < contender->permits) return drive(contender);
  leave_without_permit(contender, place);
}

void ZooKeeperBackend::come_to_gate(const ContenderPtr& contender) {
  if (contender->gate) return drive(contender->gate);
  auto gate = std::make_shared<Contender>();
  gate->attempt = contender->attempt;
  gate->attempt.sequence |= of_a_gate;
  gate->name = contender->name;
  gate->path = GatePlace::of(settings_.root, contender->name).locks;
  gate->name_node = contender->name_node;
  gate->prefix = prefix_of(*gate);
  gate->label = contender->label;
  gate->lease = contender->lease;
  gate->wait = true;
  gate->session = contender->session;
  gate->opens_for = contender;
  gate->is_gate = true;
  contenders_.emplace(gate->attempt, gate);
  contender->gate = gate;
  drive(gate);
}

void ZooKeeperBackend::fail_by_number(const ContenderPtr& contender, std::uint32_t number) {
  fail(contender, {Errc::misconfigured,
                   contender->name + ": the store has " + std::to_string(number) +
                       " permits, but this client asks for " + std::to_string(contender->permits) +
                       "; use one number in all clients"});
}

// Nobody is told that the semaphore's lock is held: whoever wanted it for a permit goes on.
void ZooKeeperBackend::gate_opens(const ContenderPtr& gate) {
  const ContenderPtr contender = gate->opens_for.lock();
  if (!contender || contender->gate != gate) return leave_gate(gate);
  set(*gate, &Contender::watching, false);
  set(*gate, &Contender::held, true);
  drive(contender);
}

void ZooKeeperBackend::leave_gate(const ContenderPtr& gate) {
  if (base::mutant("zookeeper.gate_stays_shut") && gate->held) return;
  set(*gate, &Contender::held, false);
  gate->leaving = true;
  gate->withdrawn = false;
  if (gate->node.empty() && !gate->unsure && gate->flight == 0) {
    gone(gate, Released::was_lost);
  } else {
    drive(gate);
  }
}

void ZooKeeperBackend::without_gate(const ContenderPtr& contender) {
  if (const ContenderPtr gate = std::exchange(contender->gate, nullptr)) leave_gate(gate);
}

// Whoever waits for it is told so, as by its own queue.
void ZooKeeperBackend::waits_at_gate(const Contender& gate) {
  const ContenderPtr contender = gate.opens_for.lock();
  if (contender && contender->operation) {
    contender->operation->queued(contender->operation->holder());
  }
}

void ZooKeeperBackend::stand_for_permit(const ContenderPtr& contender, const Children& children) {
  const std::string_view own = std::string_view(contender->node).substr(contender->path.size() + 1);
  const LeasePlace place = LeasePlace::of(children, own, contender->permits);
  if (!place.there) {
    forget_node(contender);
    return drive(contender);
  }
  if (place.other_number) return fail_by_number(contender, *place.other_number);
  contender->drains = place.number >= last_sequence;
  if (contender->drains && place.count > 1) return withdraw(contender);
  const bool admitted = contender->gate ? contender->gate->held : !contender->gate_is_wanted;
  const std::size_t more = base::mutant("zookeeper.one_permit_too_many") ? 1 : 0;
  if (place.ahead < contender->permits + more && admitted) {
    if (contender->watching) {
      set(*contender, &Contender::watching, false);
      contender->session->forget_watch(contender->path, *contender);
    }
    return believe(contender);
  }
  remember_holder(contender->path, Place{.count = place.count, .holders = place.count});
  if (!contender->wait) return leave_without_permit(contender, place);
  if (contender->operation) contender->operation->queued(contender->operation->holder());
  if (!contender->gate || !contender->gate->held) {
    // No place in any queue is lost with this one, since whoever waits stands at the gate.
    contender->withdrawn = true;
    come_to_gate(contender);
    return drive(contender);
  }
  if (!contender->watching) {
    set(*contender, &Contender::watching, true);
    contender->session->watch(contender->path, contender);
  }
  drive(contender);
}

void ZooKeeperBackend::leave_without_permit(const ContenderPtr& contender,
                                            const LeasePlace& place) {
  remember_holder(contender->path, Place{.count = place.count, .holders = place.count});
  contender->leaving = true;
  if (!place.first.empty()) contender->head = contender->path + '/' + place.first;
  contender->waiters = 0;
  ask_for_holder(contender);
  drive(contender);
}

// One has come free, or has gone before it was one.
void ZooKeeperBackend::permits_changed(const ContenderPtr& contender) {
  set(*contender, &Contender::watching, false);
  if (contender->held || contender->leaving || contender->withdrawn || contender->node.empty()) {
    return;
  }
  if (contender->flight > 0) {
    contender->hurry = true;
  } else {
    look_at_queue(contender, Step::look);
  }
}

}  // namespace mortise::zookeeper
