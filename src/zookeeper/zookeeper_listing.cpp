// SPDX-License-Identifier: MIT
// What administrators ask: parts of ZooKeeperBackend. A list in sync with the leader comes first,
// of the locks or of those who hold and want a name, and then a look at each of what it tells. All
// of it in one session: where that loses its connection, it begins anew.
#include "base/path_name.hpp"
#include "core/figures.hpp"
#include "zookeeper/gathering.hpp"
#include "zookeeper/lock_path.hpp"
#include "zookeeper/zookeeper_backend.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace mortise::zookeeper {
namespace {

// The server has so many requests of all its clients under way, and no more
// (globalOutstandingLimit, 1,000); holds are renewed meanwhile.
constexpr std::size_t looks_of_a_page = 200;
constexpr std::size_t longest_name_here = 1'024;

/// @return the lock whose node that is; nothing = it is none. Empty: the node keeps its name.
std::optional<std::string> name_of(std::string_view node) {
  if (is_digest(node)) return std::string();
  std::optional<std::string> name = base::name_in_path(node);
  return name && !name->empty() ? name : std::nullopt;
}

/// How long ago, by the clocks of this machine and of the leader, as far as they agree.
std::optional<std::chrono::milliseconds> age_since(std::int64_t created) {
  const auto now = std::chrono::duration_cast<std::chrono::milliseconds>(
      std::chrono::system_clock::now().time_since_epoch());
  const std::chrono::milliseconds age = now - std::chrono::milliseconds(created);
  return created > 0 && age.count() >= 0 ? std::optional(age) : std::nullopt;
}

/// The next locks to be looked at, in the order of their nodes.
std::shared_ptr<Gathering> locks_of(const Listing& listing, const Children& children) {
  auto gathering = std::make_shared<Gathering>();
  std::vector<std::string_view> nodes;
  for (const std::string_view node : children) {
    if (node > listing.cursor() && name_of(node)) nodes.push_back(node);
  }
  std::sort(nodes.begin(), nodes.end());
  const std::size_t most = std::min(listing.limit(), looks_of_a_page);
  for (const std::string_view node : nodes) {
    if (gathering->parts.size() == most) {
      gathering->cursor = gathering->parts.back().node;
      break;
    }
    std::string name = *name_of(node);
    const bool wanted = name.empty() || name.starts_with(listing.prefix());
    if (wanted) gathering->parts.push_back({.node = std::string(node), .name = std::move(name)});
  }
  return gathering;
}

void add(Gathering& gathering, Gathering::From from, const Children& nodes) {
  for (const std::string_view node : nodes) {
    gathering.parts.push_back({.node = std::string(node), .from = from});
  }
}

/// Who stands in a lock's queue, in order, as many holders and as many waiters as are asked for.
void add_lock(Gathering& gathering, const Children& children, std::size_t limit) {
  std::vector<std::pair<Standing, std::string_view>> nodes;
  for (const std::string_view node : children) {
    if (const auto standing = Standing::of(node)) nodes.emplace_back(*standing, node);
  }
  std::sort(nodes.begin(), nodes.end(),
            [](const auto& left, const auto& right) { return left.first.is_before(right.first); });
  gathering.in_all = nodes.size();
  gathering.holders = holders_of(children).size();
  Children wanted;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const std::size_t before = i < gathering.holders ? i : i - gathering.holders;
    if (before < limit) wanted.push_back(nodes[i].second);
  }
  add(gathering, Gathering::From::lock, wanted);
}

/// Where the lock leaves room.
void add_permits(Gathering& gathering, const Children& children, std::size_t limit) {
  Children held = permits_held(children);
  const std::size_t room = limit - std::min(limit, gathering.holders);
  if (held.size() > room) held.resize(room);
  add(gathering, Gathering::From::permits, held);
}

void add_gate(Gathering& gathering, const Children& children, std::size_t limit) {
  std::vector<std::pair<std::int64_t, std::string_view>> nodes;
  for (const std::string_view node : children) {
    if (const auto number = sequence_of(node)) nodes.emplace_back(*number, node);
  }
  std::sort(nodes.begin(), nodes.end());
  const std::size_t room = limit - std::min(limit, gathering.in_all - gathering.holders);
  gathering.in_all += nodes.size();
  Children wanted;
  for (const auto& [number, node] : nodes) {
    if (wanted.size() < room) wanted.push_back(node);
  }
  add(gathering, Gathering::From::gate, wanted);
}

