// SPDX-License-Identifier: MIT
#include "account.hpp"

#include <algorithm>
#include <optional>

namespace shop {

Account::Account(const std::filesystem::path& directory, const std::string& customer,
                 mortise::Token token)
    : customer_(customer),
      token_(token.value()),
      ledger_(ledger_path(directory, customer)),
      balance_file_(balance_path(directory, customer)) {
  if (!ledger_.charges().empty()) refuse_older_than(ledger_.charges().back().token);
  recover();
  // Write this token before any decision: it excludes an earlier holder that is paused.
  balance_.token = token_;
  balance_file_.write(balance_);
}

void Account::refuse_older_than(std::uint64_t newest) const {
  if (token_ < newest) {
    throw Outdated(customer_ + ": token " + std::to_string(token_) + " is older than " +
                   std::to_string(newest));
  }
}

void Account::recover() {
  const std::vector<Charge>& charges = ledger_.charges();
  const std::optional<Balance> found = balance_file_.read();
  if (found) refuse_older_than(found->token);
  if (found && found->entries == charges.size()) {
    balance_ = *found;
    return;
  }
  // A torn balance has no count. All charges but the last were complete when the last one began.
  const std::size_t known =
      found ? found->entries : charges.size() - std::min<std::size_t>(charges.size(), 1);
  for (std::size_t i = known; i < charges.size(); ++i) completed_.push_back(charges[i].order);
  balance_.cents = ledger_.total();
  balance_.entries = charges.size();
}

void Account::charge(const std::string& order, std::int64_t cents,
                     const std::function<void()>& between) {
  if (const auto now = balance_file_.read()) refuse_older_than(now->token);
  ledger_.append({order, cents, token_});
  between();
  balance_.cents += cents;
  ++balance_.entries;
  balance_file_.write(balance_);
}

}  // namespace shop
