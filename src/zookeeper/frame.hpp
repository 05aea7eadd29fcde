// SPDX-License-Identifier: MIT
// The frames of a connection. The C client reads a reply without looking whether it could: of one
// that is too short it hands out memory that nobody has written. It ends the process at a reply
// with another number, or at one too many. So a reply is looked at before the C client gets it.
// Pure; it knows the protocol (zookeeper.jute), and no more.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string_view>
#include <vector>

namespace mortise::zookeeper {

/// The number of bytes that follow comes before each frame.
inline constexpr std::size_t length_size = 4;

/// @return the number that the first four bytes are; there are so many.
[[nodiscard]] std::uint32_t big_endian(const char* bytes) noexcept;

/// @return the first frame with its length; empty = it is not whole.
[[nodiscard]] std::string_view frame_of(std::string_view bytes) noexcept;

/// The replies that a connection awaits.
class AwaitedReplies {
 public:
  /// @param frame that leaves, without its length
  void sent(std::string_view frame);
  /// @param frame that has come, without its length
  /// @return true if the C client survives it. It is not awaited any more
  [[nodiscard]] bool accepts(std::string_view frame);
  /// @return true if the first frame has left, which is the greeting.
  [[nodiscard]] bool is_greeting_sent() const noexcept { return is_greeting_sent_; }
  /// @return true if a ping was sent that is not answered.
  [[nodiscard]] bool awaits_pong() const noexcept { return pings_ > 0; }
  /// The next connection begins.
  void clear() noexcept;

 private:
  struct Sent {
    std::int32_t number = 0;
    std::int32_t type = 0;
    std::vector<std::int32_t> writes{};  ///< of a request that is several in one
  };
  bool is_greeting_sent_ = false;
  bool is_greeted_ = false;
  std::deque<Sent> sent_;  // in order
  int pings_ = 0;
};

}  // namespace mortise::zookeeper