NamePage page_of(Gathering& gathering, std::string_view prefix) {
  NamePage page;
  for (Gathering::Part& part : gathering.parts) {
    // Of a name that its path does not tell the prefix is known by now only.
    const bool wanted = part.name.empty() || part.name.starts_with(prefix);
    if (!part.there || !wanted) continue;
    part.name.empty() ? void(++page.too_long) : page.names.push_back(std::move(part.name));
  }
  page.cursor = std::move(gathering.cursor);
  return page;
}

// Whoever has gone in the meantime stands in it no more; the first of the others have the lock.
NameQueue queue_of(const Gathering& gathering, std::size_t limit) {
  using From = Gathering::From;
  NameQueue queue;
  Children there;  // at the lock
  for (const Gathering::Part& part : gathering.parts) {
    if (part.there && part.from == From::lock) there.push_back(part.node);
  }
  // Where not all of them were looked at, whoever stands behind those is left out as well.
  const bool all = gathering.holders <= limit;
  const std::size_t holders = all ? holders_of(there).size() : limit;
  std::size_t left = gathering.in_all;
  for (const Gathering::Part& part : gathering.parts) {
    if (!part.there) {
      if (part.from != From::permits) --left;
      continue;
    }
    const std::optional<std::chrono::milliseconds> age = age_since(part.created);
    const Mode mode = part.from == From::lock ? part.holder.mode : Mode::permit;
    const bool has_lock = part.from == From::lock && queue.holders.size() < holders;
    if (has_lock || part.from == From::permits) {
      queue.holders.push_back(
          {.label = part.holder.label, .mode = mode, .token = part.holder.token, .age = age});
    } else if (queue.waiters.size() < limit) {
      queue.waiters.push_back({.label = part.holder.label, .mode = mode, .age = age});
    }
  }
  queue.waiters_in_all = left - std::min(left, all ? holders : gathering.holders);
  return queue;
}

}  // namespace

void ZooKeeperBackend::list(const std::shared_ptr<Listing>& operation) {
  const CompletionScope scope(*this);
  if (operation->cursor().size() > longest_name_here) {
    then([operation, where = where_] {
      operation->failed({Errc::misconfigured, where + ": the cursor is not one of its own"});
    });
    return;
  }
  if (open(operation)) {
    submit({.step = Step::gather, .operation = operation, .path = settings_.root});
  }
}

void ZooKeeperBackend::queue(const std::shared_ptr<QueueLook>& operation) {
  const CompletionScope scope(*this);
  if (open(operation)) {
    submit_by_name({.step = Step::gather,
                    .operation = operation,
                    .path = lock_path(settings_.root, operation->name())});
  }
}

void ZooKeeperBackend::gathered(Session& session, const Call& call, const Reply& reply) {
  if (call.operation->done() || (call.gathering && call.gathering->over)) return;
  const bool again =
      reply.code == Code::unknown || reply.code == Code::ended || reply.code == Code::not_done;
  if (again) return gather_again(call);
  if (reply.code != Code::ok && reply.code != Code::no_node) {
    if (call.gathering) call.gathering->over = true;
    const bool looks = call.gathering && call.step != Step::gather_queue;
    const std::string& what = looks ? call.gathering->parts[call.count].node : call.path;
    then([operation = call.operation, why = failure_of(reply, what)] { operation->failed(why); });
    return;
  }
  const Children none;
  const Children& children = reply.children != nullptr ? *reply.children : none;
  if (call.step == Step::gather_queue) return gathered_queue(session, call, children);
  if (!call.gathering) {
    const auto& listing = static_cast<const Listing&>(*call.operation);
    return look_at_each(session, call, locks_of(listing, children));
  }
  Gathering& gathering = *call.gathering;
  Gathering::Part& part = gathering.parts[call.count];
  if (call.step == Step::gather_name) {
    // As it was stored with the lock; what a stranger has put there is not told.
    const bool own = reply.code == Code::ok && lock_path({}, reply.text).substr(1) == part.node;
    if (own) part.name = reply.text;
  } else if (reply.code == Code::ok && reply.children != nullptr) {
    part.there = Place::of(*reply.children, {}).count > 0;
  } else if (reply.code == Code::ok) {
    part.there = true;
    part.holder = holder_of(reply, part.node, 0);
    part.created = reply.ctime;
  }
  if (--gathering.awaited == 0) answer(call, gathering);
}

