// SPDX-License-Identifier: MIT
// PostgreSQL's messages as bytes, in both directions (protocol 3.0, "Message Formats"). It is the
// real format, so that the model can be asked by the real libpq, and the simulation's libpq can
// ask the real server.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace simulation::postgres {

/// One message, without its length. Of the first one of a connection the kind is 0.
struct Message {
  char kind = 0;
  std::string_view body{};
};

/// Puts messages together at the end of a string.
class MessageWriter {
 public:
  /// @param kind 0: a message without a kind, the first one of a connection
  MessageWriter(std::string& out, char kind);
  MessageWriter(const MessageWriter&) = delete;
  MessageWriter& operator=(const MessageWriter&) = delete;
  ~MessageWriter();  ///< fills the length in

  MessageWriter& byte(char value);
  MessageWriter& int16(std::int16_t value);
  MessageWriter& int32(std::int32_t value);
  MessageWriter& bytes(std::string_view value);
  MessageWriter& text(std::string_view value);  ///< and a zero

 private:
  std::string& out_;
  std::size_t length_at_;
};

/// Takes one message apart. What is not there reads as zero, or nothing; `good()` tells.
class MessageReader {
 public:
  explicit MessageReader(std::string_view body) noexcept : rest_(body) {}
  char byte() noexcept;
  std::int16_t int16() noexcept;
  std::int32_t int32() noexcept;
  std::string_view bytes(std::size_t count) noexcept;
  std::string_view text() noexcept;  ///< up to a zero
  [[nodiscard]] bool good() const noexcept { return good_; }
  [[nodiscard]] std::string_view rest() const noexcept { return rest_; }

 private:
  std::string_view rest_;
  bool good_ = true;
};

/// Bytes that arrive, as messages.
class MessageStream {
 public:
  void append(std::string_view bytes);
  /// @param first whether it is one without a kind
  /// @return the next whole message; it stays until the next call of a member
  std::optional<Message> next(bool first);
  [[nodiscard]] bool whole(bool first) const noexcept;

 private:
  [[nodiscard]] std::string_view unread() const noexcept;
  std::string bytes_;
  std::size_t read_ = 0;
};

/// @return a number in the order of the network.
[[nodiscard]] std::uint64_t number_of(std::string_view bytes) noexcept;
void append_number(std::string& out, std::uint64_t value, std::size_t size);

}  // namespace simulation::postgres
