// SPDX-License-Identifier: MIT
#include "simulation/scene/postgres_overtaken.hpp"

#include <mortise/client.hpp>

#include <string>
#include <system_error>
#include <thread>

namespace simulation {

void PostgresOvertaken::come() {
  trial_.delay([this](ConnectionId id, postgres::Statement statement, postgres::Point point) {
    if (point != postgres::Point::begins) return Nanos(0);
    if (statement == postgres::Statement::inspect) return answer_of_the_reader;
    if (statement != postgres::Statement::take || !asks_ || asked_by_) return Nanos(0);
    asked_by_ = id;
    return late_take;
  });
  for (std::uint64_t place = first_place; place <= last_place; ++place) {
    if (trial_.judge().verdict()) break;
    trial_.begin("overtaken", [this, place](Process& process, mortise::Client& client) {
      take_back(process, client, place);
    });
    trial_.run_until_gone();
    trial_.begin(
        "overtaken",
        [this, place](Process& process, mortise::Client& client) {
          take_back_anew(process, client, place);
        },
        "&mortise.connections=1");
    trial_.run_until_gone();
  }
  trial_.delay({});
}

void PostgresOvertaken::take_back(Process& process, mortise::Client& client, std::uint64_t place) {
  mortise::Lock wanted = client.make_lock(wanted_for_a_while);
  mortise::Lock question = client.make_lock(read_meanwhile);
  wanted.lock();  // its row is there
  wanted.unlock();
  const auto read = [&question] { static_cast<void>(question.holder()); };
  {
    // Two questions at once: a second connection is made.
    std::thread first(read);
    std::this_thread::sleep_for(until_it_reads);
    static_cast<void>(wanted.holder());
    first.join();
  }
  std::thread reader(read);
  std::this_thread::sleep_for(until_it_reads);
  World& world = trial_.room().world;
  world.after(patience_of_the_waiter - just_before_that, [this, &process, place] {
    trial_.room().world.stop_at_place(process, place, stop_before_it_tells);
    break_it();
  });
  try_for_a_while(process, wanted);
  reader.join();
}

// The waiter itself stands still, when it takes its attempt back: what it is about to send goes by
// another life of its connection, the only one.
void PostgresOvertaken::take_back_anew(Process& process, mortise::Client& client,
                                       std::uint64_t place) {
  mortise::Lock wanted = client.make_lock(wanted_for_a_while);
  wanted.lock();
  wanted.unlock();
  World& world = trial_.room().world;
  world.after(patience_of_the_waiter - just_before_that, [this, &process, place] {
    trial_.room().world.stop_at_place(process, place, until_it_is_up_again, [this] { break_it(); });
  });
  // Then another thread reads, and connects.
  std::thread reader([&client] {
    const mortise::Lock question = client.make_lock(read_meanwhile);
    std::this_thread::sleep_for(until_it_reads);
    static_cast<void>(question.holder());
  });
  try_for_a_while(process, wanted);
  reader.join();
}

void PostgresOvertaken::try_for_a_while(Process& process, mortise::Lock& wanted) {
  asks_ = true;
  asked_by_.reset();
  World& world = trial_.room().world;
  std::error_code error;
  const bool got = wanted.try_lock_for(patience_of_the_waiter, error);
  if (got) wanted.unlock();
  asks_ = false;
  world.stop_at_place(process, 0, Nanos(0));
  std::this_thread::sleep_for(until_all_is_over);
  if (!trial_.server().holder(wanted_for_a_while)) return;
  trial_.judge().blame("S5", "an attempt was taken back (" + error.message() +
                                 "), and what it had asked for before came later, and stays");
}

void PostgresOvertaken::break_it() const {
  Room& room = trial_.room();
  Connection* const connection = asked_by_ ? room.network.find(*asked_by_) : nullptr;
  if (connection == nullptr) return;
  const auto keeper = connection->shared_from_this();
  keeper->cut(true);
}

}  // namespace simulation