void ZooKeeperBackend::gather_again(const Call& call) {
  if (call.gathering) call.gathering->over = true;
  outbox_.push_back({.step = Step::gather, .operation = call.operation, .path = call.path});
}

// Of a queue all lists leave in one flight.
bool ZooKeeperBackend::send_gathering(Session& session, const Call& call) {
  const auto* const look = dynamic_cast<const QueueLook*>(call.operation.get());
  if (look == nullptr) return session.list_in_sync(call.path, call);
  const GatePlace gate = GatePlace::of(settings_.root, look->name());
  Call each = call;
  each.step = Step::gather_queue;
  each.gathering = std::make_shared<Gathering>();
  const auto next = [&each](Gathering::From from) {
    each.count = static_cast<std::size_t>(from);
    return each;
  };
  const bool sent = session.list_in_sync(call.path, next(Gathering::From::lock)) &&
                    session.list(gate.leases, next(Gathering::From::permits)) &&
                    session.list(gate.locks, next(Gathering::From::gate));
  each.gathering->over = !sent;
  return sent;
}

void ZooKeeperBackend::gathered_queue(Session& session, const Call& call,
                                      const Children& children) {
  const std::size_t limit = static_cast<const QueueLook&>(*call.operation).limit();
  Gathering& gathering = *call.gathering;
  switch (static_cast<Gathering::From>(call.count)) {
    case Gathering::From::lock: return add_lock(gathering, children, limit);
    case Gathering::From::permits: return add_permits(gathering, children, limit);
    case Gathering::From::gate: break;
  }
  add_gate(gathering, children, limit);
  look_at_each(session, call, call.gathering);
}

void ZooKeeperBackend::look_at_each(Session& session, const Call& call,
                                    const std::shared_ptr<Gathering>& gathering) {
  const auto* const look = dynamic_cast<const QueueLook*>(call.operation.get());
  gathering->awaited = gathering->parts.size();
  if (gathering->awaited == 0) return answer(call, *gathering);
  const GatePlace gate = GatePlace::of(settings_.root, look != nullptr ? look->name() : "");
  for (std::size_t i = 0; i < gathering->parts.size(); ++i) {
    const Gathering::From from = gathering->parts[i].from;
    const std::string& parent = from == Gathering::From::lock      ? call.path
                                : from == Gathering::From::permits ? gate.leases
                                                                   : gate.locks;
    const std::string path = path_below(parent, gathering->parts[i].node);
    Call each{.step = Step::gather,
              .operation = call.operation,
              .path = call.path,
              .count = i,
              .gathering = gathering};
    if (look == nullptr) {
      if (session.list(path, each) && send_name_look(session, path, std::move(each))) continue;
    } else if (session.get(path, false, std::move(each))) {
      continue;
    }
    Call all = call;
    all.gathering = gathering;
    return gather_again(all);
  }
}

// Of a lock whose node is called by a digest the name is read, too.
bool ZooKeeperBackend::send_name_look(Session& session, const std::string& path, Call each) {
  Gathering& gathering = *each.gathering;
  if (!gathering.parts[each.count].name.empty()) return true;
  each.step = Step::gather_name;
  if (!session.get(path, false, std::move(each))) return false;
  ++gathering.awaited;
  return true;
}

void ZooKeeperBackend::answer(const Call& call, Gathering& gathering) {
  gathering.over = true;
  if (const auto listing = std::dynamic_pointer_cast<Listing>(call.operation)) {
    then([listing, page = page_of(gathering, listing->prefix())] { listing->answered(page); });
    return;
  }
  const auto look = std::static_pointer_cast<QueueLook>(call.operation);
  then([look, queue = queue_of(gathering, look->limit())] { look->answered(queue); });
}

}  // namespace mortise::zookeeper
