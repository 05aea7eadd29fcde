// SPDX-License-Identifier: MIT
// The end of a client: the mark that everybody looks at, who is inside at that moment, and in which
// order the rest ends.
#pragma once

#include <mortise/clock.hpp>

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <vector>

namespace mortise {
class Operation;
}

namespace mortise::runtime {

class ClientState;

/// Whoever asks the server is counted first and looks at the mark then; closing sets the mark first
/// and looks at the counts then. A hold ends, and whoever frees it is counted, under its slot's
/// mutex, which closing takes after the mark and before it looks at the counts. So neither misses
/// the other.
/// @thread_safety every member may be called concurrently; the mutex guards only that the second
/// caller of `close()` waits for the first.
class Closing {
 public:
  explicit Closing(ClientState& client) noexcept : client_(client) {}
  [[nodiscard]] bool begun() const noexcept { return begun_.load(); }
  void close() noexcept;

  // The same in steps, for a loop that must not wait: `advance()` until it has ended.

  /// Does nothing if it has begun already.
  void begin_stepped() noexcept;
  /// By one thread at a time. @return whether it has ended
  [[nodiscard]] bool advance() noexcept;
  [[nodiscard]] bool has_ended() noexcept;

  /// Counts callers that are inside of something that `close()` waits for.
  class Inside {
   public:
    /// @param is_thread whether one thread makes the whole call. Any threads step a call that has
    /// none of its own, so no thread is inside of that.
    Inside(std::atomic<int>& count, bool is_thread) noexcept
        : count_(count), threads_(is_thread ? 1 : 0) {
      count_.fetch_add(1);
      on_this_thread += threads_;
    }
    ~Inside() {
      on_this_thread -= threads_;
      count_.fetch_sub(1);
    }
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;
    /// @return whether the calling thread is: then it runs an observer.
    [[nodiscard]] static bool is_caller() noexcept { return on_this_thread > 0; }

   private:
    static thread_local int on_this_thread;
    std::atomic<int>& count_;
    const int threads_;
  };
  /// Asking the server: `close()` lets them leave its queues.
  [[nodiscard]] std::atomic<int>& askers() noexcept { return asking_; }
  /// The same for a thread that was given an attempt while it slept: from that moment on, not only
  /// from when it wakes, there may be a grant that has to be given back.
  void successor_comes() noexcept { asking_.fetch_add(1); }
  void successor_goes() noexcept { asking_.fetch_sub(1); }
  /// Freeing a hold: `close()` lets the server hear of it.
  [[nodiscard]] std::atomic<int>& freers() noexcept { return freeing_; }

 private:
  [[nodiscard]] bool begin() noexcept;
  /// @return whether the calling thread makes a call, or a step of one: it runs an observer, or,
  /// with `Drive::program`, an executor.
  [[nodiscard]] bool is_inside_of_a_call() const noexcept;
  void release_holds() noexcept;
  void await_releases() noexcept;
  [[nodiscard]] bool is_pending() noexcept;
  void rest() noexcept;
  void finish() noexcept;

  /// The conditions of its end.
  struct Course {
    Instant until{};
    Instant for_callers{};
    std::vector<std::shared_ptr<Operation>> releases{};
  };

  ClientState& client_;
  std::atomic<int> asking_{0};
  std::atomic<int> freeing_{0};
  std::atomic<bool> begun_{false};
  std::atomic<bool> stepped_{false};
  std::atomic<bool> finishing_{false};  // a step does the last part, which steps other calls
  Course course_;                       // written by the thread that begins
  std::mutex mutex_;
  std::condition_variable ended_;
  bool has_ended_ = false;
};

}  // namespace mortise::runtime
