// SPDX-License-Identifier: MIT
// The output of a command that is to be remembered: all of its standard output, up to a bound, and
// the last line of its standard error, which is passed on as well.
#pragma once

#include "command.hpp"
#include "descriptor.hpp"

#include <cstddef>
#include <string>
#include <string_view>

namespace mortise::tool {

class Capture {
 public:
  Capture();
  /// @return what the command gets.
  [[nodiscard]] Outputs outputs() const noexcept { return {out_write_.get(), err_write_.get()}; }
  /// Closes the command's ends here: it was started.
  void started() noexcept;
  /// For poll(); negative where it has ended.
  [[nodiscard]] int out() const noexcept { return out_.get(); }
  [[nodiscard]] int err() const noexcept { return err_.get(); }
  /// Reads what is there, and no more than a pipe has: a command that writes without end is not to
  /// keep anybody here. Standard error waits in its pipe where nobody takes what was passed on.
  void read(bool errors_too);
  /// Reads all that was written by those who have ended.
  void finish();

  /// @return the standard output, its first `longest_outcome` bytes.
  [[nodiscard]] const std::string& text() const noexcept { return text_; }
  [[nodiscard]] bool too_long() const noexcept { return too_long_; }
  /// @return the last line of the standard error that is not empty, without its end.
  [[nodiscard]] const std::string& last_line() const noexcept;

 private:
  void read_out(std::size_t most);
  void read_err(std::size_t most);
  void keep_line(const char* bytes, std::size_t size);

  Descriptor out_;
  Descriptor err_;
  Descriptor out_write_;
  Descriptor err_write_;
  std::string text_;
  bool too_long_ = false;
  std::string line_;  ///< not ended yet
  std::string last_;
};

/// Writes all of it to a descriptor. @return whether that has taken it
bool write_all(int fd, std::string_view text) noexcept;

}  // namespace mortise::tool
