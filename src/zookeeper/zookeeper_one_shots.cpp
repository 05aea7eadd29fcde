// SPDX-License-Identifier: MIT
// What is asked of the server once, for whoever asks: who holds a lock, whether there is a leader,
// and the end of others' holds.
#include "base/mutant.hpp"
#include "core/figures.hpp"
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
    // With them what comes behind them.
    if (call.step == Step::check_list || call.step == Step::force_kept) return;
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
    case Step::force_kept: return learn_for_force(call, reply);
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

bool ZooKeeperBackend::send_force(Session& session, const Call& call) {
  const auto& asked = static_cast<const ForcedRelease&>(*call.operation);
  if (asked.mode() != Mode::once) return session.list_in_sync(call.path, call);
  // In front of the list, so that who runs it by what is kept is in the list, if it still does.
  Call list = call;
  list.memo = std::make_shared<Memo>();
  Call kept = list;
  kept.step = Step::force_kept;
  kept.path = KeyPlace::of(settings_.root, asked.name()).kept;
  return session.get_in_sync(kept.path, kept) && session.list(call.path, list);
}

void ZooKeeperBackend::learn_for_force(const Call& call, const Reply& reply) {
  if (reply.code != Code::ok) return;  // nothing is kept: nobody runs it
  const auto asked = std::static_pointer_cast<ForcedRelease>(call.operation);
  std::optional<Memo> read = Memo::read(reply);
  if (read && read->is_of(asked->name())) {
    *call.memo = *std::move(read);
  } else {
    then([asked, why = not_of_that_key(call.path, read.has_value())] { asked->failed(why); });
  }
}

// Who has it is looked at, all of them: readers are several, and so are those who have permits.
void ZooKeeperBackend::force(Session& session, const Call& call, const Children& children) {
  const auto asked = std::static_pointer_cast<ForcedRelease>(call.operation);
  if (asked->mode() == Mode::once) return force_runner(call, children);
  auto gathering = std::make_shared<Gathering>();
  const bool permits = asked->mode() == Mode::permit;
  for (const std::string_view node : permits ? permits_held(children) : holders_of(children)) {
    gathering->parts.push_back({.node = path_below(call.path, node)});
  }
  gathering->awaited = gathering->parts.size();
  if (gathering->awaited == 0) return then([asked] { asked->answered(std::nullopt); });
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

// Whoever runs it is known by what is kept. With its node it cannot write an outcome any more, and
// what is kept says "pending", as after its death.
void ZooKeeperBackend::force_runner(const Call& call, const Children& children) {
  const auto asked = std::static_pointer_cast<ForcedRelease>(call.operation);
  const Kept& kept = call.memo->kept;
  const std::string mark = KeyPlace::of(settings_.root, asked->name()).mark;
  const Children of_key = marked(children, mark);
  const std::string_view node =
      call.memo->pending() ? find_prefix(of_key, kept.runner) : std::string_view();
  const Token token(kept.record.number * core::tokens_in_a_grant);
  if (node.empty() || !asked->means(token)) {
    return then([asked] { asked->answered(std::nullopt); });
  }
  Call ending = call;
  ending.gathering = std::make_shared<Gathering>();
  ending.gathering->parts.push_back({.node = path_below(call.path, node),
                                     .there = true,
                                     .holder = {.label = kept.label.substr(0, core::longest_label),
                                                .token = token,
                                                .waiters = of_key.size() - 1,
                                                .mode = Mode::once}});
  end_by_force(ending);
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
  if (holders.empty()) return then([asked] { asked->answered(std::nullopt); });
  end_by_force(call);
}

void ZooKeeperBackend::end_by_force(const Call& call) {
  Gathering& gathering = *call.gathering;
  gathering.awaited = gathering.parts.size();
  for (std::size_t i = 0; i < gathering.parts.size(); ++i) {
    submit({.step = Step::force_remove,
            .operation = call.operation,
            .path = gathering.parts[i].node,
            .count = i,
            .gathering = call.gathering});
  }
}

}  // namespace mortise::zookeeper
