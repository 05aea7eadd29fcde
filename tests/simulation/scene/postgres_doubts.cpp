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
    lose_the_answer(process, client, postgres::Point::commits);
    lose_the_answer(process, client, postgres::Point::begins);
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

// Before its commit is seen: what is asked anew finds the row locked. Or before anything has
// happened: that is granted and released, and then the older copy is worked on.
void PostgresDoubts::lose_the_answer(Process& process, mortise::Client& client,
                                     postgres::Point point) {
  const bool commits = point == postgres::Point::commits;
  mortise::Lock lock = client.make_lock(std::string(doubtful) + (commits ? "lost" : "late"));
  lock.lock();
  lock.unlock();
  stop_the_next(process, point);
  try_and_look(lock, commits ? "whose answer is lost" : "that is asked anew");
  std::this_thread::sleep_for(to_take_it_back);
  if (trial_.server().holder(lock.name()) && !trial_.judge().verdict()) {
    trial_.judge().blame("S5",
                         "what was asked for once more is released, and taken again by an "
                         "older copy that comes late");
  }
}

void PostgresDoubts::stop_the_next(const Process& process, postgres::Point point) {
  Room& room = trial_.room();
  trial_.delay([&room, &process, point, lost = false](ConnectionId id, postgres::Statement,
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
    return late_process;
  });
}

void PostgresDoubts::try_and_look(mortise::Lock& lock, const char* words) {
  std::error_code error;
  const bool got = lock.try_lock(error);
  if (got) return lock.unlock();
  std::this_thread::sleep_for(to_take_it_back);
  if (!trial_.server().holder(lock.name())) return;
  trial_.judge().blame(
      "S5", std::string("a try ") + words + " fails (" + error.message() + "), and its hold stays");
}

}  // namespace simulation
