// SPDX-License-Identifier: MIT
// The output of a command for `mortise once`: its standard output up to a limit, and the last line
// of its standard error, which the tool also passes on.
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
  /// Closes the command's ends in this process. Call it after the command was started.
  void started() noexcept;
  /// For poll(); negative after the end of the stream.
  [[nodiscard]] int out() const noexcept { return out_.get(); }
  [[nodiscard]] int err() const noexcept { return err_.get(); }
  /// Reads the available bytes, and no more than a pipe holds: a command that writes without end
  /// must not keep the caller here.
  /// @param errors_too false: standard error stays in its pipe, because its reader is too slow
  void read(bool errors_too);
  /// Reads the rest of the output. Call it after all processes of the command have ended.
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
  std::string line_;  ///< a line without its end
  std::string last_;
};

/// Writes the whole text to a descriptor. @return whether that succeeded
bool write_all(int fd, std::string_view text) noexcept;

}  // namespace mortise::tool
