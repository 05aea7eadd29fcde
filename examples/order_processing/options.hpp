// SPDX-License-Identifier: MIT
// The command line of the user, and the one of the workers that the program starts.
#pragma once

#include <cstddef>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace shop {

/// An argument or an input file is wrong. The text names it. Exit code 2.
class BadInput : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The additional arguments of a worker.
struct WorkerRole {
  std::size_t process = 0;  ///< which of the processes, from 0
  std::string directory;    ///< of the accounts and the board
  bool locks = true;
};

struct Options {
  std::string orders = MORTISE_EXAMPLES_DATA "/orders.csv";
  std::string url;  ///< empty = a directory of lock files next to the accounts
  std::size_t processes = 4;
  std::size_t threads = 4;
  std::size_t rate = 3'000;  ///< submissions per second; 0 = all arrive at once
  bool only_without_locks = false;
  bool keep = false;
  bool help = false;
  std::optional<WorkerRole> worker;  ///< this process is a worker
};

/// @throws BadInput
[[nodiscard]] Options parse_options(const std::vector<std::string>& arguments);

/// @return the arguments from which `parse_options()` makes the same options for a worker.
[[nodiscard]] std::vector<std::string> worker_arguments(const Options& options,
                                                        const WorkerRole& role);

[[nodiscard]] const char* usage() noexcept;

}  // namespace shop
