// SPDX-License-Identifier: MIT
// The verification. It reads the plain files at the end and compares them with the submissions. It
// uses nothing that a worker reports.
#pragma once

#include "submissions.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace shop {

struct Audit {
  std::size_t submitted = 0;
  std::size_t distinct = 0;
  std::size_t once = 0;   ///< orders that the ledgers have exactly once
  std::size_t twice = 0;  ///< more than once
  std::size_t lost = 0;   ///< not at all
  std::size_t customers = 0;
  std::size_t wrong = 0;  ///< customers whose balance is not the sum of their distinct orders
  std::int64_t overcharged = 0;  ///< cents that the customers were charged too much, in total

  [[nodiscard]] bool right() const noexcept { return once == distinct && twice == 0 && wrong == 0; }
  /// @return "orders: 3000 submitted, 2000 distinct, 2000 charged once, ..."
  [[nodiscard]] std::string line() const;
};

[[nodiscard]] Audit audit(const std::filesystem::path& directory,
                          const std::vector<Submission>& submissions);

}  // namespace shop
