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

Mode mode_in(const Operation& operation) {
  const auto* const look = dynamic_cast<const QueueLook*>(&operation);
  return look != nullptr ? look->mode() : Mode::exclusive;
}

}  // namespace

Failure ZooKeeperBackend::other_name(const std::string& node) const {
  return {Errc::protocol,
          where_ + ": " + node +
              ": the node does not contain the requested name; another name or another program "
              "uses it"};
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

// What is asked once goes on when the node is known. (Of a key its record is read anyway.)
void ZooKeeperBackend::submit_by_name(Call call) {
  if (mode_in(*call.operation) != Mode::once && !name_to_keep(name_in(*call.operation)).empty()) {
    call.next = std::exchange(call.step, Step::name);
  }
  submit(std::move(call));
}

std::string ZooKeeperBackend::compared_node(const Call& call) const {
  const std::string& name = name_in(*call.operation);
  return mode_in(*call.operation) == Mode::permit ? GatePlace::of(settings_.root, name).name
                                                  : lock_path(settings_.root, name);
}

void ZooKeeperBackend::compared(Call call, const Reply& reply) {
  if (reply.code == Code::ok && reply.text != name_in(*call.operation)) {
    then([operation = call.operation, why = other_name(compared_node(call))] {
      operation->failed(why);
    });
    return;
  }
  call.step = std::exchange(call.next, Step::ignore);
  submit(std::move(call));
}

// The list that tells who holds a name, of whatever mode.
std::string ZooKeeperBackend::queue_path(const Operation& operation) const {
  const std::string& name = name_in(operation);
  switch (mode_in(operation)) {
    case Mode::permit: return GatePlace::of(settings_.root, name).leases;
    case Mode::once: return KeyPlace::of(settings_.root, name).queue;
    case Mode::exclusive:
    case Mode::shared: break;
  }
  return lock_path(settings_.root, name);
}

}  // namespace mortise::zookeeper
