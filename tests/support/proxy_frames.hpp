// SPDX-License-Identifier: MIT
// Cuts one direction of a Redis connection into whole commands or replies. It looks at lengths and
// at the first word only, and has no code in common with the parser that it helps to test.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace mortise::test {

class ProxyFrames {
 public:
  enum class Of { requests, replies };
  explicit ProxyFrames(Of of) noexcept : of_(of) {}

  void feed(std::string_view bytes) { buffer_.append(bytes); }

  /// @return the next whole frame; nothing: more bytes are needed. What is no RESP2 (TLS, say, or a
  /// frame over 8 MiB) makes the rest of the stream opaque: it comes in pieces as it is fed.
  [[nodiscard]] std::optional<std::string> next();
  /// @return what is left of a stream that has ended inside a frame.
  [[nodiscard]] std::string rest();
  [[nodiscard]] bool opaque() const noexcept { return opaque_; }

  /// The first word of an array of strings, in capitals: "EVALSHA", "MESSAGE"; else "".
  [[nodiscard]] static std::string first_word(std::string_view frame);
  /// The number of elements of an array; else 0.
  [[nodiscard]] static std::size_t elements(std::string_view frame);

 private:
  enum class Step { over, more, broken };
  [[nodiscard]] Step skip_value();
  [[nodiscard]] std::string take(std::size_t size);

  Of of_;
  bool opaque_ = false;
  std::string buffer_;
  // A frame that comes in many pieces is scanned once: up to `scanned_`, with so many values to go.
  std::size_t scanned_ = 0;
  std::uint64_t values_left_ = 1;
};

}  // namespace mortise::test
