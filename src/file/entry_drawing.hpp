// SPDX-License-Identifier: MIT
// The moment in which one of those who share a name is granted it: its number is larger than those
// before, and nobody else draws one.
#pragma once

#include "file/entry.hpp"

#include <sched.h>

#include <chrono>
#include <memory>
#include <optional>
#include <utility>

namespace mortise::file {

/// How long a waiter sleeps where somebody else draws a number: it takes microseconds, unless that
/// one was stopped over it.
inline constexpr std::chrono::nanoseconds drawing_pause = std::chrono::milliseconds(1);

/// Locks the byte of those who draw, and gives back what else was locked unless that is kept.
class Entry::Drawing {
 public:
  explicit Drawing(std::shared_ptr<LockFile> file) noexcept : file_(std::move(file)) {}
  Drawing(const Drawing&) = delete;
  Drawing& operator=(const Drawing&) = delete;
  ~Drawing() {
    if (!locked_) return;
    if (taken_) file_->unlock(*taken_);
    file_->unlock(drawing_byte);
    // An owner to be may have found the one or the other locked, and gone to sleep.
    if (!kept_) file_->wake_all();
  }

  [[nodiscard]] Failure begin(bool& locked) {
    constexpr int tries = 20;
    for (int tried = 0; tried < tries; ++tried) {
      if (tried > 0) ::sched_yield();
      Failure why = file_->try_lock(drawing_byte, locked_);
      locked = locked_;
      if (why || locked_) return why;
    }
    return {};
  }
  [[nodiscard]] Failure lock(ByteRange bytes, ByteLock kind, bool& locked) {
    Failure why = file_->try_lock(bytes, locked, kind);
    if (!why && locked) taken_ = bytes;
    return why;
  }
  void keep() noexcept {
    kept_ = true;
    taken_.reset();
  }

 private:
  const std::shared_ptr<LockFile> file_;
  bool locked_ = false;
  bool kept_ = false;
  std::optional<ByteRange> taken_;
};

}  // namespace mortise::file
