// SPDX-License-Identifier: MIT
#include "audit.hpp"

#include "ledger.hpp"

#include <map>
#include <optional>
#include <sstream>

namespace shop {
namespace {

// The distinct orders of one customer, and what each costs.
using Orders = std::map<std::string, std::int64_t>;

void audit_customer(const std::filesystem::path& directory, const std::string& customer,
                    const Orders& orders, Audit& result) {
  const Ledger ledger(ledger_path(directory, customer));
  const std::optional<Balance> balance = BalanceFile(balance_path(directory, customer)).read();
  std::map<std::string, std::size_t> charges;
  for (const Charge& charge : ledger.charges()) ++charges[charge.order];
  std::int64_t due = 0;
  for (const auto& [order, cents] : orders) {
    due += cents;
    const std::size_t times = charges[order];
    ++(times == 0 ? result.lost : times == 1 ? result.once : result.twice);
  }
  if (!balance || balance->cents != due || ledger.total() != due) ++result.wrong;
  for (const Charge& charge : ledger.charges()) {
    const bool again = charges[charge.order]-- > 1;
    if (again) result.overcharged += charge.cents;
  }
}

}  // namespace

Audit audit(const std::filesystem::path& directory, const std::vector<Submission>& submissions) {
  std::map<std::string, Orders> customers;
  for (const Submission& s : submissions) customers[s.customer][s.order] = s.cents;
  Audit result;
  result.submitted = submissions.size();
  result.customers = customers.size();
  for (const auto& [customer, orders] : customers) {
    result.distinct += orders.size();
    audit_customer(directory, customer, orders, result);
  }
  return result;
}

std::string Audit::line() const {
  std::ostringstream out;
  out << "orders: " << submitted << " submitted, " << distinct << " distinct, " << once
      << " charged once, " << twice << " twice, " << lost << " lost, ";
  if (wrong == 0) {
    out << "balances match";
  } else {
    out << wrong << " of " << customers << " balances wrong";
  }
  return out.str();
}

}  // namespace shop
