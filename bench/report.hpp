// SPDX-License-Identifier: MIT
// Results for people (a table, row by row as they come) and for programs (JSON).
#pragma once

#include "result.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace mortise::bench {

/// Prints what the figures were taken on, and the head of the table.
/// @param width of the longest name
void print_head(std::size_t width, int rounds);
void print_row(const Result& result, std::size_t width);
/// Says plainly which goals were missed and which cases failed.
void print_summary(const std::vector<Result>& results);

/// Writes a list of objects with name, mode, unit, better, ours, floor, ratio, goal, met; what does
/// not apply is null. Makes the directory.
void write_json(const std::string& path, const std::vector<Result>& results);

}  // namespace mortise::bench
