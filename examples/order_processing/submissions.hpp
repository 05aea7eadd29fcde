// SPDX-License-Identifier: MIT
// The submissions of a CSV file, and their distribution over the processes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace shop {

/// One line of the file: a customer pressed "buy". An order may be submitted several times.
struct Submission {
  std::string order;
  std::string customer;
  std::int64_t cents = 0;
};

/// Reads a file whose header is `order,customer,amount_cents`.
///
/// Order and customer become names of files, so they may contain only letters, digits, '-', '_',
/// '.'.
/// @throws BadInput that names the line
[[nodiscard]] std::vector<Submission> read_submissions(const std::filesystem::path& path);

/// A submission that one process handles.
struct Task {
  std::size_t submission = 0;  ///< its place in the file
  std::size_t moment = 0;      ///< when it arrives, in submissions since the start
  bool has_copies = false;     ///< another process has the same order
};

/// Distributes the submissions. The copies of an order go to different processes, as far as there
/// are enough, and arrive at the moment of the first copy. A load balancer does the same to a
/// double click. It is the worst case for a service without locks.
/// @return the tasks of each process, sorted by the moment of arrival; equal for equal input
[[nodiscard]] std::vector<std::vector<Task>> deal(const std::vector<Submission>& submissions,
                                                  std::size_t processes);

}  // namespace shop
