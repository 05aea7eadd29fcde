// SPDX-License-Identifier: MIT
// A customer's account while its lock is held: opening it finishes what a killed holder began,
// charging is two writes that the next holder can finish, and an outdated holder is refused.
#pragma once

#include <mortise/token.hpp>

#include "ledger.hpp"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

namespace shop {

/// The account has seen a newer holder: this one lost its lock without knowing, and wrote nothing.
class Outdated : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// To be made, used and destroyed under the customer's lock.
///
/// Crash: a charge writes the line in the ledger, then the balance. Killed before the line is
/// whole, nothing has happened, and the line is removed. Killed behind it, the order *is*
/// charged, and whoever opens the account next brings the balance up to the ledger. Doing that
/// twice changes nothing, so a crash while recovering is no special case.
///
/// Fencing: each opening leaves the token of its hold, and an older token is refused from then on.
/// A holder can fall behind where locks rest on leases: it sleeps past the end of its lease,
/// another takes the lock and goes on, and the sleeper wakes up with a write in its hands. A plain
/// file cannot compare and write in one step, so a holder that is paused exactly between the two
/// still gets through; a database can: `UPDATE ... WHERE fence <= :token`. With `file:` locks it
/// cannot come to that: a stopped process keeps its locks.
class Account {
 public:
  /// @param token of the guard on the customer's lock; none = work without a lock
  /// @throws Outdated
  Account(const std::filesystem::path& directory, const std::string& customer,
          mortise::Token token);

  /// @return the orders whose charge had been begun by somebody else, and was completed just now.
  [[nodiscard]] const std::vector<std::string>& completed() const noexcept { return completed_; }
  [[nodiscard]] bool charged(const std::string& order) const { return ledger_.has(order); }
  /// @param between is called when the ledger has the charge and the balance does not
  /// @throws Outdated
  void charge(const std::string& order, std::int64_t cents, const std::function<void()>& between);

 private:
  void refuse_older_than(std::uint64_t newest) const;
  void recover();

  std::string customer_;
  std::uint64_t token_;
  Ledger ledger_;
  BalanceFile balance_file_;
  Balance balance_;
  std::vector<std::string> completed_;
};

}  // namespace shop
