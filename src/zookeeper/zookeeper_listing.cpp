// SPDX-License-Identifier: MIT
// What administrators ask: parts of ZooKeeperBackend. A list in sync with the leader comes first,
// of the locks or of a queue, and then a look at each of what it tells. All of it in one session:
// where that loses its connection, it begins anew.
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
constexpr std::string_view too_long = "%h-";  // what nodes begin with that do not say their name

/// @return the lock whose node that is; nothing = it is none. Empty: its name is too long to be
/// told.
std::optional<std::string> name_of(std::string_view node) {
  if (node.starts_with(too_long)) return std::string();
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

/// Who stands in a queue, in order.
std::shared_ptr<Gathering> contenders_of(const QueueLook& look, const Children& children) {
  auto gathering = std::make_shared<Gathering>();
  std::vector<std::pair<Standing, std::string_view>> nodes;
  for (const std::string_view node : children) {
    if (const auto standing = Standing::of(node)) nodes.emplace_back(*standing, node);
  }
  std::sort(nodes.begin(), nodes.end(),
            [](const auto& left, const auto& right) { return left.first.is_before(right.first); });
  gathering->in_all = nodes.size();
  gathering->holders = holders_of(children).size();
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const bool holds = i < gathering->holders;
    const std::size_t before = holds ? i : i - gathering->holders;
    if (before < look.limit()) gathering->parts.push_back({.node = std::string(nodes[i].second)});
  }
  return gathering;
}

NamePage page_of(Gathering& gathering) {
  NamePage page;
  for (Gathering::Part& part : gathering.parts) {
    if (!part.there) continue;
    part.name.empty() ? void(++page.too_long) : page.names.push_back(std::move(part.name));
  }
  page.cursor = std::move(gathering.cursor);
  return page;
}

// Whoever has gone in the meantime stands in it no more; the first of the others have the lock.
NameQueue queue_of(const Gathering& gathering, std::size_t limit) {
  NameQueue queue;
  Children there;
  for (const Gathering::Part& part : gathering.parts) {
    if (part.there) there.push_back(part.node);
  }
  // Where not all of them were looked at, whoever stands behind those is left out as well.
  const bool all = gathering.holders <= limit;
  const std::size_t holders = all ? holders_of(there).size() : limit;
  for (const Gathering::Part& part : gathering.parts) {
    if (!part.there) continue;
    const std::optional<std::chrono::milliseconds> age = age_since(part.created);
    if (queue.holders.size() < holders) {
      queue.holders.push_back({.label = part.holder.label,
                               .mode = part.holder.mode,
                               .token = part.holder.token,
                               .age = age});
    } else if (queue.waiters.size() < limit) {
      queue.waiters.push_back({.label = part.holder.label, .mode = part.holder.mode, .age = age});
    }
  }
  const std::size_t gone = gathering.parts.size() - there.size();
  const std::size_t left = gathering.in_all - gone;
  const std::size_t held = all ? queue.holders.size() : gathering.holders;
  queue.waiters_in_all = left - std::min(left, held);
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
    submit({.step = Step::gather,
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
    const std::string& what = call.gathering ? call.gathering->parts[call.count].node : call.path;
    then([operation = call.operation, why = failure_of(reply, what)] { operation->failed(why); });
    return;
  }
  if (!call.gathering) return look_at_each(session, call, reply);
  Gathering& gathering = *call.gathering;
  Gathering::Part& part = gathering.parts[call.count];
  if (reply.code == Code::ok && reply.children != nullptr) {
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

void ZooKeeperBackend::look_at_each(Session& session, const Call& call, const Reply& reply) {
  const auto* const listing = dynamic_cast<const Listing*>(call.operation.get());
  const Children none;
  const Children& children = reply.children != nullptr ? *reply.children : none;
  const std::shared_ptr<Gathering> gathering =
      listing != nullptr ? locks_of(*listing, children)
                         : contenders_of(static_cast<const QueueLook&>(*call.operation), children);
  gathering->awaited = gathering->parts.size();
  if (gathering->awaited == 0) return answer(call, *gathering);
  for (std::size_t i = 0; i < gathering->parts.size(); ++i) {
    const std::string path = path_below(call.path, gathering->parts[i].node);
    Call each{.step = Step::gather,
              .operation = call.operation,
              .path = call.path,
              .count = i,
              .gathering = gathering};
    const bool sent = listing != nullptr ? session.list(path, std::move(each))
                                         : session.get(path, false, std::move(each));
    if (sent) continue;
    Call all = call;
    all.gathering = gathering;
    return gather_again(all);
  }
}

void ZooKeeperBackend::answer(const Call& call, Gathering& gathering) {
  gathering.over = true;
  if (const auto listing = std::dynamic_pointer_cast<Listing>(call.operation)) {
    then([listing, page = page_of(gathering)] { listing->answered(page); });
    return;
  }
  const auto look = std::static_pointer_cast<QueueLook>(call.operation);
  then([look, queue = queue_of(gathering, look->limit())] { look->answered(queue); });
}

}  // namespace mortise::zookeeper
