// SPDX-License-Identifier: MIT
#include "simulation/scene/redlock_readers.hpp"

#include <mortise/redlock.hpp>

#include <chrono>
#include <thread>
#include <vector>

namespace simulation {

void RedlockReaders::come() {
  judge_.expect_readers(false);
  judge_.expect_no_order();
  for (std::size_t i = 0; i < clients; ++i) {
    begin("reader", [this](Process& process) { read(process); });
    begin("writer", [this](Process& process) { write(process); });
  }
  begin("last", [this](Process& process) { wait(process); });
  run_until_gone(30s, "of readers and writers somebody is not served");
}

template <class Use>
void RedlockReaders::hold(Mine& mine, std::size_t name, Use use) {
  const Nanos asked = room_.world.now();
  mortise::Lock& lock = mine.lock;
  lock.lock();
  const mortise::Owner owner = mortise::Owner::this_thread();
  const mortise::Token token = lock.token();
  const Judge::HoldNumber number = judge_.granted(
      name, {.process = &mine.process,
             .left =
                 [&lock, owner, token] {
                   return lock.token(owner) == token ? Nanos(lock.valid_for(owner)) : Nanos(0);
                 },
             .token = token,
             .shared = mine.reads,
             .asked_at = asked});
  use(room_.world.now() - asked);
  judge_.releasing(name, number);
  lock.unlock();
}

void RedlockReaders::come_for_ever(Mine mine, Act as_long_as) {
  while (act_ == as_long_as) {
    hold(mine, crowded_name, [](Nanos /*took*/) { std::this_thread::sleep_for(a_look); });
  }
}

void RedlockReaders::read(Process& process) {
  mortise::Client client(mortise::redlock::backend(url_));
  client.check(1s);
  until([this] { return act_ >= Act::is_read; });
  std::thread other([&] {
    std::this_thread::sleep_for(a_look / 2);
    come_for_ever({process, client.make_lock(crowded, reading), true}, Act::is_read);
  });
  come_for_ever({process, client.make_lock(crowded, reading), true}, Act::is_read);
  other.join();
  until([this] { return act_ >= Act::is_held; });
  Mine mine{process, client.make_lock(quiet, reading), true};
  ++waiting_;
  hold(mine, quiet_name, [this](Nanos /*took*/) {
    ++reading_;
    until([this] { return act_ == Act::ends; });
  });
}

void RedlockReaders::write(Process& process) {
  mortise::Client client(mortise::redlock::backend(url_));
  client.check(1s);
  until([this] { return act_ >= Act::is_written; });
  come_for_ever({process, client.make_lock(crowded, writing)}, Act::is_written);
}

void RedlockReaders::take(Mine& mine, Nanos within, const char* words) {
  hold(mine, crowded_name, [&](Nanos took) {
    if (took > within) judge_.blame("L5", words + std::to_string(took.count()) + " ns");
  });
}

void RedlockReaders::wait(Process& process) {
  mortise::Client client(mortise::redlock::backend(url_));
  client.check(1s);
  Mine writer{process, client.make_lock(crowded, writing)};
  Mine reader{process, client.make_lock(crowded, reading), true};
  go_on(Act::is_read);
  for (int i = 0; i < 2; ++i) {
    std::this_thread::sleep_for(random_.between(to_settle_down, 2 * to_settle_down));
    take(writer, bound, "a writer has waited for readers who came later, for ");
  }
  go_on(Act::is_written);
  for (int i = 0; i < 2; ++i) {
    std::this_thread::sleep_for(random_.between(to_settle_down, 2 * to_settle_down));
    take(reader, bound_of_a_reader, "a reader has waited for writers who came later, for ");
  }
  Mine alone{process, client.make_lock(quiet, writing)};
  hold(alone, quiet_name, [this](Nanos /*took*/) {
    go_on(Act::is_held);
    until([this] { return waiting_ == clients; });
    std::this_thread::sleep_for(to_settle_down);
    go_on(Act::is_let_go_of);
  });
  std::this_thread::sleep_for(bound);
  if (reading_ < clients) {
    judge_.blame("L6", "of " + std::to_string(clients) + " who waited to read only " +
                           std::to_string(reading_) + " do so");
  }
  go_on(Act::ends);
}

}  // namespace simulation
