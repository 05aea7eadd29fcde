// SPDX-License-Identifier: MIT
#include "simulation/scene/zookeeper_old_word.hpp"

#include <mortise/client.hpp>
#include <mortise/zookeeper.hpp>

#include "simulation/zookeeper/numbers.hpp"

#include <stop_token>
#include <system_error>
#include <thread>

namespace simulation {

void ZooKeeperOldWord::come() {
  begin("old word's holder", [this](Process& process) { hold(process); });
  begin("old word's waiter", [this](Process& process) { wait(process); });
  // In some worlds a pulse and a list of a waiter never come close to each other.
  room_.world.after(to_meet, [this] { act_ = Act::is_cut_off; });
  run_until_gone(60s, "a waiter that gives up, or the next one, is not served");
}

void ZooKeeperOldWord::hold(Process& /*process*/) {
  mortise::Client client(mortise::zookeeper::backend(url_));
  mortise::Lock lock = client.make_lock(name_of_old_word, {.lease = session_});
  lock.lock();
  act_ = Act::waits;
  until([this] { return given_up_; });
  lock.unlock();
  if (!lock.try_lock_for(session_)) {
    judge_.blame("L2", "a node that was asked for when the one before it had gone keeps the name");
  } else {
    lock.unlock();
  }
  over_ = true;
}

void ZooKeeperOldWord::wait(Process& process) {
  waiter_ = &process;
  until([this] { return act_ == Act::waits; });
  wire_.listen(process, [this](Connection& from, std::int32_t type, std::string_view /*body*/) {
    asked(from, type);
  });
  mortise::Client client(mortise::zookeeper::backend(url_));
  std::stop_source end;
  std::thread other([&] {
    until([this] { return act_ == Act::is_cut_off; });
    end.request_stop();
  });
  mortise::Lock lock = client.make_lock(name_of_old_word, {.lease = session_});
  std::error_code error;
  if (lock.acquire({.stop = end.get_token()}, error)) {
    judge_.blame("S1", "a waiter has a name that is held");
  }
  other.join();
  given_up_ = true;
  until([this] { return over_; });  // its session stands
}

void ZooKeeperOldWord::asked(Connection& from, std::int32_t type) {
  namespace op = zookeeper::op;
  const auto queue = ensemble_.queue(queue_of_old_word);
  if (act_ == Act::waits && type == op::sync && queue.size() == 2) {
    act_ = Act::pulses;
    const Nanos silence = session_ / parts_of_silence;
    from.stall(Connection::Way::down, room_.world.now() + silence);
    begin_anew_unless(Act::looks, silence);
    room_.world.after(Nanos(0), [this, node = queue[1].node] {
      static_cast<void>(ensemble_.remove(std::string(queue_of_old_word) + "/" + node));
    });
  } else if (act_ == Act::pulses && type == op::get_children && queue.size() == 1) {
    act_ = Act::looks;
    begin_anew_unless(Act::is_cut_off, 10 * to_be_answered);
    from.stall(Connection::Way::down, room_.world.now() + to_be_answered);
    room_.world.after(to_be_answered, [this, id = from.id()] {
      if (Connection* const its = room_.network.find(id)) its->flow();
    });
  } else if (act_ == Act::looks && type == op::create_2) {
    answer_once(from);
  }
}

void ZooKeeperOldWord::begin_anew_unless(Act act, Nanos after) {
  room_.world.after(after, [this, act, turn = ++turn_] {
    if (turn == turn_ && act_ < act) act_ = Act::waits;
  });
}

void ZooKeeperOldWord::answer_once(Connection& from) {
  from.stall(Connection::Way::down, room_.world.now() + to_be_answered);
  room_.world.after(to_be_answered, [this, id = from.id()] {
    Connection* const its = room_.network.find(id);
    if (its == nullptr) return;
    its->trickle(gap);
    room_.world.after(gap / 2, [this, id] {
      Connection* const same = room_.network.find(id);
      if (same == nullptr || act_ != Act::looks) return;
      for (const auto& host : room_.network.hosts()) {
        room_.network.part(*waiter_, *host, room_.world.now() + cut_off);
      }
      same->cut(true);
      act_ = Act::is_cut_off;
    });
  });
}

}  // namespace simulation
