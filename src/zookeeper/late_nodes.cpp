// SPDX-License-Identifier: MIT
#include "zookeeper/late_nodes.hpp"

#include "base/mutant.hpp"
#include "zookeeper/lock_path.hpp"
#include "zookeeper/session.hpp"

#include <algorithm>
#include <cstddef>

namespace mortise::zookeeper {
namespace {

// After a third of a session, two thirds ...: the last one about 300 sessions later.
constexpr int most_looks = 10;
constexpr std::size_t most_nodes = 1'024;

}  // namespace

void LateNodes::add(Session& session, const std::string& queue, const std::string& prefix) {
  if (base::mutant("zookeeper.late_create_forgotten")) return;
  if (nodes_.size() >= most_nodes) nodes_.erase(nodes_.begin());
  const std::chrono::nanoseconds pause = session.timeout() / 3;
  nodes_.push_back({.session = &session,
                    .queue = queue,
                    .prefix = prefix,
                    .again = parts_.now() + pause,
                    .pause = pause});
}

void LateNodes::look(Instant now) {
  for (Node& node : nodes_) {
    if (now < node.again || !node.session->up()) continue;
    const auto listed = [this, session = node.session, queue = node.queue,
                         prefix = node.prefix](const Reply& reply) {
      if (reply.code == Code::ok) sweep(*session, queue, *reply.children);
      if (reply.code == Code::not_done) look_again(*session, prefix);
    };
    node.session->ask_in_sync({Ask::list, node.queue}, listed);
    ++node.looks;
    node.again = now + node.pause;
    node.pause *= 2;
  }
  std::erase_if(nodes_, [](const Node& node) { return node.looks >= most_looks; });
}

void LateNodes::sweep(Session& session, const std::string& queue, const Children& children) {
  for (const Node& node : nodes_) {
    if (node.session != &session || node.queue != queue) continue;
    const std::string_view guid = std::string_view(node.prefix).substr(queue.size() + 1);
    const std::string_view late = find_prefix(children, guid);
    if (!late.empty()) remove(session, path_below(queue, late), node.prefix);
  }
}

void LateNodes::remove(Session& session, const std::string& node, const std::string& prefix) {
  session.ask({Ask::remove, node}, [this, &session, node, prefix](const Reply& reply) {
    if (reply.code == Code::ok || reply.code == Code::no_node) drop(prefix);
    if (reply.code == Code::not_done) look_again(session, prefix);
    if (reply.code == Code::denied) session.give_up(undeletable(node, reply));
  });
}

void LateNodes::look_again(const Session& session, const std::string& prefix) {
  for (Node& node : nodes_) {
    if (node.prefix == prefix) node.again = parts_.now() + pause_of_refused(session);
  }
}

void LateNodes::drop(const std::string& prefix) {
  std::erase_if(nodes_, [&](const Node& node) { return node.prefix == prefix; });
}

void LateNodes::connected(const Session& session) {
  for (Node& node : nodes_) {
    if (node.session == &session) node.again = parts_.now();
  }
}

void LateNodes::end(const Session& session) {
  std::erase_if(nodes_, [&](const Node& node) { return node.session == &session; });
}

Instant LateNodes::due() const noexcept {
  Instant due = never;
  for (const Node& node : nodes_) {
    if (node.session->up()) due = std::min(due, node.again);
  }
  return due;
}

}  // namespace mortise::zookeeper
