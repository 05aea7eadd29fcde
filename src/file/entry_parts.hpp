// SPDX-License-Identifier: MIT
// What the sources of `Entry` share.
#pragma once

#include "file/entry.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <utility>

namespace mortise::file {

class Entry::Change {
 public:
  explicit Change(Entry& entry) : entry_(entry), hold_(entry.mutex_) {}
  Change(const Change&) = delete;
  Change& operator=(const Change&) = delete;
  ~Change() {
    if (entry_.announced_) entry_.withdraw();
    const bool in_use = entry_.owner_ || !entry_.sharing_.empty() || !entry_.waiters_.empty();
    if (in_use == entry_.in_use_.load()) return;
    entry_.in_use_.store(in_use);
    if (in_use) {
      entry_.common_.in_use.fetch_add(1);
    } else {
      entry_.common_.in_use.fetch_sub(1);
    }
  }

 private:
  Entry& entry_;
  std::lock_guard<std::mutex> hold_;
};

/// Lets the lock go unless it is kept: also when an exception passes.
class Unlocking {
 public:
  /// @param wakes how many: where no turn has passed, one alone may not be the one that can go on
  explicit Unlocking(const LockFile& file, int wakes = 1) noexcept : file_(&file), wakes_(wakes) {}
  Unlocking(const Unlocking&) = delete;
  Unlocking& operator=(const Unlocking&) = delete;
  ~Unlocking() {
    if (file_ != nullptr) file_->unlock(wakes_);
  }
  void keep() noexcept { file_ = nullptr; }

 private:
  const LockFile* file_;
  const int wakes_;
};

/// How long the waiter that our release woke has the first try. It needs a few microseconds; a
/// stopped process must not cost us more than this.
inline constexpr std::chrono::nanoseconds politeness = std::chrono::milliseconds(1);

/// How often a file that is replaced meanwhile is opened anew.
inline constexpr int patience = 8;

/// The clock by which keys are kept.
inline std::int64_t wall_milliseconds() noexcept {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
}

inline Decision failed(Failure why) {
  return {.kind = Decision::Kind::failed, .failure = std::move(why)};
}

inline Decision client_is_closed() { return failed({Errc::closed, "the client is closed"}); }

}  // namespace mortise::file
