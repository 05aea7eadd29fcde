// SPDX-License-Identifier: MIT
// A customer's account while its lock is held. Opening it completes a charge that a killed holder
// began. A charge is two writes, which the next holder can complete. A stale holder is refused.
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

/// The account has seen a newer holder. This holder lost its lock without noticing, and wrote
/// nothing.
class Outdated : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Create, use and destroy it under the customer's lock.
///
/// Crash: a charge writes the line in the ledger, then the balance. If the process is killed before
/// the line is complete, the order is not charged, and the next holder removes the line. If it is
/// killed after the line, the order *is* charged, and the next holder updates the balance from the
/// ledger. An update that runs twice changes nothing, so a crash during the recovery is harmless.
///
/// Fencing: each opening writes the token of its hold, and an older token is refused afterwards. A
/// holder of a lease can become stale: it is paused beyond its lease, another holder takes the
/// lock, and then the first one continues with a write. A plain file cannot compare and write in
/// one step, so a holder that is paused exactly between the two still writes. A database can:
/// `UPDATE ... WHERE fence <= :token`. With `file:` locks no holder becomes stale, because a
/// stopped process keeps its locks.
class Account {
 public:
  /// @param token of the guard on the customer's lock; empty = work without a lock
  /// @throws Outdated
  Account(const std::filesystem::path& directory, const std::string& customer,
          mortise::Token token);

  /// @return the orders whose charge an earlier holder began, and this holder has completed.
  [[nodiscard]] const std::vector<std::string>& completed() const noexcept { return completed_; }
  [[nodiscard]] bool charged(const std::string& order) const { return ledger_.has(order); }
  /// @param between is called when the ledger has the charge, and the balance does not
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
