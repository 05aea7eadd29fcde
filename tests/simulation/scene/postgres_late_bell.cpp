// SPDX-License-Identifier: MIT
#include "simulation/scene/postgres_late_bell.hpp"

#include <mortise/client.hpp>

#include <string>
#include <thread>
#include <vector>

namespace simulation {

void PostgresLateBell::come() {
  trial_.delay([](ConnectionId, postgres::Statement statement, postgres::Point point) {
    const bool rings = statement == postgres::Statement::wake && point == postgres::Point::begins;
    return rings ? line_of_others : Nanos(0);
  });
  have_a_waiter();
  for (std::uint64_t place = first_place; place <= last_place; ++place) {
    if (!trial_.judge().verdict()) tell_and_ask(place);
    if (!trial_.judge().verdict()) ask_when_another_comes(place);
  }
  if (!trial_.judge().verdict()) tell_and_ask_together();
  trial_.delay({});
}

void PostgresLateBell::have_a_waiter() {
  trial_.begin("ringer", [this](Process&, mortise::Client& client) {
    mortise::Lock lock = client.make_lock(rung_for);
    lock.lock();
    trial_.begin("rung for", [](Process&, mortise::Client& other) {
      static_cast<void>(other.make_lock(rung_for).try_lock_for(that_wait));
    });
    std::this_thread::sleep_for(2 * that_wait);
    lock.unlock();
  });
  trial_.run_until_gone();
}

// A client that has just come: it has one connection.
void PostgresLateBell::tell_and_ask(std::uint64_t place) {
  trial_.begin("ringer", [this, place](Process& process, mortise::Client& client) {
    mortise::Lock rung = client.make_lock(rung_for);
    rung.lock();
    std::thread other([this, place, &process, &client] {
      World& world = trial_.room().world;
      mortise::Lock wanted = client.make_lock(wanted_then);
      std::this_thread::sleep_for(before_it_asks);
      world.stop_at_place(process, place, stop_before_it_sends);
      const Nanos asked = world.now();
      wanted.lock();
      const Nanos took = world.now() - asked;
      world.stop_at_place(process, 0, Nanos(0));
      if (took > stop_before_it_sends + longest_way_around) {
        trial_.judge().blame("L2", "a free lock is asked for, and waits for " +
                                       std::to_string(took.count()) +
                                       " ns behind what tells others of another one");
      }
      wanted.unlock();
    });
    std::this_thread::sleep_for(before_it_tells);
    rung.unlock();
    other.join();
  });
  trial_.run_until_gone();
}

// Whoever asks just before it has a second connection opened, and those who wait go there. It has
// chosen the first one by then, and waits there only afterwards.
void PostgresLateBell::ask_when_another_comes(std::uint64_t place) {
  trial_.begin("ringer", [this, place](Process& process, mortise::Client& client) {
    mortise::Lock rung = client.make_lock(rung_for);
    mortise::Lock wanted = client.make_lock(wanted_then);
    rung.lock();
    std::thread early([&client] {
      std::this_thread::sleep_for(before_it_tells + before_it_asks);
      static_cast<void>(client.make_lock(asked_about).holder());
    });
    std::thread late([this, place, &process, &wanted] {
      World& world = trial_.room().world;
      std::this_thread::sleep_for(before_it_tells + before_it_asks + just_behind);
      world.stop_at_place(process, place, stop_before_it_sends);
      const Nanos asked = world.now();
      wanted.lock();
      const Nanos took = world.now() - asked;
      world.stop_at_place(process, 0, Nanos(0));
      if (took > stop_before_it_sends + longest_way_around) {
        trial_.judge().blame("L2",
                             "a free lock is asked for while another connection comes, and "
                             "waits for " +
                                 std::to_string(took.count()) +
                                 " ns behind what tells others of another one");
      }
      wanted.unlock();
    });
    std::this_thread::sleep_for(before_it_tells);
    rung.unlock();
    early.join();
    late.join();
  });
  trial_.run_until_gone();
}

// One connection for takes, and one for all else. On that one the release is answered while a
// question is under way and another one waits. What tells waits as well, for the next wave, and a
// third question with it, which has to follow the first: it is about the same name.
void PostgresLateBell::tell_and_ask_together() {
  trial_.delay([](ConnectionId, postgres::Statement statement, postgres::Point point) {
    const bool begins = point == postgres::Point::begins;
    switch (statement) {
      case postgres::Statement::wake: return begins ? line_of_others : Nanos(0);
      case postgres::Statement::inspect: return begins ? late_question : Nanos(0);
      case postgres::Statement::release: return begins ? Nanos(0) : late_release / 2;
      default: return Nanos(0);
    }
  });
  trial_.begin("ringer", [this](Process&, mortise::Client& client) {
    mortise::Lock rung = client.make_lock(rung_for);
    mortise::Lock question = client.make_lock(asked_about);
    const World& world = trial_.room().world;
    std::vector<std::thread> threads;
    const auto ask = [&threads](const mortise::Lock& about) {
      threads.emplace_back([&about] { static_cast<void>(about.holder()); });
      std::this_thread::sleep_for(between_waves);
    };
    ask(rung);
    ask(question);  // the second connection is made
    std::this_thread::sleep_for(3 * late_question);
    rung.lock();
    std::thread requester([&] {
      std::this_thread::sleep_for(between_waves);
      ask(question);
      ask(question);
    });
    rung.unlock();
    requester.join();
    const Nanos asked = world.now();
    static_cast<void>(question.holder());
    const Nanos took = world.now() - asked;
    if (took > 3 * late_question + longest_way_around) {
      trial_.judge().blame("L7", "a question waits for " + std::to_string(took.count()) +
                                     " ns behind what tells others of a free lock");
    }
    for (std::thread& thread : threads) thread.join();
  });
  trial_.run_until_gone();
}

}  // namespace simulation
