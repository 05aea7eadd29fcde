// SPDX-License-Identifier: MIT
// Names that are too long for a path. Their nodes are called by the digest of the name, and one
// node keeps the whole name: that of the lock's queue, or the one above a semaphore's two lists. It
// is read and compared before anything that was listed there is believed. (A key's record has its
// name in itself.)
#include "zookeeper/zookeeper_backend.hpp"

#include <utility>

namespace mortise::zookeeper {
namespace {

const std::string& name_in(const Operation& operation) {
  if (const auto* const look = dynamic_cast<const QueueLook*>(&operation)) return look->name();
  return static_cast<const Inspection&>(operation).name();
}

}  // namespace

Failure ZooKeeperBackend::other_name(const std::string& node) const {
  return {
      Errc::protocol,
      where_ + ": " + node +
          ": the node does not hold the name that was asked for: it belongs to another name, or "
          "another program has made it"};
}

// Right before a list, whose answer comes behind this one's.
void ZooKeeperBackend::ask_for_name(const ContenderPtr& contender) {
  if (contender->name_node.empty() || contender->name_is_there) return;
  if (contender->session->get(contender->name_node, false,
                              {.step = Step::name, .contender = contender})) {
    ++contender->flight;
  }
}

void ZooKeeperBackend::told_of_name(const ContenderPtr& contender, const Reply& reply) {
  if (reply.code == Code::ok && reply.text != contender->name) {
    return fail(contender, other_name(contender->name_node));
  }
  if (reply.code == Code::denied) {
    return fail(contender, failure_of(reply, contender->name_node));
  }
  contender->name_is_there = reply.code == Code::ok;
  drive(contender);
}

// What is asked once goes on when both nodes are known: the lock's, and the semaphore's of that
// name.
void ZooKeeperBackend::submit_by_name(Call call) {
  if (!name_to_keep(name_in(*call.operation)).empty()) {
    call.next = std::exchange(call.step, Step::name);
    call.count = 0;
  }
  submit(std::move(call));
}

std::string ZooKeeperBackend::compared_node(const Call& call) const {
  const std::string& name = name_in(*call.operation);
  return call.count == 0 ? lock_path(settings_.root, name)
                         : GatePlace::of(settings_.root, name).name;
}

void ZooKeeperBackend::compared(Call call, const Reply& reply) {
  if (reply.code == Code::ok && reply.text != name_in(*call.operation)) {
    then([operation = call.operation, why = other_name(compared_node(call))] {
      operation->failed(why);
    });
    return;
  }
  if (++call.count > 1) {
    call.count = 0;
    call.step = std::exchange(call.next, Step::ignore);
  }
  submit(std::move(call));
}

}  // namespace mortise::zookeeper
