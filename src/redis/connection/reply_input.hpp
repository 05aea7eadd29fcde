// SPDX-License-Identifier: MIT
// Reads the replies of one connection after another.
#pragma once

#include "redis/store/reply.hpp"
#include "remote/stream/stream.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace mortise::redis {

/// @thread_safety one thread at a time
class ReplyInput {
 public:
  using Stream = remote::Stream;

  void begin(ReplyLimits limits) {
    reader_.emplace(limits);
    has_heard_ = false;
  }
  void end() noexcept { reader_.reset(); }
  /// Keeps no memory until the next `begin()`.
  void rest() noexcept {
    buffer_ = {};
    reply_ = {};
  }
  /// @return false: it has ended
  [[nodiscard]] bool is_open() const noexcept { return reader_.has_value(); }
  /// @return true if the server has sent anything.
  [[nodiscard]] bool has_heard() const noexcept { return has_heard_; }
  /// @param sleeps for the first byte: see Stream::read_soon()
  [[nodiscard]] Stream::Moved read(Stream& stream, bool sleeps) {
    constexpr std::size_t size = std::size_t{16} << 10U;
    buffer_.resize(size);
    const Stream::Moved moved = sleeps ? stream.read_soon(buffer_) : stream.read(buffer_);
    if (moved.status != Stream::Status::done) return moved;
    has_heard_ = true;
    reader_->feed({buffer_.data(), moved.bytes});
    return moved;
  }
  /// @return false: a plain socket that gave so many bytes is empty now. To read it again would
  /// cost a system call
  [[nodiscard]] bool may_have_more(std::size_t bytes) const noexcept {
    return bytes >= buffer_.size();
  }
  /// See ReplyReader::next().
  [[nodiscard]] ReplyReader::Next next() { return reader_->next(reply_); }
  [[nodiscard]] const Reply& reply() const noexcept { return reply_; }
  [[nodiscard]] const std::string& error() const noexcept { return reader_->error(); }

 private:
  std::optional<ReplyReader> reader_;
  bool has_heard_ = false;
  std::vector<char> buffer_;
  Reply reply_;
};

}  // namespace mortise::redis
