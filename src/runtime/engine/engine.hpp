// SPDX-License-Identifier: MIT
// "Whoever waits, does the work": threads that wait for answers take turns in polling the backend's
// sources, so that a lone caller pays for no thread switch and many share one system call. The
// background thread polls what no caller waits for. It knows nothing of locks.
#pragma once

#include <mortise/backend.hpp>

#include "base/unique_fd.hpp"
#include "runtime/engine/reader_role.hpp"
#include "runtime/engine/readers.hpp"
#include "runtime/engine/source_poll.hpp"

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>

namespace mortise::runtime {

class LoopDescriptor;

/// Two roles, each held by one thread at a time: the *reader of replies*, a caller that awaits a
/// reply, and the *reader of pushes*, a caller that awaits nothing but a push. Whoever awaits a
/// push reads no replies: so a waiter costs the other callers of its client nothing, and pushes are
/// read however many replies come. Where pushes come on the connections of the replies there is the
/// first role only. The other callers (*followers*) sleep, each on its own operation; a reader that
/// leaves calls one of them, or the background thread. A caller that is alone takes the first role
/// by the `Shortcut`, without the mutex.
/// @thread_safety every member may be called concurrently; `background()` by one thread.
class Engine {
 public:
  explicit Engine(std::shared_ptr<Clock> clock);
  ~Engine();

  void attach(Source& source);
  void detach(Source& source) noexcept;
  void changed(Source& source) noexcept;

  /// Waits for an operation, and polls for everybody if nobody else does. Returns when the signal
  /// is not `seen`, the time is up, or earlier. What a source throws passes through.
  void wait(Operation& operation, std::uint32_t seen, std::chrono::nanoseconds at_most);
  /// The same for a caller that has just looked at the clock.
  /// @param now by the engine's clock: so long after it the time is up
  void wait(Operation& operation, std::uint32_t seen, std::chrono::nanoseconds at_most,
            Instant now);

  /// The background thread's part: polls until the moment comes or `interrupt()` is called.
  /// @return whether the clock was set, or the machine was suspended: whoever sleeps has to look at
  /// the clock again
  bool background(Instant until);
  /// For a loop between its looks, in place of `background()`: has the loop's descriptor become
  /// readable when that would end.
  void sleep_through(LoopDescriptor& loop, Instant until);
  /// For a loop whose look has failed: has the loop's descriptor become readable after that time.
  void pause_loop(std::chrono::nanoseconds pause) noexcept;
  /// @return a descriptor that becomes readable when `background()` would end, for other reasons
  /// than sources.
  [[nodiscard]] std::unique_ptr<LoopDescriptor> make_loop_descriptor() const;
  /// Ends `background()` early, once, also when it comes first.
  void interrupt() noexcept;
  /// The caller has sent a request whose reply it does not wait for: has it read. The background
  /// thread, asleep since before it was sent, does not look for it by itself.
  void have_replies_read() noexcept;
  /// Has the sources of replies keep requests back, for the caller is about to make several; it
  /// calls the other one when it has. May do nothing.
  void keep_requests_back() noexcept;
  void send_kept_back() noexcept;
  /// Wakes everybody who polls, so that each looks at the clock again.
  void nudge_all() noexcept;

 private:
  class Reading;
  class Alone;
  class Following;
  class InBackground;
  class Attending;
  using Lock = std::unique_lock<std::mutex>;

  [[nodiscard]] bool used_locked(const Source& source) const noexcept;
  /// @return whether the caller is done here
  bool read_alone(const Follower& self, Instant now);
  void read(Lock& lock, ReaderRole& role, Follower& self);
  /// @return the role that the caller is to read in now; null = it is to return
  [[nodiscard]] ReaderRole* follow(Lock& lock, ReaderRole& role, Follower& self);
  void poll_for(ReaderRole& role, const Attendance& attendance, Follower& self);
  void choose_last(Lock& lock);
  void send_gathered(Lock& lock);
  /// Visits, without the mutex, the sources of replies that are tuned.
  template <class Visit>
  void each_tuned(Lock& lock, Visit visit);

  std::shared_ptr<Clock> clock_;
  SourcePoll poll_;
  base::UniqueFd background_timer_;  // CLOCK_BOOTTIME: a sleep must end after a suspend, too
  base::UniqueFd clock_watch_;
  std::atomic<bool> interrupted_{false};

  std::mutex mutex_;
  Readers readers_;
  // Of the followers that were answered together the last: it sends what the others ask next.
  const Follower* last_ = nullptr;
  List<Attendance> attended_;
  std::condition_variable left_;
};

}  // namespace mortise::runtime
