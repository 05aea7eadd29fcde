// SPDX-License-Identifier: MIT
#include "zookeeper/own_node.hpp"

#include "base/mutant.hpp"
#include "zookeeper/course.hpp"
#include "zookeeper/late_nodes.hpp"
#include "zookeeper/seen_queues.hpp"

#include <utility>

namespace mortise::zookeeper {

OwnNode::OwnNode(Course& course) : course_(course), prefix_(course.claim().prefix(0)) {}

std::string_view OwnNode::name() const noexcept {
  return std::string_view(path_).substr(course_.claim().queue.size() + 1);
}

std::string_view OwnNode::guid() const noexcept {
  return std::string_view(prefix_).substr(course_.claim().queue.size() + 1);
}

void OwnNode::make(Acquisition* caller) {
  if (caller != nullptr) caller->sent(course_.parts().now());
  make_parents();
  const auto answered = [this](const Reply& reply) { created(reply); };
  if (!course_.ask({Ask::create_ephemeral, prefix_, course_.claim().label}, answered)) return;
  is_unsure_ = true;
  // The server answers a session in order, so the list holds the node.
  course_.look();
}

// The nodes above are containers: the server removes them when they have been empty for a while. If
// one of them may be missing, it is made in the same flight as the node: the server has a write
// more, and no client waits for a further round trip.
void OwnNode::make_parents() {
  parents_.failure = {};
  const bool all = std::exchange(parents_.are_missing, false) || course_.parts().seen->empty();
  make_levels(course_.claim().queue, true, all);
  // A shelf that was removed and made again would count its removals from zero.
  const std::string& shelf = course_.claim().key.shelf;
  if (!shelf.empty()) make_levels(shelf, false, all);
}

void OwnNode::make_levels(const std::string& path, bool while_needed, bool all) {
  const Parts& parts = course_.parts();
  if (!all && parts.seen->is_there(path, !while_needed, parts.now())) return;
  const Claim& claim = course_.claim();
  const std::vector<std::string> levels = levels_of(path);
  for (std::size_t i = all ? 0 : levels.size() - claim.levels(); i < levels.size(); ++i) {
    Request request{while_needed ? Ask::create_container : Ask::create, levels[i]};
    if (levels[i] == claim.name_node) request.data = claim.name;
    course_.ask(std::move(request), [this](const Reply& reply) { made_parent(reply); });
  }
}

// The creation of the node itself shows whether that matters: perhaps the parent was there already.
// (And a level above it may have gone in between, because it was empty.)
void OwnNode::made_parent(const Reply& reply) {
  switch (reply.code) {
    case Code::ok:
    case Code::exists:
    case Code::no_node:
    case Code::unknown:
    case Code::ended:
    case Code::unsupported:  // containers: the next request is for other nodes
    case Code::not_done: break;
    default: parents_.failure = course_.parts().failure_of(reply, course_.claim().queue);
  }
  course_.drive();
}

bool OwnNode::lacks_parents() {
  is_unsure_ = false;
  if (parents_.failure) {
    course_.fail(parents_.failure);
    return false;
  }
  // They were never there, or were empty for long enough to be removed. That may happen again
  // before the next request.
  parents_.are_missing = true;
  return true;
}

void OwnNode::created(const Reply& reply) {
  if (is_lost(reply.code)) {
    if (base::mutant("zookeeper.lost_create_forgotten")) course_.forget_node();
    return course_.drive();  // settles it
  }
  is_unsure_ = false;
  switch (reply.code) {
    case Code::ok: made(reply.text, reply.czxid); break;
    case Code::no_node:
      if (!lacks_parents()) return;
      break;
    case Code::not_done: return course_.report(reply);
    default: return course_.fail(course_.parts().failure_of(reply, course_.claim().queue));
  }
  course_.drive();
}

void OwnNode::asked(std::string path, std::int64_t number) {
  prefix_ = std::move(path);
  given_number_ = number;
  is_unsure_ = true;
}

void OwnNode::made(std::string_view path, std::int64_t number) {
  is_unsure_ = false;
  path_ = path;
  number_ = given_number_ != 0 ? given_number_ : number;
}

// The server that the client was connected to may have executed what this one has not received.
void OwnNode::settle() {
  course_.ask_in_sync({Ask::list, course_.claim().queue},
                      [this](const Reply& reply) { settled(reply); });
}

void OwnNode::settled(const Reply& reply) {
  if (reply.code != Code::ok && reply.code != Code::no_node) return;
  const Children children = children_of(reply);
  const bool takes_any = base::mutant("zookeeper.settle_takes_any") && !children.empty();
  const std::string_view found = takes_any ? children.front() : find_prefix(children, guid());
  if (found.empty()) {
    // The request was never executed, or the node has gone; or the request is still under way.
    course_.parts().late->add(course_.session(), course_.claim().queue, prefix_);
    course_.forget_node();
    return course_.drive();
  }
  const std::string path = path_below(course_.claim().queue, found);
  const auto looked = [this, path](const Reply& node) {
    if (node.code != Code::ok && node.code != Code::no_node) return;
    if (node.code == Code::ok &&
        (node.owner == course_.session().id() || base::mutant("zookeeper.settle_takes_any"))) {
      made(path, node.czxid);
    } else {
      // It goes with a former session, or has gone: nothing may depend on it.
      course_.forget_node();
    }
    course_.drive();
  };
  course_.ask({Ask::get, path}, looked);
}

void OwnNode::remove() {
  if (is_removing_) return;
  const auto answered = [this](const Reply& reply) { removed(reply); };
  if (!course_.ask({Ask::remove, path_}, answered)) return;
  is_removing_ = true;
  course_.let_go();
  // The server keeps the parent if other nodes are left. Their clients will remove it.
  if (is_last_of_counter_) {
    course_.session().ask({Ask::remove, course_.claim().queue}, {});
  }
}

void OwnNode::removed(const Reply& reply) {
  is_removing_ = false;
  switch (reply.code) {
    case Code::ok: return course_.gone(Released::released);
    case Code::no_node:
      // By an earlier request whose answer was lost, or by another program.
      return course_.gone(may_be_removed_ ? Released::released : Released::was_lost);
    case Code::unknown:
    case Code::ended:
      if (base::mutant("zookeeper.delete_not_retried")) return course_.gone(Released::unknown);
      may_be_removed_ = true;
      return;
    case Code::not_done: return course_.report(reply);
    default: break;
  }
  // It stands as long as the session does, and would keep the name from all clients.
  Failure why = course_.parts().failure_of(reply, path_);
  why.text += "; without the permission delete the client ended its session, with all its holds";
  course_.session().give_up(undeletable(path_, reply));
  course_.releases().fail(why);
  course_.gone(Released::unknown);
}

void OwnNode::forget() {
  path_.clear();
  number_ = given_number_ = 0;
  is_unsure_ = is_removing_ = may_be_removed_ = false;
  is_last_of_counter_ = is_queue_of_name_ = false;
  prefix_ = course_.claim().prefix(++round_);
}

bool OwnNode::is_queue_of_name() const noexcept {
  return course_.claim().name_node.empty() || is_queue_of_name_;
}

void OwnNode::ask_for_name() {
  if (is_queue_of_name()) return;
  const std::string& node = course_.claim().name_node;
  const auto read = [this, &node](const Reply& reply) {
    const bool is_other = reply.code == Code::ok && reply.text != course_.claim().name;
    if (is_other) return course_.fail(course_.parts().other_name(node));
    if (reply.code == Code::denied) {
      return course_.fail(course_.parts().failure_of(reply, node));
    }
    is_queue_of_name_ = reply.code == Code::ok;
    course_.drive();
  };
  course_.ask({Ask::get, node}, read);
}

}  // namespace mortise::zookeeper
