// SPDX-License-Identifier: MIT
// cancel.sql.
#include "simulation/postgres/functions.hpp"

#include <cstdlib>
#include <utility>

namespace simulation::postgres {
Task<std::string> cancel(Session& session, const std::string& name, const std::string& attempt,
                         bool in_doubt) {
  const bool wakes = !session.db.makes(Mistake::release_waits_for_notify);
  session.only_looks(false);
  LockTuple* const tuple = co_await session.lock_row(name, Strength::no_key_update, true);
  co_await session.step();
  if (tuple == nullptr && session.see(name) != nullptr) co_return "L";
  const Moment t = session.clock();
  if (tuple == nullptr) {
    if (!in_doubt || session.db.makes(Mistake::cancel_misses_an_insertion)) co_return "B";
    // A request of its own may be inserting the row.
    LockRow nobodys{.name = name};
    const LockTuple* const added = co_await add_row(session, std::move(nobodys), infinity);
    co_return added != nullptr ? "B" : "L";
  }
  LockRow row = session.row(*tuple);
  const bool found =
      !session.db.makes(Mistake::cancel_leaves_ticket) && delete_ticket(session, name, attempt);
  co_await session.step();
  const bool shared = !is_run(name) && row.lease == 0;
  bool next_one = found && (row.expires_at <= t || (!is_run(name) && row.lease <= 0));
  const LockRow* const head = shared ? session.see(share_name(name, "")) : nullptr;
  if (head != nullptr && head->label == attempt && head->expires_at > t) {
    LockRow opened = *head;
    opened.expires_at = opened.waiters_until = minus_infinity;
    rewrite_share(session, std::move(opened));
    next_one = true;
  }
  if (next_one && !wakes) co_await tell(session, name, t);
  if (const LockRow* const its = share(session, name, attempt);
      shared && row.expires_at > t && its != nullptr && its->expires_at > t) {
    row.attempt = attempt;
    row.number = its->number;
    row.lease = its->lease;
    row.expires_at = its->expires_at;
  }
  const bool owner = row.attempt == attempt && row.expires_at > t;
  if (owner && !session.db.makes(Mistake::cancel_leaves_hold)) {
    session.commit_on_disk();
    co_return "G " + std::to_string(row.number) + " " +
        std::to_string(std::abs(row.lease) - (row.expires_at - t)) + " " +
        std::to_string(std::abs(row.lease));
  }
  if (!next_one || !wakes) co_return "B";
  session.db.passed_on = session.db.site.uptime();
  co_return "W";
}

}  // namespace simulation::postgres
