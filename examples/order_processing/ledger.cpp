// SPDX-License-Identifier: MIT
#include "ledger.hpp"

#include <algorithm>
#include <iomanip>
#include <numeric>
#include <sstream>

namespace shop {

Ledger::Ledger(const std::filesystem::path& path) : file_(path, PlainFile::Writes::at_the_end) {
  const std::string text = file_.read();
  for (;;) {
    const std::size_t end = text.find('\n', whole_);
    if (end == std::string::npos) break;
    const auto words = unseal(std::string_view(text).substr(whole_, end - whole_));
    if (!words) break;
    std::istringstream in(*words);
    Charge charge;
    in >> charge.order >> charge.cents >> charge.token;
    charges_.push_back(std::move(charge));
    whole_ = end + 1;
  }
  torn_ = whole_ != text.size();
}

bool Ledger::has(std::string_view order) const {
  return std::any_of(charges_.begin(), charges_.end(),
                     [order](const Charge& charge) { return charge.order == order; });
}

std::int64_t Ledger::total() const {
  return std::accumulate(charges_.begin(), charges_.end(), std::int64_t{0},
                         [](std::int64_t sum, const Charge& charge) { return sum + charge.cents; });
}

void Ledger::append(const Charge& charge) {
  std::ostringstream out;
  out << charge.order << ' ' << charge.cents << ' ' << charge.token;
  const std::string line = seal(out.str());
  if (torn_) file_.truncate(whole_);
  file_.write(line);
  torn_ = false;
  whole_ += line.size();
  charges_.push_back(charge);
}

std::optional<Balance> BalanceFile::read() const {
  const std::string text = file_.read();
  const auto words = unseal(std::string_view(text).substr(0, text.find('\n')));
  if (!words) return std::nullopt;
  std::istringstream in(*words);
  Balance balance;
  in >> balance.cents >> balance.entries >> balance.token;
  return balance;
}

void BalanceFile::write(const Balance& balance) {
  std::ostringstream out;
  out << std::setfill('0') << std::setw(20) << balance.cents << ' ' << std::setw(10)
      << balance.entries << ' ' << std::setw(20) << balance.token;
  file_.write(seal(out.str()));
}

std::filesystem::path ledger_path(const std::filesystem::path& directory,
                                  const std::string& customer) {
  return directory / "ledger" / customer;
}

std::filesystem::path balance_path(const std::filesystem::path& directory,
                                   const std::string& customer) {
  return directory / "balance" / customer;
}

void make_folders(const std::filesystem::path& directory) {
  std::filesystem::create_directories(directory / "ledger");
  std::filesystem::create_directories(directory / "balance");
}

}  // namespace shop
