// SPDX-License-Identifier: MIT
#include "simulation/scene/zookeeper_late_node.hpp"

#include <mortise/client.hpp>
#include <mortise/zookeeper.hpp>

#include <exception>
#include <thread>

namespace simulation {

void ZooKeeperLateNode::come() {
  const auto leads = ensemble_.leader();
  // One server alone carries out what it is asked for before it says that it is there.
  if (!leads || ensemble_.size() == 1) return;
  leader_ = *leads;
  run("late waiter", &ZooKeeperLateNode::want_it_still);
  if (!judge_.verdict()) run("late caller", &ZooKeeperLateNode::give_it_up);
}

void ZooKeeperLateNode::run(const char* who, void (ZooKeeperLateNode::*life)()) {
  World& world = room_.world;
  process_ = &world.process(who);
  process_->clock.offset = std::chrono::hours(1);
  gone_ = false;
  lead_to_follower(true);
  world.spawn(*process_, [this, life] {
    try {
      (this->*life)();
    } catch (const std::exception& error) {
      judge_.blame("exception", error.what());
    }
    gone_ = true;
  });
  for (int i = 0; i < 600 && !gone_ && !judge_.verdict(); ++i) world.run(world.now() + 50ms);
  if (!gone_ && !judge_.verdict()) judge_.blame("L7", "who makes late nodes is not served");
}

// Its next node stands behind the late one, and both are its own session's.
void ZooKeeperLateNode::want_it_still() {
  mortise::Client client(mortise::zookeeper::backend(url()));
  mortise::Lock lock = client.make_lock(name_of_late_node, {.lease = session_});
  lock.lock();
  lock.unlock();
  hold_up_the_next();
  if (!lock.try_lock_for(session_)) {
    return judge_.blame("L2", "an attempt waits for a node of its own that came late");
  }
  lock.unlock();
}

// Its session lives on, and nobody but its client knows that the node is nobody's.
void ZooKeeperLateNode::give_it_up() {
  mortise::Client client(mortise::zookeeper::backend(url()));
  mortise::Client other(mortise::zookeeper::backend(url()));
  mortise::Lock lock = client.make_lock(name_of_late_node, {.lease = session_});
  mortise::Lock next = other.make_lock(name_of_late_node, {.lease = session_});
  for (mortise::Lock* const each : {&lock, &next}) {
    each->lock();
    each->unlock();
  }
  hold_up_the_next();
  try {
    if (lock.try_lock_for(random_.spread(shortest_wait, longest_wait))) return lock.unlock();
  } catch (const mortise::Error&) {
    // What has come of it nobody could say.
  }
  if (!next.try_lock_for(session_)) {
    return judge_.blame("L2", "a node that came when its attempt was given up keeps the name");
  }
  next.unlock();
}

void ZooKeeperLateNode::hold_up_the_next() {
  // The leader itself may be the last one to carry out what is committed.
  while (!ensemble_.coming(queue_of_late_node).empty()) std::this_thread::sleep_for(1ms);
  watch_for_it();
}

void ZooKeeperLateNode::watch_for_it() {
  room_.world.after(glance, [this] {
    if (gone_) return;
    if (ensemble_.coming(queue_of_late_node).empty()) return watch_for_it();
    ensemble_.cut(leader_, true);
    room_.world.after(cut_off, [this] { ensemble_.cut(leader_, false); });
    lead_to_follower(false);
    for (const auto& [id, connection] : room_.network.connections()) {
      if (&connection->process() == process_ && connection->held()) connection->cut(true);
    }
  });
}

void ZooKeeperLateNode::lead_to_follower(bool yes) {
  const auto& hosts = room_.network.hosts();
  Host* const follower = hosts[(leader_ + 1) % ensemble_.size()].get();
  room_.network.lead_elsewhere(*process_, *hosts[leader_], yes ? follower : nullptr);
}

std::string ZooKeeperLateNode::url() const {
  return "zookeeper://10.0.0." + std::to_string(leader_ + 1) + "/locks" + terms_;
}

}  // namespace simulation
