// SPDX-License-Identifier: MIT
#include "simulation/scene/postgres_lost_grants.hpp"

#include <mortise/client.hpp>
#include <mortise/postgres.hpp>

#include <cstdint>
#include <thread>

namespace simulation {
namespace {

postgres::Options server_options(Nanos flush, bool in_recovery) {
  postgres::Options options;
  options.standby = in_recovery ? postgres::Standby::none : postgres::Standby::asynchronous;
  options.in_recovery = in_recovery;
  options.flush = flush;
  options.pause_every = 0;
  return options;
}

mortise::Token grant(mortise::Lock& lock) {
  lock.lock();
  const mortise::Token token = lock.token();
  lock.unlock();
  return token;
}

}  // namespace

PostgresLostGrants::PostgresLostGrants(Room& room, Judge& judge, Nanos flush,
                                       std::string_view mistake, Random random)
    : trial_(room, judge, server_options(flush, false), mistake),
      standby_host_(room.network.host("standby of a trial")),
      standby_(standby_host_, server_options(flush, true)),
      random_(random) {
  standby_.make_mistake(mistake);
  standby_host_.serve(standby_);
}

std::string PostgresLostGrants::url() {
  const auto address = [](const Host& host) {
    return "10.0.0." + std::to_string(host.address() & 0xFFU) + ":5432";
  };
  return "postgresql://shop@" + address(trial_.host()) + "," + address(standby_host_) +
         "/orders?sslmode=disable";
}

void PostgresLostGrants::come() {
  trial_.begin("survivor", [this](Process&, mortise::Client&) {
    mortise::Client client(mortise::postgres::backend(url()));
    lose_grants(client);
  });
  trial_.run_until_gone();
}

void PostgresLostGrants::lose_grants(mortise::Client& client) {
  mortise::Lock lock = client.make_lock(granted_again);
  grant(lock);
  std::this_thread::sleep_for(until_it_is_shipped);
  trial_.server().set_standby_gone(true);
  mortise::Token largest;
  for (std::uint64_t lost = 1 + random_.below(most_lost); lost > 0; --lost) largest = grant(lock);
  fail_over(random_.spread(10ms, 1s));
  const mortise::Token token = grant(lock);
  if (token > largest) return;
  trial_.judge().blame("S2", "behind a fail-over that lost grants the token is " +
                                 std::to_string(token.value()) + ", after " +
                                 std::to_string(largest.value()));
}

void PostgresLostGrants::fail_over(Nanos down) {
  World& world = trial_.room().world;
  Host& primary = trial_.host();
  // Not by a thread of the client's.
  world.after(Nanos(0), [&world, &primary] { primary.restart(world.now() + never_back, true); });
  const Nanos behind = down * static_cast<int>(random_.below(10)) / 10;
  world.after(down, [this, &primary, behind] {
    standby_host_.step_wall_clock(primary.wall() - standby_host_.wall() - behind);
    standby_.promote(trial_.server());
  });
  std::this_thread::sleep_for(down + Nanos(1ms));
}

}  // namespace simulation
