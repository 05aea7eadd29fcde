// SPDX-License-Identifier: MIT
// The two plain files of a customer: a ledger with one line per charge, and the balance. The ledger
// is the truth, and the balance can be calculated from it. The files do not protect themselves:
// they are read and written under the customer's lock only.
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
  /// Removes a torn line that a killed process may have left, and adds a line.
  void append(const Charge& charge);

 private:
  PlainFile file_;
  std::vector<Charge> charges_;
  std::size_t whole_ = 0;  // bytes of whole lines
  bool torn_ = false;      // a torn line follows them
};

/// The sum of the first lines of the ledger.
struct Balance {
  std::int64_t cents = 0;
  std::size_t entries = 0;  ///< the number of these lines
  std::uint64_t token = 0;  ///< of the newest hold that opened the account
};

/// A file with one line of fixed width, which is overwritten.
class BalanceFile {
 public:
  explicit BalanceFile(const std::filesystem::path& path)
      : file_(path, PlainFile::Writes::at_the_beginning) {}
  /// @return empty for a new file, and for a torn line.
  [[nodiscard]] std::optional<Balance> read() const;
  void write(const Balance& balance);

 private:
  PlainFile file_;
};

/// The paths of a customer's files in the directory of a run.
[[nodiscard]] std::filesystem::path ledger_path(const std::filesystem::path& directory,
                                                const std::string& customer);
[[nodiscard]] std::filesystem::path balance_path(const std::filesystem::path& directory,
                                                 const std::string& customer);
/// Makes the folders of these paths.
void make_folders(const std::filesystem::path& directory);

}  // namespace shop
