// SPDX-License-Identifier: MIT
#include "comparison.hpp"

#include <cstdint>
#include <iomanip>
#include <iostream>
#include <sstream>
#include <string>

namespace shop {
namespace {

std::string money(std::int64_t cents) {
  std::ostringstream out;
  out << cents / 100 << '.' << std::setfill('0') << std::setw(2) << cents % 100;
  return out.str();
}

}  // namespace

int judge(const Result& without, const Result* with, With what) {
  if (without.audit.right()) {
    std::cout << "\nVoid: the run without locks did no damage, so the comparison shows nothing.\n";
    return wrong;
  }
  if (with == nullptr) {
    std::cout << "\nThis happens without locks.\n";
    return right;
  }
  if (!with->audit.right()) {
    std::cout << "\nWrong: there is damage although locks were used.\n";
    return wrong;
  }
  if (!with->killed) {
    std::cout << "\nVoid: no process was killed; the file has too few orders.\n";
    return wrong;
  }
  const Audit& damage = without.audit;
  std::cout << "\nSame orders, same program, same crash.\n"
            << "   without locks: " << damage.twice << " orders charged twice, " << damage.wrong
            << " of " << damage.customers << " balances wrong, " << money(damage.overcharged)
            << " paid too much\n"
            << "   with locks:    no damage. The locks kept the charges apart, and "
            << (what == With::locks_and_memory ? "the keys remembered the receipts.\n"
                                               : "the ledger remembered the orders.\n");
  return right;
}

}  // namespace shop
