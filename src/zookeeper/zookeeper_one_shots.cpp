// SPDX-License-Identifier: MIT
// What is asked of the server once, for whoever asks: who holds a lock, whether there is a leader,
// and the end of others' holds.
#include "base/mutant.hpp"
#include "zookeeper/gathering.hpp"
#include "zookeeper/lock_path.hpp"
#include "zookeeper/zookeeper_backend.hpp"

#include <algorithm>
#include <utility>

namespace mortise::zookeeper {
namespace {

/// Those who are to end; where it is not said which one, all that have the lock.
void keep_those_meant(const ForcedRelease& asked, std::vector<Gathering::Part>& holders) {
  std::erase_if(holders, [&](const Gathering::Part& part) {
    return !part.there || !asked.means(part.holder.token);
  });
}

}  // namespace

void ZooKeeperBackend::replied_to_one_shot(Session& session, const Call& call, const Reply& reply) {
  if (!call.operation || call.operation->done()) return;
  if (call.gathering && call.gathering->over) return;
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
    // Of several looks the first one that fails asks for all of them.
    if (call.step == Step::force_head) call.gathering->over = true;
    outbox_.push_back(call);
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
    case Step::force_head:
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
  if (call.step == Step::force) return force(session, call, children);
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

// Who has it is looked at, all of them: readers are several. A certain hold may be a permit of the
// semaphore of that name, which is looked at behind the lock.
void ZooKeeperBackend::force(Session& session, const Call& call, const Children& children) {
  const bool lock = call.path == lock_path(settings_.root,
                                           static_cast<const Inspection&>(*call.operation).name());
  auto gathering = std::make_shared<Gathering>();
  for (const std::string_view node : lock ? holders_of(children) : permits_held(children)) {
    gathering->parts.push_back({.node = path_below(call.path, node)});
  }
  gathering->awaited = gathering->parts.size();
  if (gathering->awaited == 0) return force_no_more(call);
  const std::size_t waiters = Place::of(children, {}).waiters();
  for (std::size_t i = 0; i < gathering->parts.size(); ++i) {
    gathering->parts[i].holder.waiters = waiters;
    static_cast<void>(session.get(gathering->parts[i].node, false,
                                  {.step = Step::force_head,
                                   .operation = call.operation,
                                   .path = call.path,
                                   .count = i,
                                   .gathering = gathering}));
  }
}

void ZooKeeperBackend::force_no_more(const Call& call) {
  const auto asked = std::static_pointer_cast<ForcedRelease>(call.operation);
  std::string leases = GatePlace::of(settings_.root, asked->name()).leases;
  if (asked->of() && call.path != leases) {
    return submit_by_name({.step = Step::force, .operation = asked, .path = std::move(leases)});
  }
  then([asked] { asked->answered(std::nullopt); });
}

void ZooKeeperBackend::forced(const Call& call, const Reply& reply) {
  const auto asked = std::static_pointer_cast<ForcedRelease>(call.operation);
  Gathering& gathering = *call.gathering;
  std::vector<Gathering::Part>& holders = gathering.parts;
  if (call.step == Step::force_head && reply.code == Code::ok) {
    Gathering::Part& part = holders[call.count];
    part.there = true;
    part.holder = holder_of(reply, part.node, part.holder.waiters.value_or(0));
  }
  if (--gathering.awaited > 0) return;
  if (call.step == Step::force_remove) {
    // By this copy, by one before it, or by its owner: it is gone.
    then([asked, ended = holders.front().holder] { asked->answered(ended); });
    return;
  }
  const bool gone = std::none_of(holders.begin(), holders.end(),
                                 [](const Gathering::Part& part) { return part.there; });
  if (gone) return submit(Step::force, asked);  // the next one has it by now
  keep_those_meant(*asked, holders);
  if (base::mutant("zookeeper.force_ends_one_reader") && holders.size() > 1) holders.resize(1);
  if (holders.empty()) return force_no_more(call);
  gathering.awaited = holders.size();
  for (std::size_t i = 0; i < holders.size(); ++i) {
    submit({.step = Step::force_remove,
            .operation = asked,
            .path = holders[i].node,
            .count = i,
            .gathering = call.gathering});
  }
}

}  // namespace mortise::zookeeper
