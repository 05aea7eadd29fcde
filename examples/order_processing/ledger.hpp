// SPDX-License-Identifier: MIT
// What one customer was charged: the two plain files of it, a ledger with one line a charge, and
// the balance. The ledger is the truth; the balance can always be worked out from it. Neither knows
// of other processes: both are read and written under the customer's lock only.
#pragma once

#include "plain_file.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace shop {

struct Charge {
  std::string order;
  std::int64_t cents = 0;
  std::uint64_t token = 0;  ///< fencing token of the hold under which it was written
};

/// Lines of charges, oldest first. Reads the file once, when it is made.
class Ledger {
 public:
  explicit Ledger(const std::filesystem::path& path);
  [[nodiscard]] const std::vector<Charge>& charges() const noexcept { return charges_; }
  [[nodiscard]] bool has(std::string_view order) const;
  [[nodiscard]] std::int64_t total() const;
  /// Adds a line, and removes first what a killed process may have left torn.
  void append(const Charge& charge);

 private:
  PlainFile file_;
  std::vector<Charge> charges_;
  std::size_t whole_ = 0;  // bytes of whole lines
  bool torn_ = false;      // and there is something behind them
};

/// How far the ledger was added up.
struct Balance {
  std::int64_t cents = 0;
  std::size_t entries = 0;  ///< lines of the ledger that are contained
  std::uint64_t token = 0;  ///< of the newest hold that opened the account
};

/// One line of fixed width, written over the earlier one.
class BalanceFile {
 public:
  explicit BalanceFile(const std::filesystem::path& path)
      : file_(path, PlainFile::Writes::at_the_beginning) {}
  /// @return nothing for a new file, and for one that was torn.
  [[nodiscard]] std::optional<Balance> read() const;
  void write(const Balance& balance);

 private:
  PlainFile file_;
};

/// Where the files of a customer are, below a run's directory.
[[nodiscard]] std::filesystem::path ledger_path(const std::filesystem::path& directory,
                                                const std::string& customer);
[[nodiscard]] std::filesystem::path balance_path(const std::filesystem::path& directory,
                                                 const std::string& customer);
/// Makes the folders of those paths.
void make_folders(const std::filesystem::path& directory);

}  // namespace shop
