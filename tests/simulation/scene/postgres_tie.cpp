// SPDX-License-Identifier: MIT
#include "simulation/scene/postgres_tie.hpp"

#include <mortise/guard.hpp>
#include <mortise/postgres.hpp>

#include <libpq-fe.h>

#include <chrono>
#include <memory>
#include <thread>

namespace simulation {
namespace {

using Session = std::shared_ptr<PGconn>;

bool run(const Session& session, const char* text) {
  PGresult* const result = PQexec(session.get(), text);
  const bool good = PQresultStatus(result) == PGRES_COMMAND_OK;
  PQclear(result);
  return good;
}

bool tied(const Session& session, mortise::Lock& lock, mortise::Owner owner, const Tie& tie) {
  try {
    // Enters the hold once more, which asks no server.
    mortise::AcquireOptions options;
    options.wait = Nanos(0);
    options.owner = owner;
    mortise::Guard guard(lock, options);
    if (!guard) return false;
    mortise::postgres::guard(session.get(), guard);
    return true;
  } catch (const mortise::Error& error) {
    const bool may_be = error.code() == mortise::Errc::lost ||
                        error.code() == mortise::Errc::unavailable ||
                        (error.code() == mortise::Errc::closed && tie.closing());
    if (!may_be) tie.wrong = std::string("guard() says: ") + error.what();
    return false;
  }
}

}  // namespace

std::function<void()> tie_transaction(mortise::Lock& lock, mortise::Owner owner, Random& random,
                                      const Tie& tie) {
  const Session session(PQconnectdb(tie.url.c_str()), &PQfinish);
  if (PQstatus(session.get()) != CONNECTION_OK || !run(session, "BEGIN")) return {};
  if (!tied(session, lock, owner, tie)) return {};
  const Nanos time = random.spread(Nanos(1'000), tie.longest);
  const auto end = [session, time, &calm = tie.calm, over = tie.over] {
    if (!calm) std::this_thread::sleep_for(time);
    run(session, "COMMIT");
    over();
  };
  if (!tie.calm && random.chance(0.5)) return end;
  end();
  return {};
}

}  // namespace simulation
