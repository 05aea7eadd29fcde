// SPDX-License-Identifier: MIT
// How a client process writes its part of a history. Handles pair each return with its invoke, and
// each renewal, write and release with its acquisition, so a test cannot pair them wrongly.
//
//   Recorder recorder(history, process);
//   auto attempt = recorder.invoke_acquire(owner, name);   // before the call
//   if (!lock.try_lock_for(1s)) recorder.returned(attempt, Outcome::fail);
//   auto hold = recorder.granted(attempt, lock.token(), deadline);
//   auto release = recorder.invoke_release(hold);          // before the call
//   recorder.returned(release, Outcome::ok);
#pragma once

#include "model/history.hpp"

#include <sys/types.h>

#include <cstdint>
#include <functional>

namespace mortise::model {

// The deadline of a hold on a backend without leases.
inline constexpr std::int64_t no_deadline = 0;

// An acquisition that was sent out. `time` is when, on the recorder's clock.
struct Attempt {
  std::uint64_t op = 0;
  std::uint32_t owner = 0;
  std::uint32_t name = 0;
  std::int64_t time = 0;
  Shape shape = Shape::exclusive;
};

// An acquisition that was granted. Valid in all threads of its process.
struct Hold {
  std::uint64_t op = 0;
  std::uint32_t owner = 0;
  std::uint32_t name = 0;
  std::uint64_t token = 0;
  Shape shape = Shape::exclusive;
};

// A release or a write that was sent out under a hold.
struct RecordedCall {
  Hold hold;
  Operation operation{};
  std::uint64_t op = 0;
};

// Thread-safe, allocates nothing, about 100 ns an event. Every member but the constructor throws
// HistoryFull. Made anew after fork(): it keeps the process's pid.
class Recorder {
 public:
  using Clock = std::function<std::int64_t()>;

  // `process` is this process's index, never used by another one of the same history, not even
  // after its death. The clock is one for all recorders of a history; where a test owns the time,
  // it must still tell apart what came first and what came next.
  Recorder(HistoryFile& history, std::uint32_t process, Clock clock = monotonic_ns);

  std::int64_t now() const { return clock_(); }

  // Before the library is asked.
  [[nodiscard]] Attempt invoke_acquire(std::uint32_t owner, std::uint32_t name,
                                       Shape shape = Shape::exclusive) const;
  // After it has answered, exactly one of these. `deadline` is until when the holder believes that
  // it holds (time read before valid_for() + valid_for()); nothing that it might learn later.
  Hold granted(const Attempt& attempt, std::uint64_t token,
               std::int64_t deadline = no_deadline) const;
  void returned(const Attempt& attempt, Outcome fail_or_unknown) const;

  // The holder's belief moved: it now holds until `deadline`.
  void renewed(const Hold& hold, std::int64_t deadline) const;
  // The holder was told, by whatever means, that its hold is lost.
  void lost(const Hold& hold) const;

  // Before the call, and after it.
  [[nodiscard]] RecordedCall invoke_release(const Hold& hold) const;
  [[nodiscard]] RecordedCall invoke_write(const Hold& hold) const;
  void returned(const RecordedCall& call, Outcome outcome) const;

  // Written by the process that killed or reaped `process`: it lived at `sent` and was gone at
  // `reaped`.
  void died(std::uint32_t process, pid_t pid, std::int64_t sent, std::int64_t reaped) const;

 private:
  Event event(Operation operation, Phase phase) const;
  Event event(const Hold& hold, Operation operation, Phase phase) const;
  RecordedCall invoke(const Hold& hold, Operation operation) const;

  HistoryFile& history_;
  std::uint32_t process_;
  std::int32_t pid_;
  Clock clock_;
};

}  // namespace mortise::model
