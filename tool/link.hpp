// SPDX-License-Identifier: MIT
// Messages between the two processes of a run. The front talks to the shell. The keeper has the
// lock and the command. Each notices the death of the other by the end of the link.
#pragma once

#include <mortise/clock.hpp>

#include "descriptor.hpp"

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <utility>

namespace mortise::tool {

/// One message.
struct Message {
  enum Kind : std::int32_t {
    started,  ///< keeper: the command waits for `go`; the value is its process group
    go,       ///< front: the command has the terminal and may begin
    forward,  ///< front: send this signal to the command
    stopped,  ///< keeper: the command was stopped by this signal
    freed,    ///< keeper: the command has ended and the lock is free; only output is left
  };
  Kind kind{};
  std::int32_t value = 0;
};

/// One end.
class Link {
 public:
  enum class Heard { message, nothing, end };

  explicit Link(Descriptor fd) noexcept : fd_(std::move(fd)) {}
  [[nodiscard]] int fd() const noexcept { return fd_.get(); }
  /// Sends a message without waiting. If the other process is stopped and the link is full, the
  /// message is dropped. Does not report whether the other process is alive: `hear()` does.
  /// @return whether there was room
  bool say(Message::Kind kind, int value = 0) const noexcept;
  [[nodiscard]] Heard hear(Message& message) const noexcept;

 private:
  Descriptor fd_;
};

/// A moment in memory that both processes share. It is not a message, because a stopped front reads
/// none, and a full socket would drop the newest one.
class SharedMoment {
 public:
  SharedMoment();
  ~SharedMoment();
  SharedMoment(const SharedMoment&) = delete;
  SharedMoment& operator=(const SharedMoment&) = delete;
  void set(Instant moment) noexcept { value_->store(moment.time_since_epoch().count()); }
  [[nodiscard]] Instant get() const noexcept {
    return Instant(std::chrono::nanoseconds(value_->load()));
  }

 private:
  std::atomic<std::int64_t>* value_;
};

}  // namespace mortise::tool
