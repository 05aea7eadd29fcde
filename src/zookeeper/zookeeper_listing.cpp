// SPDX-License-Identifier: MIT
// What administrators ask: parts of ZooKeeperBackend. A list in sync with the leader comes first,
// of the names or of those who hold and want one, and then a look at each of what it tells. All of
// it in one session: where that loses its connection, it begins anew.
//
// Of keys that are run there is no list: who runs or wants one stands in the queue of its shelf, of
// which there are 256 at most, and only what is kept there has the keys' names. So a page of them
// is told of one shelf.
#include "zookeeper/gathering.hpp"
#include "zookeeper/lock_path.hpp"
#include "zookeeper/zookeeper_backend.hpp"

#include <algorithm>
#include <utility>

namespace mortise::zookeeper {
namespace {

using From = Gathering::From;

constexpr std::size_t longest_name_here = 1'024;

}  // namespace

void ZooKeeperBackend::list(const std::shared_ptr<Listing>& operation) {
  const CompletionScope scope(*this);
  if (operation->cursor().size() > longest_name_here) {
    then([operation, where = where_] {
      operation->failed({Errc::misconfigured,
                         where + ": the cursor is invalid; pass the cursor of the previous page"});
    });
    return;
  }
  if (!open(operation)) return;
  const std::string& root = settings_.root;
  submit({.step = Step::gather,
          .operation = operation,
          .path = operation->mode() == Mode::once     ? queues_path(root)
                  : operation->mode() == Mode::permit ? semaphores_path(root)
                                                      : root});
}

void ZooKeeperBackend::queue(const std::shared_ptr<QueueLook>& operation) {
  const CompletionScope scope(*this);
  if (!open(operation)) return;
  submit_by_name({.step = Step::gather, .operation = operation, .path = queue_path(*operation)});
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
  const auto* const listing = dynamic_cast<const Listing*>(call.operation.get());
  const Children none;
  const Children& children = reply.children != nullptr ? *reply.children : none;
  if (call.step == Step::gather_queue) {
    return listing != nullptr ? gathered_shelf(session, call, children)
                              : gathered_queue(session, call, reply);
  }
  if (!call.gathering) {
    if (listing->mode() == Mode::once) return gathered_shelves(session, call, children);
    auto gathering = std::make_shared<Gathering>();
    add_names(*gathering, *listing, call.path, children, listing->cursor());
    return look_at_each(session, call, gathering);
  }
  looked_at_part(call, reply);
  if (--call.gathering->awaited == 0) answer(call, *call.gathering);
}

void ZooKeeperBackend::looked_at_part(const Call& call, const Reply& reply) {
  if (reply.code != Code::ok) return;
  const auto* const listing = dynamic_cast<const Listing*>(call.operation.get());
  Gathering::Part& part = call.gathering->parts[call.count];
  // As it was stored with the name; what a stranger has put there is not told.
  const auto name_kept = [&](std::string_view name) {
    if (lock_path({}, name).substr(1) == part.node) part.name = name;
  };
  if (listing == nullptr) {
    part.there = true;
    part.holder = holder_of(reply, part.node, 0);
    part.created = reply.ctime;
  } else if (call.step == Step::gather_name) {
    name_kept(reply.text);
  } else if (listing->mode() == Mode::once) {
    const std::optional<Memo> memo = Memo::read(reply);
    const std::vector<std::string>& standing = call.gathering->runs;
    part.there =
        memo && std::any_of(standing.begin(), standing.end(),
                            [&](const std::string& node) { return memo->is_run_by(node); });
    if (memo && part.name.empty()) name_kept(memo->kept.name);
  } else if (listing->mode() == Mode::permit) {
    part.there = !permits_held(*reply.children).empty();
  } else {
    part.there = Place::of(*reply.children, {}).count > 0;
  }
}

void ZooKeeperBackend::gather_again(const Call& call) {
  if (call.gathering) call.gathering->over = true;
  outbox_.push_back({.step = Step::gather, .operation = call.operation, .path = call.path});
}

// Of a queue all that tells of it leaves in one flight.
bool ZooKeeperBackend::send_gathering(Session& session, const Call& call) {
  const auto* const look = dynamic_cast<const QueueLook*>(call.operation.get());
  if (look == nullptr) return session.list_in_sync(call.path, call);
  Call each = call;
  each.step = Step::gather_queue;
  each.gathering = std::make_shared<Gathering>();
  const auto next = [&each](From from) {
    each.count = static_cast<std::size_t>(from);
    return each;
  };
  bool sent = false;
  if (look->mode() == Mode::once) {
    // What is kept comes first: who runs it by that is in the list, if it still does.
    const std::string kept = KeyPlace::of(settings_.root, look->name()).kept;
    sent = session.get_in_sync(kept, next(From::kept)) && session.list(call.path, next(From::runs));
  } else if (look->mode() == Mode::permit) {
    const std::string gate = GatePlace::of(settings_.root, look->name()).locks;
    sent = session.list_in_sync(call.path, next(From::permits)) &&
           session.list(gate, next(From::gate));
  } else {
    sent = session.list_in_sync(call.path, next(From::lock));
  }
  each.gathering->over = !sent;
  return sent;
}

void ZooKeeperBackend::gathered_queue(Session& session, const Call& call, const Reply& reply) {
  const auto look = std::static_pointer_cast<QueueLook>(call.operation);
  Gathering& gathering = *call.gathering;
  const Children none;
  const Children& children = reply.children != nullptr ? *reply.children : none;
  switch (static_cast<From>(call.count)) {
    case From::permits: return add_permits(gathering, call.path, children, look->limit());
    case From::kept: {
      if (reply.code != Code::ok) return;
      std::optional<Memo> memo = Memo::read(reply);
      if (memo && memo->is_of(look->name())) return void(gathering.memo = *std::move(memo));
      gathering.over = true;
      const std::string kept = KeyPlace::of(settings_.root, look->name()).kept;
      return then([look, why = not_of_that_key(kept, memo.has_value())] { look->failed(why); });
    }
    case From::lock: add_lock(gathering, call.path, children, look->limit()); break;
    case From::gate:
      add_waiters(gathering, From::gate, GatePlace::of(settings_.root, look->name()).locks,
                  children, look->limit());
      break;
    case From::runs:
      add_waiters(gathering, From::runs, call.path,
                  marked(children, KeyPlace::of(settings_.root, look->name()).mark), look->limit());
      break;
  }
  look_at_each(session, call, call.gathering);
}

// The first shelf on which anybody runs a key or wants one, from where the page begins.
void ZooKeeperBackend::gathered_shelves(Session& session, const Call& call,
                                        const Children& children) {
  const std::string& cursor = static_cast<const Listing&>(*call.operation).cursor();
  const std::string from = cursor.substr(0, cursor.find('/'));
  Children in_use = children;
  std::erase_if(in_use, [&](std::string_view shelf) { return shelf < from; });
  std::sort(in_use.begin(), in_use.end());
  Call each = call;
  each.step = Step::gather_queue;
  each.gathering = std::make_shared<Gathering>();
  Gathering& gathering = *each.gathering;
  if (in_use.empty()) return answer(call, gathering);
  gathering.shelf = in_use.front();
  if (in_use.size() > 1) gathering.cursor = in_use[1];
  const std::string queue = path_below(call.path, gathering.shelf);
  const std::string kept = shelf_beside(settings_.root, gathering.shelf);
  each.count = static_cast<std::size_t>(From::runs);
  bool sent = session.list(queue, each);
  each.count = static_cast<std::size_t>(From::kept);
  sent = sent && session.list(kept, each);
  if (!sent) gather_again(each);
}

void ZooKeeperBackend::gathered_shelf(Session& session, const Call& call,
                                      const Children& children) {
  Gathering& gathering = *call.gathering;
  if (static_cast<From>(call.count) == From::runs) {
    gathering.runs.assign(children.begin(), children.end());
    return;
  }
  Children nodes = children;
  std::erase_if(nodes, [&](std::string_view node) {
    const std::optional<std::string> mark = mark_by(node);
    return !mark || std::none_of(gathering.runs.begin(), gathering.runs.end(),
                                 [&](const std::string& run) { return mark_in(run) == *mark; });
  });
  const auto& listing = static_cast<const Listing&>(*call.operation);
  const std::string before = gathering.shelf + '/';
  const std::string behind =
      listing.cursor().starts_with(before) ? listing.cursor().substr(before.size()) : "";
  const std::string next = std::exchange(gathering.cursor, {});
  add_names(gathering, listing, shelf_beside(settings_.root, gathering.shelf), nodes, behind);
  gathering.cursor = gathering.cursor.empty() ? next : before + gathering.cursor;
  look_at_each(session, call, call.gathering);
}

void ZooKeeperBackend::look_at_each(Session& session, const Call& call,
                                    const std::shared_ptr<Gathering>& gathering) {
  const auto* const listing = dynamic_cast<const Listing*>(call.operation.get());
  gathering->awaited = gathering->parts.size();
  if (gathering->awaited == 0) return answer(call, *gathering);
  for (std::size_t i = 0; i < gathering->parts.size(); ++i) {
    const std::string& path = gathering->parts[i].path;
    Call each{.step = Step::gather,
              .operation = call.operation,
              .path = call.path,
              .count = i,
              .gathering = gathering};
    if (listing == nullptr || listing->mode() == Mode::once) {
      if (session.get(path, false, std::move(each))) continue;
    } else {
      const bool permits = listing->mode() == Mode::permit;
      const bool sent = session.list(permits ? leases_below(path) : path, each);
      if (sent && send_name_look(session, path, std::move(each))) continue;
    }
    Call all = call;
    all.gathering = gathering;
    return gather_again(all);
  }
}

// Of a name whose node is called by a digest the name is read, too.
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
  std::vector<HoldMark> marks;
  NameQueue queue = queue_of(gathering, look->limit(), marks);
  then(
      [look, queue = std::move(queue), marks = std::move(marks)] { look->answered(queue, marks); });
}

}  // namespace mortise::zookeeper
