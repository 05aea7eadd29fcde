// SPDX-License-Identifier: MIT
#include "simulation/scene/zookeeper_shorter_session.hpp"

#include <mortise/client.hpp>
#include <mortise/zookeeper.hpp>

#include <thread>

namespace simulation {

void ZooKeeperShorterSession::come() {
  if (session_ < shorter * ensemble_.shortest_session()) return;
  begin("shortened", [this](Process& process) { hold(process); });
  begin("next behind it", [this](Process& /*process*/) { wait(); });
  run_until_gone(60s, "behind a session that was shortened nobody is served");
}

void ZooKeeperShorterSession::hold(Process& process) {
  mortise::Client client(mortise::zookeeper::backend(url_));
  mortise::Lock lock = client.make_lock(name_of_shorter_session, {.lease = session_});
  lock.lock();
  wire_.listen(process, [this](Connection& /*from*/, std::int32_t /*type*/,
                               std::string_view /*body*/) { asks_ = true; });
  held_ = true;
  until([this] { return ensemble_.queue(queue_of_shorter_session).size() == 2; });
  ensemble_.limit_sessions(ensemble_.shortest_session());
  connect_anew(ensemble_.queue(queue_of_shorter_session).front().session);
  // Whoever asks for something has heard for how long it is connected. With its next renewal the
  // session's new time counts anyway.
  asks_ = false;
  until([this] { return asks_; });
  ensemble_.limit_sessions(Nanos::zero());
  for (const auto& host : room_.network.hosts()) {
    room_.network.part(process, *host, room_.world.now() + 2 * session_);
  }
  while (!served_) std::this_thread::sleep_for(a_look);
  if (lock.valid_for() > 0ns) {
    judge_.blame("S1", "a hold is believed in for longer than its session lasts by now");
  }
  std::error_code error;
  static_cast<void>(lock.release(error));
}

void ZooKeeperShorterSession::connect_anew(std::int64_t session) {
  const auto before = ensemble_.connection_of(session);
  if (Connection* const its = before ? room_.network.find(*before) : nullptr) its->cut(true);
  until([this, session, before] {
    const auto now = ensemble_.connection_of(session);
    return now && now != before;
  });
}

void ZooKeeperShorterSession::wait() {
  until([this] { return held_; });
  mortise::Client client(mortise::zookeeper::backend(url_));
  mortise::Lock lock = client.make_lock(name_of_shorter_session, {.lease = session_});
  lock.lock();
  served_ = true;
  lock.unlock();
}

}  // namespace simulation
