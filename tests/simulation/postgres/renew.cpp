// SPDX-License-Identifier: MIT
// renew.sql.
#include "simulation/postgres/functions.hpp"

#include <algorithm>
#include <type_traits>
#include <utility>

namespace simulation::postgres {
namespace {

struct Asked {
  std::string name{};
  std::string attempt{};
  std::int64_t number = 0;
  std::int64_t lease = 0;
  std::size_t place = 0;
  LockTuple* picked = nullptr;
  bool renewed = false;

  [[nodiscard]] bool is(const LockRow* row) const {
    return row != nullptr && row->attempt == attempt && row->number == number;
  }
};

/// One of the parts of renew_all.sql.
ShareRenewals part_of(const ShareRenewals& asked, const std::vector<std::int64_t>& ends,
                      std::size_t part) {
  const auto size = static_cast<std::int64_t>(asked.names.size());
  const std::int64_t from = part == 0 ? 0 : ends.at(part - 1);
  const std::int64_t to = part < ends.size() ? ends.at(part) : size;
  const auto cut = [&](const auto& values) {
    return std::decay_t<decltype(values)>(values.begin() + from, values.begin() + to);
  };
  return {.names = cut(asked.names),
          .attempts = cut(asked.attempts),
          .numbers = cut(asked.numbers),
          .leases = cut(asked.leases)};
}

}  // namespace

void promise_renewal(Session& session) {
  if (session.db.makes(Mistake::renew_not_on_disk)) {
    session.set(Setting::synchronous_commit, "off", true);
  } else {
    session.commit_on_disk();
  }
}

Task<std::string> renew(Session& session, const std::vector<std::string>& names,
                        const std::vector<std::string>& attempts,
                        const std::vector<std::int64_t>& numbers,
                        const std::vector<std::int64_t>& leases) {
  promise_renewal(session);
  std::vector<Asked> all;
  for (std::size_t i = 0; i < names.size(); ++i) {
    all.push_back({.name = names[i],
                   .attempt = attempts.at(i),
                   .number = numbers.at(i),
                   .lease = leases.at(i),
                   .place = i});
  }
  const bool revives = session.db.makes(Mistake::renew_revives);
  const auto lives = [&](const LockRow& row) {
    return row.expires_at > session.clock() || (revives && row.expires_at != minus_infinity);
  };
  // One statement: what it reads is of its beginning, but for rows that it has locked.
  std::stable_sort(all.begin(), all.end(),
                   [](const Asked& one, const Asked& other) { return one.name < other.name; });
  for (Asked& each : all) {
    const LockRow* const row = session.see(each.name);
    if (!each.is(row) || !lives(*row)) continue;
    LockTuple* const picked = co_await session.lock_row(each.name, Strength::no_key_update, true);
    if (picked == nullptr) continue;
    const LockRow& now = session.row(*picked);
    if (each.is(&now) && lives(now)) each.picked = picked;
  }
  co_await session.step();
  for (Asked& each : all) {
    if (each.picked == nullptr || !lives(session.row(*each.picked))) continue;
    LockRow row = session.row(*each.picked);
    if (row.expires_at <= session.clock()) {
      session.db.break_rule("a renewal has brought back a hold that had lapsed");
    }
    row.lease = each.lease;
    row.expires_at = session.clock() + each.lease;
    session.write(*each.picked, std::move(row));
    each.renewed = true;
    ++session.db.renewals;
  }
  std::string answers(all.size(), '0');
  for (const Asked& each : all) {
    const LockRow* const row = session.see(each.name);
    if (each.renewed) {
      answers[each.place] = '1';
    } else if (each.is(row) && row->expires_at > session.clock()) {
      answers[each.place] = '?';
    }
  }
  for (std::size_t i = 0; i < answers.size(); ++i) {
    if (answers[i] != '0' || is_run(names[i])) continue;
    if (share(session, names[i], attempts[i]) == nullptr) continue;
    const ShareRenewals one{.names = {names[i]},
                            .attempts = {attempts[i]},
                            .numbers = {numbers[i]},
                            .leases = {leases[i]}};
    const std::string answer = co_await renew_share(session, one);
    answers[i] = answer == "W" ? '1' : answer.front();
  }
  co_return answers;
}

Task<std::string> renew_all(Session& session, ShareRenewals all, std::vector<std::int64_t> ends) {
  const ShareRenewals owners = part_of(all, ends, 0);
  std::string answers;
  if (ends.empty() || !owners.names.empty()) {
    answers = co_await renew(session, owners.names, owners.attempts, owners.numbers, owners.leases);
  }
  if (ends.empty()) co_return answers;
  // A function that has no hold is not called, and makes no promise for the others.
  ShareRenewals keys = part_of(all, ends, 1);
  for (std::string& each : keys.names) each = run_name(each);
  if (!keys.names.empty()) {
    answers += co_await renew(session, keys.names, keys.attempts, keys.numbers, keys.leases);
  }
  const ShareRenewals readers = part_of(all, ends, 2);
  if (!readers.names.empty()) answers += co_await renew_share(session, readers);
  ShareRenewals permits = part_of(all, ends, 3);
  for (std::string& each : permits.names) each = gate_name(each);
  if (!permits.names.empty()) answers += co_await renew_share(session, permits);
  co_return answers;
}

}  // namespace simulation::postgres
