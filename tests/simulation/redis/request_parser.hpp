// SPDX-License-Identifier: MIT
// Commands out of bytes, however these are cut into packets. What comes whole is not copied.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace simulation::redis {

class RequestParser {
 public:
  enum class Found { command, nothing, mistake };

  /// @param bytes must stay as they are until `finish()`
  void begin(std::string_view bytes);
  /// Looks for the next command.
  [[nodiscard]] Found next();
  /// Keeps what belongs to a command that is not whole yet.
  void finish();

  /// @return the words of the command that was found; good until `finish()`
  [[nodiscard]] std::span<const std::string_view> words() const noexcept { return words_; }
  /// @return what is wrong: "ERR Protocol error: ..."
  [[nodiscard]] const std::string& mistake() const noexcept { return mistake_; }

 private:
  [[nodiscard]] Found next_inline();
  [[nodiscard]] Found wrong(std::string words);
  /// @return whether there is a whole line at `at`; moves behind it
  [[nodiscard]] bool line(std::size_t& at, std::string_view& text) const;

  std::string kept_;        // of packets before
  std::string_view bytes_;  // kept_, or the packet itself
  std::size_t at_ = 0;
  std::vector<std::string_view> words_;
  std::string mistake_;
};

}  // namespace simulation::redis
