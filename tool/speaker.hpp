// SPDX-License-Identifier: MIT
// Standard error, which a thread of its own writes. Its reader may stop reading (a pager that waits
// for a key, a terminal after ^S). A keeper that waited for the reader could not end a command.
#pragma once

#include "descriptor.hpp"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

namespace mortise::tool {

/// While a speaker exists, it writes all messages of the process. A process has one, which outlives
/// all callers of `say()`.
class Speaker {
 public:
  Speaker();
  Speaker(const Speaker&) = delete;
  Speaker& operator=(const Speaker&) = delete;
  /// Waits until all text is written, or until the reader has gone.
  ~Speaker();

  /// Never waits for the reader.
  void say(std::string_view text);
  /// @return whether the unwritten text is below its limit. If not, `room()` becomes readable
  /// later.
  [[nodiscard]] bool has_room();
  [[nodiscard]] int room() const noexcept { return room_.get(); }
  /// Waits until all text is written, at most this long.
  void wait(std::chrono::milliseconds longest);

 private:
  void write();

  Descriptor room_;  ///< an eventfd
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string text_;      ///< waits to be written
  bool writing_ = false;  ///< the thread writes an earlier text
  bool ended_ = false;
  std::jthread thread_;
};

/// Passes the text to the speaker of the process. If there is none, writes it in one piece.
void say(std::string_view text);

}  // namespace mortise::tool
