// SPDX-License-Identifier: MIT
#include "simulation/scene/postgres_doubts.hpp"

#include <mortise/client.hpp>

#include <string>
#include <system_error>
#include <thread>

namespace simulation {

void PostgresDoubts::come() {
  trial_.begin("doubter", [this](Process& process, mortise::Client& client) {
    cancel_the_wait(client, false);
    cancel_the_wait(client, true);
    using postgres::Point;
    lose_the_answer(process, client,
                    {.name = "brief", .point = Point::commits, .late = brief_process});
    lose_the_answer(process, client,
                    {.name = "lost", .point = Point::commits, .late = late_process});
    lose_the_answer(process, client,
                    {.name = "inserted",
                     .point = Point::commits,
                     .late = later_than_a_look,
                     .makes_row = false});
    lose_the_answer(process, client,
                    {.name = "late", .point = Point::begins, .late = late_process});
    lose_the_answer(process, client,
                    {.name = "too late", .point = Point::begins, .late = too_late_process});
    misread_the_clock(process, client);
    lose_the_answer(
        process, client,
        {.name = "misread", .point = Point::begins, .late = later_than_a_look, .makes_row = false});
  });
  trial_.run_until_gone();
  trial_.delay({});
}

void PostgresDoubts::cancel_the_wait(mortise::Client& client, bool refuse) {
  World& world = trial_.room().world;
  postgres::PostgresModel& server = trial_.server();
  mortise::Lock lock = client.make_lock(std::string(doubtful) + (refuse ? "refused" : "cancelled"));
  lock.lock();  // its row is there
  lock.unlock();
  server.set_standby_gone(true);
  world.after(until_it_waits, [&server, refuse] {
    server.refuse_takes(refuse);
    server.cancel_all();
    server.set_standby_gone(false);
  });
  world.after(until_it_waits + until_it_is_refused, [&server] { server.refuse_takes(false); });
  try_and_look(lock, refuse ? "whose repetition is refused" : "that is in doubt");
  std::this_thread::sleep_for(until_it_waits + until_it_is_refused);
}

// Before its commit is seen: what is asked anew finds the row locked, or finds none. Or before
// anything has happened: that is granted and released, and then the older copy is worked on.
void PostgresDoubts::lose_the_answer(Process& process, mortise::Client& client, const Loss& loss) {
  if (trial_.judge().verdict()) return;
  mortise::Lock lock = client.make_lock(std::string(doubtful) + loss.name);
  if (loss.makes_row) {
    lock.lock();
    lock.unlock();
  }
  stop_the_next(process, loss.point, loss.late);
  try_and_look(lock, loss.name);
  std::this_thread::sleep_for(to_take_it_back);
  trial_.delay({});
  if (trial_.server().holder(lock.name()) && !trial_.judge().verdict()) {
    trial_.judge().blame("S5",
                         std::string("what was asked for once more is released, and taken again by "
                                     "an older copy that comes late: ") +
                             loss.name);
  }
}

// A request stands still on its way. So the client takes the server's clock to be ahead, and what
// it asks next is void later.
void PostgresDoubts::misread_the_clock(const Process& process, mortise::Client& client) {
  Room& room = trial_.room();
  trial_.delay([&room, &process, slow = false](ConnectionId id, postgres::Statement statement,
                                               postgres::Point where) mutable {
    const Connection* const from = room.network.find(id);
    const bool its = from != nullptr && &from->process() == &process;
    const bool takes =
        statement == postgres::Statement::take || statement == postgres::Statement::look;
    if (slow || !its || !takes || where != postgres::Point::begins) return Nanos(0);
    slow = true;
    return slow_reading;
  });
  mortise::Lock lock = client.make_lock(std::string(doubtful) + "misread");
  std::error_code error;
  if (lock.try_lock_for(2 * slow_reading, error)) lock.unlock();
  trial_.delay({});
}

void PostgresDoubts::stop_the_next(const Process& process, postgres::Point point, Nanos late) {
  Room& room = trial_.room();
  trial_.delay([&room, &process, point, late, lost = false](ConnectionId id, postgres::Statement,
                                                            postgres::Point where) mutable {
    const Connection* const from = room.network.find(id);
    const bool its = from != nullptr && &from->process() == &process;
    if (lost || !its || where != point) return Nanos(0);
    lost = true;
    // Not now: the server is in the middle of it.
    room.world.after(Nanos(0), [&room, id] {
      if (Connection* const connection = room.network.find(id)) {
        const auto keeper = connection->shared_from_this();
        keeper->cut(true);
      }
    });
    return late;
  });
}

void PostgresDoubts::try_and_look(mortise::Lock& lock, const char* words) {
  std::error_code error;
  const bool got = lock.try_lock(error);
  if (got) return lock.unlock();
  // No other client wants these names.
  if (!error) trial_.judge().blame("S5", std::string("a try ") + words + " is told of a holder");
  std::this_thread::sleep_for(to_take_it_back);
  if (!trial_.server().holder(lock.name())) return;
  trial_.judge().blame(
      "S5", std::string("a try ") + words + " fails (" + error.message() + "), and its hold stays");
}

}  // namespace simulation
