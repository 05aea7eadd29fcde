// SPDX-License-Identifier: MIT
#include "simulation/scene/zookeeper_stale_watch.hpp"

#include <mortise/client.hpp>
#include <mortise/zookeeper.hpp>

#include "simulation/zookeeper/numbers.hpp"

#include <system_error>
#include <thread>

namespace simulation {

void ZooKeeperStaleWatch::come() {
  begin("stale watch's owner", [this](Process& /*process*/) { own(); });
  begin("stale watch's reader", [this](Process& process) { read(process); });
  run_until_gone(30s, "a reader that comes back behind a writer is not served");
}

void ZooKeeperStaleWatch::own() {
  mortise::Client client(mortise::zookeeper::backend(url_));
  mortise::ReadWriteLock lock =
      client.make_read_write_lock(name_of_stale_watch, {.lease = session_});
  const mortise::Owner owner = mortise::Owner::unique();
  if (!lock.writer().acquire({.owner = owner})) return;
  act_ = Act::owns;
  until([this] { return act_ == Act::asks_again; });
  std::this_thread::sleep_for(to_be_told);
  // It writes the node that is watched.
  if (!lock.reader().acquire({.owner = owner})) return;
  std::this_thread::sleep_for(to_be_told);
  if (Connection* const its = room_.network.find(connection_)) its->flow();
  std::this_thread::sleep_for(to_be_told);
  const bool was_connected = is_connected();
  static_cast<void>(lock.writer().release(owner));
  std::this_thread::sleep_for(until_served);
  if (was_connected && is_connected() && !is_served_) {
    judge_.blame("L2", "a reader is not told that the writer before it has gone");
  }
  static_cast<void>(lock.reader().release(owner));
}

void ZooKeeperStaleWatch::read(Process& process) {
  wire_.listen(process, [this](Connection& from, std::int32_t type, std::string_view body) {
    asked(from, type, body);
  });
  mortise::Client client(mortise::zookeeper::backend(url_));
  client.check(2s);
  mortise::Lock lock =
      client.make_lock(name_of_stale_watch, {.lease = session_, .mode = mortise::Mode::shared});
  until([this] { return act_ == Act::owns; });
  act_ = Act::waits;
  std::error_code error;
  if (lock.acquire({.wait = silence() / 2}, error)) {
    judge_.blame("S1", "a reader has a lock that a writer holds");
  }
  std::this_thread::sleep_for(to_be_answered);
  act_ = Act::leaves;
  lock.lock();
  is_served_ = true;
  lock.unlock();
}

void ZooKeeperStaleWatch::asked(Connection& from, std::int32_t type, std::string_view body) {
  const Nanos now = room_.world.now();
  if (act_ == Act::waits && type == zookeeper::op::get_data && body.back() != '\0') {
    act_ = Act::watches;
    from.stall(Connection::Way::down, now + silence());
  } else if (act_ == Act::leaves && type == zookeeper::op::create_2) {
    act_ = Act::queues;
  } else if (act_ == Act::queues &&
             (type == zookeeper::op::get_children || type == zookeeper::op::get_children_2)) {
    act_ = Act::asks_again;
    connection_ = from.id();
    from.stall(Connection::Way::up, now + session_);
  }
}

}  // namespace simulation
