// SPDX-License-Identifier: MIT
// A real terminal of 80 columns and 24 lines with a program in it: tmux with a socket of its own.
#pragma once

#include "model/temporary.hpp"
#include "support/needs.hpp"

#include <string>
#include <vector>

namespace mortise::test {

/// @return "tmux" if it is not installed, for `MORTISE_NEEDS()`; else nothing.
[[nodiscard]] std::string tmux_missing();

/// Starts with the object, ends with it. Its program sees the environment of the test.
class Terminal {
 public:
  /// @param command a line for sh
  explicit Terminal(const std::string& command);
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;
  ~Terminal();

  /// Types the text, or the keys that tmux names, such as "Tab", "C-c", "C-u".
  void type(const std::string& text);
  void press(const std::string& key);
  /// Changes the number of columns and lines.
  void resize(int columns, int lines);
  /// @return the lines on the screen, without blanks at their ends.
  [[nodiscard]] std::vector<std::string> screen() const;
  /// @return how many lines have left the screen at its top.
  [[nodiscard]] int scrolled() const;

 private:
  /// @return what tmux printed.
  std::string tmux(const std::string& arguments) const;

  model::TemporaryDirectory directory_;
};

}  // namespace mortise::test
