// SPDX-License-Identifier: MIT
#include "simulation/scene/zookeeper_refused_reader.hpp"

#include <mortise/client.hpp>
#include <mortise/zookeeper.hpp>

#include "simulation/zookeeper/numbers.hpp"

#include <thread>

namespace simulation {

void ZooKeeperRefusedReader::come() {
  begin("refused reader", [this](Process& process) { read(process); });
  begin("writer in between", [this](Process& /*process*/) { write(); });
  run_until_gone(30s, "who was refused beside its own hold is not served");
}

void ZooKeeperRefusedReader::read(Process& process) {
  wire_.listen(process, [this](Connection& from, std::int32_t type, std::string_view /*body*/) {
    asked(from, type);
  });
  mortise::Client client(mortise::zookeeper::backend(url_));
  mortise::ReadWriteLock lock =
      client.make_read_write_lock(name_of_refused_reader, {.lease = session_});
  const mortise::Owner owner = mortise::Owner::unique();
  if (!lock.writer().acquire({.owner = owner})) return;
  act_ = Act::owns;
  until([this] { return ensemble_.queue(queue_of_refused_reader).size() == 2; });
  refuse_all(true);
  act_ = Act::asks;
  std::thread other([&] {
    if (!lock.reader().acquire({.owner = owner})) return;
    if (written_ && lock.reader().token(owner) < *written_) {
      judge_.blame("S2", "a reader's token is smaller than that of whoever had the lock before it");
    }
    static_cast<void>(lock.reader().release(owner));
  });
  until([this] { return act_ == Act::is_refused; });
  std::this_thread::sleep_for(to_be_answered);
  room_.world.after(to_be_answered, [this] {
    act_ = Act::asks_anew;
    refuse_all(false);
  });
  static_cast<void>(lock.writer().release(owner));
  other.join();
}

void ZooKeeperRefusedReader::write() {
  until([this] { return act_ >= Act::owns; });
  mortise::Client client(mortise::zookeeper::backend(url_));
  mortise::Lock lock = client.make_lock(name_of_refused_reader, {.lease = session_});
  lock.lock();
  written_ = lock.token();
  until([this] { return act_ == Act::is_unheard; });
  std::this_thread::sleep_for(to_be_answered);
  lock.unlock();
}

void ZooKeeperRefusedReader::asked(Connection& from, std::int32_t type) {
  if (act_ == Act::asks && type == zookeeper::op::multi) act_ = Act::is_refused;
  if (act_ != Act::asks_anew || type != zookeeper::op::create_2) return;
  act_ = Act::is_unheard;
  from.stall(Connection::Way::down, never);
  cut_after(to_be_answered, from);
}

void ZooKeeperRefusedReader::refuse_all(bool yes) {
  for (std::size_t i = 0; i < ensemble_.size(); ++i) ensemble_.throttle_all(i, yes);
}

}  // namespace simulation
