// SPDX-License-Identifier: MIT
// What is printed about a run when it is over: a table of the processes, and how the crash ended.
#pragma once

#include "board.hpp"
#include "supervisor.hpp"

#include <cstddef>
#include <ostream>

namespace shop {

/// @param locks whether the run had locks, so that there is something to say about waiting
void print_table(std::ostream& out, const Board& board, std::size_t processes, bool locks,
                 std::size_t submissions, const Story& story);

/// Who completed the charge that the killed process had begun, and when.
void print_recovery(std::ostream& out, const Board& board, const Story& story);

}  // namespace shop
