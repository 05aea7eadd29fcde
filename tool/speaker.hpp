// SPDX-License-Identifier: MIT
// Standard error, written by a thread of its own. Whoever reads it may stop to (a pager whose page
// is not turned, a terminal after ^S), and a keeper that waits for that ends no command.
#pragma once

#include "descriptor.hpp"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

namespace mortise::tool {

/// While one is there, all that the process says goes through it. One a process; it outlives all
/// who speak.
class Speaker {
 public:
  Speaker();
  Speaker(const Speaker&) = delete;
  Speaker& operator=(const Speaker&) = delete;
  /// Waits until all is written, or nobody reads it any more.
  ~Speaker();

  /// Never waits for who reads.
  void say(std::string_view text);
  /// @return whether there is little enough left to write. Where not, `room()` tells when.
  [[nodiscard]] bool has_room();
  [[nodiscard]] int room() const noexcept { return room_.get(); }
  /// Waits at most so long until all is written.
  void wait(std::chrono::milliseconds longest);

 private:
  void write();

  Descriptor room_;  ///< an eventfd
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string text_;      ///< not begun to be written
  bool writing_ = false;  ///< something else is
  bool ended_ = false;
  std::jthread thread_;
};

/// Says it by the process's speaker; where there is none, writes it, all in one.
void say(std::string_view text);

}  // namespace mortise::tool
