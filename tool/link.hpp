// SPDX-License-Identifier: MIT
// What the two processes of a run say to each other. The front talks to the shell; the keeper has
// the lock and the command. Each sees the other's death by the end of the link.
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
    started,  ///< keeper: the command is there, and waits for `go`; its process group
    go,       ///< front: the terminal is given, the command may begin
    forward,  ///< front: this signal for the command
    stopped,  ///< keeper: the command was stopped by this signal
    freed,    ///< keeper: the command is over, the lock is free; what is left is to say so
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
  /// Whether anybody hears it is not told: the end of the link tells that. Never waits: what one
  /// who stands still does not hear is dropped when there is no room for it.
  /// @return whether there was room
  bool say(Message::Kind kind, int value = 0) const noexcept;
  [[nodiscard]] Heard hear(Message& message) const noexcept;

 private:
  Descriptor fd_;
};

/// A moment in memory that both processes share. Not a message: a front that is stopped for long
/// hears none, and a full socket would keep the newest from it.
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
