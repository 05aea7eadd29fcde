// SPDX-License-Identifier: MIT
// What a server answers, and the reader that makes it of bytes: hiredis parses, we set the limits
// (a header that promises 2^31 elements must not reserve memory for them).
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace mortise::redis {

struct Reply {
  enum class Kind { nil, status, error, integer, string, array };
  Kind kind = Kind::nil;
  long long integer = 0;
  std::string text{};  ///< of a status, an error or a string
  std::vector<Reply> items{};

  [[nodiscard]] bool is_error() const noexcept { return kind == Kind::error; }
};

struct ReplyLimits {
  std::size_t bytes = std::size_t{256} << 10U;  ///< of one reply, all its strings together
  std::size_t items = 8192;                     ///< of one reply, all its levels together
};

/// @thread_safety one thread at a time.
class ReplyReader {
 public:
  enum class Next { reply, more, broken };

  explicit ReplyReader(ReplyLimits limits = {});
  ~ReplyReader();
  ReplyReader(const ReplyReader&) = delete;
  ReplyReader& operator=(const ReplyReader&) = delete;

  void feed(std::span<const char> bytes);
  /// Takes the next whole reply out. `broken` (see `error()`) is for ever. May throw
  /// std::bad_alloc, which is for ever, too.
  [[nodiscard]] Next next(Reply& reply);
  /// @return what is wrong, in words, without the bytes themselves.
  [[nodiscard]] const std::string& error() const noexcept;

 private:
  struct Parser;
  std::unique_ptr<Parser> parser_;
};

}  // namespace mortise::redis
