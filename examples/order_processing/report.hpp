// SPDX-License-Identifier: MIT
// What is shown of a run: while it goes on, one line that is updated in place on a terminal, a line
// now and then elsewhere; when it is over, a table of the processes, and how the crash ended.
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
  /// Shows how far it is.
  void show(const Board& board);
  /// Says something that stays.
  void say(const std::string& line);
  /// Takes the line in place away.
  void end();

 private:
  using Time = std::chrono::steady_clock::time_point;

  std::ostream& out_;
  bool terminal_;
  std::size_t submissions_;
  Time next_{};
};

struct Story;

/// @param locks whether the run had locks, so that there is something to say about waiting
void print_table(std::ostream& out, const Board& board, std::size_t processes, bool locks,
                 std::size_t submissions, const Story& story);

/// What the locks did, and what the memory.
/// @param remembers whether the store has keys with a memory
void print_roles(std::ostream& out, const Board& board, bool remembers);

/// Who completed the charge that the killed process had begun, and when.
void print_recovery(std::ostream& out, const Board& board, const Story& story);

}  // namespace shop
