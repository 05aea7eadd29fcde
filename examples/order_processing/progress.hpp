// SPDX-License-Identifier: MIT
// What is shown while a run goes on: one line that is updated in place on a terminal, a line now
// and then elsewhere.
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

}  // namespace shop
