// SPDX-License-Identifier: MIT
// What comes in: the submissions of a CSV file, and how they are dealt to the processes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace shop {

/// One line of the file: somebody pressed "buy". The same order may be submitted several times.
struct Submission {
  std::string order;
  std::string customer;
  std::int64_t cents = 0;
};

/// Reads `order,customer,amount_cents`, a header line first.
///
/// Order and customer become names of files, so letters, digits, '-', '_' and '.' only.
/// @throws BadInput that names the line
[[nodiscard]] std::vector<Submission> read_submissions(const std::filesystem::path& path);

/// A submission on the desk of one process.
struct Task {
  std::size_t submission = 0;  ///< its place in the file
  std::size_t moment = 0;      ///< when it arrives, in submissions since the start
  bool has_copies = false;     ///< the same order is on another desk as well
};

/// Deals the submissions: the copies of one order go to different processes (as far as there are
/// enough) and arrive at the same moment, that of the first one. This is what a load balancer does
/// to a double click, and it is the worst case for whoever charges without a lock.
/// @return for each process its tasks by the moment of arrival; equal for equal input
[[nodiscard]] std::vector<std::vector<Task>> deal(const std::vector<Submission>& submissions,
                                                  std::size_t processes);

}  // namespace shop
