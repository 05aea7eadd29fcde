// SPDX-License-Identifier: MIT
// The moment in which one of several who have the name at a time draws a number: nobody else does.
#pragma once

#include "file/lock_file.hpp"

#include <sched.h>

#include <chrono>
#include <memory>
#include <utility>

namespace mortise::file {

/// How long a waiter sleeps where somebody else draws a number: it takes microseconds, unless that
/// one was stopped over it.
inline constexpr std::chrono::nanoseconds drawing_pause = std::chrono::milliseconds(1);
/// How often one tries before, and lets others run in between.
inline constexpr int drawing_tries = 20;

/// Locks the byte of those who draw. Nobody sleeps until it is free, so that nobody is woken.
class Drawing {
 public:
  explicit Drawing(std::shared_ptr<LockFile> file) noexcept : file_(std::move(file)) {}
  Drawing(const Drawing&) = delete;
  Drawing& operator=(const Drawing&) = delete;
  ~Drawing() {
    if (locked_) file_->unlock(locked_bytes_);
  }

  /// Tries once, for some bytes behind it as well.
  [[nodiscard]] Failure try_with(ByteRange behind) {
    locked_bytes_ = {.start = drawing_byte.start, .size = drawing_byte.size + behind.size};
    return file_->try_lock(locked_bytes_, locked_);
  }
  [[nodiscard]] Failure try_once() { return try_with({}); }
  /// Tries several times.
  [[nodiscard]] Failure begin() {
    Failure why = try_once();
    for (int tried = 1; !why && !locked_ && tried < drawing_tries; ++tried) {
      ::sched_yield();
      why = try_once();
    }
    return why;
  }
  [[nodiscard]] bool locked() const noexcept { return locked_; }
  /// Leaves locked what is behind it.
  void keep() noexcept { locked_bytes_ = drawing_byte; }

 private:
  const std::shared_ptr<LockFile> file_;
  bool locked_ = false;
  ByteRange locked_bytes_ = drawing_byte;
};

}  // namespace mortise::file
