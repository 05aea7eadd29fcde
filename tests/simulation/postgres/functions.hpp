// SPDX-License-Identifier: MIT
// The functions of src/postgres/sql, one to one in C++, each in the file that is named as its SQL.
// A step() stands wherever one SQL statement of a function ends and the next one begins.
#pragma once

#include "simulation/postgres/session.hpp"
#include "simulation/postgres/task.hpp"
#include "simulation/postgres/value.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace simulation::postgres {

constexpr Moment second = in_a_second;
/// A ticket whose owner was not heard of for so long counts no more.
constexpr Moment ticket_lasts = 3 * second;

/// `how` of take.sql.
struct How {
  explicit How(std::int64_t bits)
      : waits((bits & 1) != 0), fair((bits & 2) != 0), own_session((bits & 8) != 0) {}
  bool waits;
  bool fair;
  bool own_session;
};

/// The arguments of take() and look.sql.
struct TakeRequest {
  std::string name{};
  std::string attempt{};
  std::int64_t lease = 0;  ///< below zero: it shares the name
  std::string label{};
  std::int64_t how = 0;
  std::string beside{};
  Moment void_after = infinity;
  bool seen_run = false;  ///< of a key: somebody was seen to run it

  [[nodiscard]] bool shares() const noexcept { return lease < 0; }
};

/// The arguments of ask_key.sql and begin_key(); `take` is of the key's row of `run`.
struct KeyRequest {
  std::string key{};
  TakeRequest take{};
  std::string fingerprint{};
  std::int64_t repeats = 0;
  std::int64_t keeps = 0;  ///< microseconds
};

/// Those of renew_share().
struct ShareRenewals {
  std::vector<std::string> names{};
  std::vector<std::string> attempts{};
  std::vector<std::int64_t> numbers{};
  std::vector<std::int64_t> leases{};
};

/// What became of a run, as conclude_key() is told it.
struct KeyConclusion {
  std::string key{};
  std::string attempt{};
  std::int64_t number = 0;
  bool confirms = false;
  bool succeeds = false;
  std::string bytes{};
  std::int64_t keeps = 0;
};

/// Microseconds since 1970: `extract(epoch FROM t) * 1000000`.
[[nodiscard]] constexpr std::int64_t epoch(Moment t) noexcept { return t + epoch_offset; }

/// @param t when the row was its own
[[nodiscard]] bool came_late(const Session& session, Moment t, Moment void_after);
/// settle() of schema.sql.
void settle(Session& session);
/// add_row.sql: its number is drawn here, and its end from the lease. @return null: another
/// transaction has the name
Task<LockTuple*> add_row(Session& session, LockRow row, Moment void_after);
Task<std::string> take(Session& session, const TakeRequest& request);
Task<std::string> take_row(Session& session, const TakeRequest& request);
Task<std::string> release(Session& session, const std::string& name, const std::string& attempt,
                          std::int64_t number, std::int64_t how);
Task<std::string> release_row(Session& session, const std::string& name, const std::string& attempt,
                              std::int64_t number);
Task<std::string> release_key(Session& session, const std::string& key, const std::string& attempt,
                              std::int64_t number, bool undoes);
/// @param names may be free, and waited for
Task<void> wake(Session& session, const std::vector<std::string>& names);
Task<void> tell(Session& session, const std::string& name, Moment t);
Task<std::string> cancel(Session& session, const std::string& name, const std::string& attempt,
                         bool in_doubt);
Task<std::string> renew(Session& session, const std::vector<std::string>& names,
                        const std::vector<std::string>& attempts,
                        const std::vector<std::int64_t>& numbers,
                        const std::vector<std::int64_t>& leases);
/// Takes back that this attempt waits. @return whether it did
bool delete_ticket(Session& session, const std::string& name, const std::string& attempt);
/// Those of who was not heard of for too long.
void delete_old_tickets(Session& session, const std::string& name, Moment t);
/// @return the largest number of a key that was removed.
[[nodiscard]] std::int64_t floor_of_keys(const Session& session);
[[nodiscard]] std::string told(const KeyRow& row, bool held, const std::string& bytes);
/// share_row() of share.sql.
Task<std::string> share_row(Session& session, const TakeRequest& request);
/// That it waits is written already: the answer; empty: it is not.
Task<std::string> waits_already(Session& session, const TakeRequest& request);
/// The number that a reader is told.
[[nodiscard]] std::string number_words(const Session& session, std::int64_t number);
/// Gives the only one who shares a name a row of its own.
Task<void> spread(Session& session, LockTuple& tuple);
/// A renewal is on disk before its answer leaves.
void promise_renewal(Session& session);
/// renew_all.sql. @param ends of owners, keys and readers, in that order; none: all are owners
Task<std::string> renew_all(Session& session, ShareRenewals all, std::vector<std::int64_t> ends);
Task<std::string> renew_share(Session& session, const ShareRenewals& asked);
/// @return that one's; null = none, lapsed or not
[[nodiscard]] const LockRow* share(const Session& session, const std::string& name,
                                   const std::string& attempt);
/// UPDATE of one that is there.
inline void rewrite_share(Session& session, LockRow row) {
  LockTuple& tuple = *session.find(row.name);
  session.write(tuple, std::move(row));
}
Task<void> put_share(Session& session, LockRow row);
void remove_shares(Session& session, const std::string& name,
                   const std::function<bool(const LockRow&)>& goes);
[[nodiscard]] std::int64_t live_shares(const Session& session, const std::string& name, Moment t);
/// @return when the last of those ends that live; minus infinity: there is none
[[nodiscard]] Moment last_end(const Session& session, const std::string& name, Moment t);
Task<Value> ask_key(Session& session, const KeyRequest& request);
Task<std::string> cancel_key(Session& session, const std::string& key, const std::string& attempt,
                             bool in_doubt, std::int64_t known);
/// A run that no client knows of.
Task<void> undo_run(Session& session, const std::string& key, std::int64_t number);
Task<std::string> conclude_key(Session& session, const KeyConclusion& what);
Task<bool> conclude_in(Session& session, const KeyConclusion& what);
Task<void> sweep_on(Session& session, Moment t);
/// @param number of the run that it forgets, and of no later one
Task<std::string> forget_key(Session& session, const std::string& key, std::int64_t number);
Rows look_key(const Session& session, const std::string& key);
Task<Rows> force_release(Session& session, const std::string& name,
                         std::optional<std::int64_t> of_number,
                         std::optional<std::int64_t> of_permit, std::optional<std::int64_t> of_run);
Task<bool> guard(Session& session, const std::string& name, std::int64_t number);
Task<std::string> lock_in(Session& session, const std::string& name, std::int64_t wait);
Task<Value> look(Session& session, const TakeRequest& request);
Rows inspect(Session& session, const std::string& name);
Rows greet(const Session& session);
Rows census(const Session& session, const std::vector<std::int64_t>& processes);
Rows settle_in(Session& session);

Task<Rows> run_statement(Session& session, const Parsed& statement,
                         const std::vector<Argument>& arguments);

}  // namespace simulation::postgres
