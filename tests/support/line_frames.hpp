// SPDX-License-Identifier: MIT
// Cuts one direction of a connection to the lock server of examples/own_server_store into lines. It
// looks at the first word of a line only.
#pragma once

#include "support/proxy_faults.hpp"

#include <cctype>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace mortise::test {

class LineFrames {
 public:
  void feed(std::string_view bytes) { buffer_.append(bytes); }
  /// @return the next whole line; nothing: more bytes are needed.
  [[nodiscard]] std::optional<std::string> next() {
    const std::size_t end = buffer_.find('\n');
    if (end == std::string::npos) return std::nullopt;
    std::string line = buffer_.substr(0, end + 1);
    buffer_.erase(0, end + 1);
    return line;
  }
  /// @return what is left of a stream that has ended inside a line.
  [[nodiscard]] std::string rest() { return std::exchange(buffer_, {}); }
  [[nodiscard]] static bool opaque() noexcept { return false; }

  [[nodiscard]] static ProxyRequest kind_of_request(std::string_view line) {
    return is_greeting(line) ? ProxyRequest::greeting : ProxyRequest::operation;
  }
  /// @return the first word of a request in capitals: "TAKE", "CANCEL" ...
  [[nodiscard]] static std::string command(std::string_view line) {
    std::string word(line.substr(0, line.find_first_of(" \n")));
    for (char& letter : word) {
      letter = static_cast<char>(std::toupper(static_cast<unsigned char>(letter)));
    }
    return word;
  }
  /// @return whether a line is the first one of a connection.
  [[nodiscard]] static bool is_greeting(std::string_view line) { return line.starts_with("hello"); }
  [[nodiscard]] static bool is_push(std::string_view line) { return line.starts_with("handed "); }

 private:
  std::string buffer_;
};

}  // namespace mortise::test
