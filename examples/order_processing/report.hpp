// SPDX-License-Identifier: MIT
// The output of a run. During the run: one line that is updated in place on a terminal, or a line
// every half second elsewhere. After the run: a table of the processes, and the end of the crash.
#pragma once

#include "board.hpp"

#include <chrono>
#include <cstddef>
#include <ostream>
#include <string>

namespace shop {

class Progress {
 public:
  Progress(std::ostream& out, bool terminal, std::size_t submissions);
  /// Shows the number of finished submissions.
  void show(const Board& board);
  /// Prints a line that stays.
  void print(const std::string& line);
  /// Removes the line that is updated in place.
  void end();

 private:
  using Time = std::chrono::steady_clock::time_point;

  std::ostream& out_;
  bool terminal_;
  std::size_t submissions_;
  Time next_{};
};

struct Story;

/// @param locks whether the run had locks; only then it prints the waits
void print_table(std::ostream& out, const Board& board, std::size_t processes, bool locks,
                 std::size_t submissions, const Story& story);

/// Prints what the locks did, and what Once did.
/// @param remembers whether the store has Once
void print_roles(std::ostream& out, const Board& board, bool remembers);

/// Prints which process completed the charge of the killed process, and when.
void print_recovery(std::ostream& out, const Board& board, const Story& story);

}  // namespace shop
