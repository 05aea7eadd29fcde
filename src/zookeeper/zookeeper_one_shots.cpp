// SPDX-License-Identifier: MIT
// What is asked of the server once, for whoever asks: who holds a lock, whether there is a leader,
// and the end of another client's hold.
#include "zookeeper/lock_path.hpp"
#include "zookeeper/zookeeper_backend.hpp"

#include <algorithm>
#include <utility>

namespace mortise::zookeeper {

void ZooKeeperBackend::replied_to_one_shot(Session& session, const Call& call, const Reply& reply) {
  if (!call.operation || call.operation->done()) return;
  const auto operation = call.operation;
  // What came before it has answered, or is asked for again; so is what comes behind it.
  if (call.step == Step::look_up_queue && !call.memo->pending()) return;
  if (call.step == Step::look_up_shelf) {
    call.memo->removals = reply.version;
    return;
  }
  if (call.step == Step::check_parent) return checked_parent(session, call, reply);
  const bool again =
      reply.code == Code::unknown || reply.code == Code::ended || reply.code == Code::not_done;
  if (again) {
    if (call.step == Step::check_list) return;  // with it what comes behind it
    outbox_.push_back(call);
    if (call.step == Step::force_remove) outbox_.back().unsure = true;
    return;
  }
  if (call.step == Step::look_up_gone && reply.code == Code::other_version) {
    return looked_up(session, call, reply);
  }
  if (call.step == Step::check) return checked(session, call, reply);
  if (reply.code != Code::ok && reply.code != Code::no_node) {
    then([operation, why = failure_of(reply, call.path)] { operation->failed(why); });
    return;
  }
  switch (call.step) {
    case Step::name: return compared(call, reply);
    case Step::look_up:
    case Step::look_up_queue:
    case Step::look_up_gone: return looked_up(session, call, reply);
    case Step::recognise: return recognised(call, reply);
    case Step::check_list: return;
    case Step::force_remove: return forced(call, reply);
    default: return looked_for_holders(session, call, reply);
  }
}

void ZooKeeperBackend::looked_for_holders(Session& session, const Call& call, const Reply& reply) {
  const auto inspection = std::static_pointer_cast<Inspection>(call.operation);
  if (call.step == Step::inspect_head) {
    // Where it has gone the next one is the head by now.
    if (reply.code == Code::no_node) return submit(Step::inspect, inspection);
    then([inspection, holder = holder_of(reply, call.path, call.count)] {
      inspection->answered(holder);
    });
    return;
  }
  const Children none;
  const Children& children = reply.code == Code::ok ? *reply.children : none;
  const Place place = Place::of(children, {});
  if (place.count == 0) {
    then([inspection] { inspection->answered(std::nullopt); });
    return;
  }
  const std::string head = path_below(call.path, place.head);
  static_cast<void>(session.get(head, false,
                                {.step = Step::inspect_head,
                                 .operation = inspection,
                                 .path = head,
                                 .count = place.waiters()}));
}

// A repeated removal finds no other hold: the node belongs to exactly this one.
void ZooKeeperBackend::forced(const Call& call, const Reply& reply) {
  const Released if_over = call.unsure ? Released::unknown : Released::was_lost;
  const Released outcome = reply.code == Code::ok ? Released::released : if_over;
  then([release = std::static_pointer_cast<Release>(call.operation), outcome] {
    release->answered(outcome);
  });
}

}  // namespace mortise::zookeeper
