// SPDX-License-Identifier: MIT
// Cuts one direction of a PostgreSQL connection (protocol 3.0) into whole requests and replies. It
// looks at types and lengths, and has no code in common with the library that it helps to test.
#pragma once

#include "support/proxy_faults.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace mortise::test {

class PostgresFrames {
 public:
  enum class Of { requests, replies };

  explicit PostgresFrames(Of of) noexcept : of_(of) {}

  void feed(std::string_view bytes) { buffer_.append(bytes); }

  /// @return the next whole frame; nothing: more bytes are needed. A request ends with what has the
  /// server answer (Sync, Query), a reply with "ready for query"; before the connection is up, each
  /// message is one, and so is a notification at all times. TLS, or a frame over 8 MiB, makes the
  /// rest of the stream opaque: it comes in pieces as it is fed.
  [[nodiscard]] std::optional<std::string> next();
  /// @return what is left of a stream that has ended inside a frame.
  [[nodiscard]] std::string rest();
  [[nodiscard]] bool opaque() const noexcept { return opaque_; }

  /// @return what a request is; an operation has bound parameters.
  [[nodiscard]] static ProxyRequest kind_of_request(std::string_view frame);
  /// @return whether a reply is a notification.
  [[nodiscard]] static bool is_push(std::string_view frame) { return frame.starts_with('A'); }
  /// @return whether a reply answers no request: it comes before the connection is up.
  [[nodiscard]] static bool is_greeting(std::string_view frame);

 private:
  [[nodiscard]] std::optional<std::string> next_of_greeting();
  [[nodiscard]] std::optional<std::string> take(std::size_t from, std::size_t size);

  Of of_;
  bool greeting_ = true;
  bool first_ = true;  // no message has come yet
  bool opaque_ = false;
  std::string buffer_;
  std::size_t scanned_ = 0;  // whole messages of an unfinished frame
};

}  // namespace mortise::test
