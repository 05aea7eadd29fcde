// SPDX-License-Identifier: MIT
// The bytes that wait for one connection after another: any thread adds some, and one thread at a
// time writes them, its own and those of the others.
#pragma once

#include <mortise/clock.hpp>

#include "remote/stream/stream.hpp"

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

namespace mortise::remote {

/// @thread_safety see each group of members
class WriteQueue {
 public:
  /// @param mutex of the connection, which guards the bytes that other threads add
  explicit WriteQueue(std::mutex& mutex) : mutex_(mutex) {}

  // Under the mutex.

  /// Drops the unwritten bytes.
  /// @param stream of the next connection; null = there is none yet
  /// @return the stream of the last one: destroy it outside the mutex
  std::shared_ptr<Stream> open(std::shared_ptr<Stream> stream) noexcept;
  /// @return null = not connected.
  [[nodiscard]] const std::shared_ptr<Stream>& stream() const noexcept { return stream_; }
  /// `add()` of that many bytes needs no memory.
  void make_room(std::size_t bytes) { queued_.reserve(queued_.size() + bytes); }
  void add(std::string_view bytes) { queued_.append(bytes); }
  /// @return the stream to which the caller must `flush()`; null = the bytes stay queued: another
  /// thread writes, the server takes no more, or more requests are about to come
  [[nodiscard]] std::shared_ptr<Stream> begin(Clock& clock) noexcept;

  // Any thread, not under the mutex.

  /// @return as `begin()`, without a wait for more requests.
  [[nodiscard]] std::shared_ptr<Stream> begin_rest() noexcept;
  struct Flushed {
    bool has_left = false;  ///< a byte of the caller left
    /// It stopped because the server takes no more, or because the stream failed: the thread that
    /// polls must know.
    bool is_stopped = false;
  };
  /// Writes the bytes, and the bytes that other threads have added in the meantime. If the
  /// connection is made again, it goes on with the new one, whose greeting waits for the thread
  /// that writes.
  /// @param failed called under the mutex if the stream failed
  template <class Failed>
  [[nodiscard]] Flushed flush(std::shared_ptr<Stream> stream, Failed failed) {
    Flushed flushed{};
    bool is_mine = true;  // the first batch has the bytes of the caller
    for (;;) {
      const Written written = write_batch(*stream);
      if (std::exchange(is_mine, false)) {
        flushed.has_left = written.bytes > 0 || written.status == Stream::Status::again;
      }
      if (written.status == Stream::Status::done && end_batch()) return flushed;
      const std::lock_guard lock(mutex_);
      if (written.status != Stream::Status::done && stream_ == stream) {
        if (!keep_rest(written)) failed();
        flushed.is_stopped = true;
        return flushed;
      }
      if (!begin_next_batch()) return flushed;
      stream = stream_;
    }
  }
  /// @return true if the server takes no more bytes for now: poll for POLLOUT.
  [[nodiscard]] bool is_blocked() const noexcept { return is_blocked_.load(); }
  /// The socket may take bytes again. @return true if it took none before
  bool unblock() noexcept { return is_blocked_.exchange(false); }
  /// Callers that are answered together ask again together, each in its own thread. Their requests
  /// are kept back, to leave in one system call.
  void gather(Instant now);
  [[nodiscard]] bool is_gathering() const noexcept { return is_gathering_.load(); }
  void end_gathering() noexcept { is_gathering_.store(false); }

 private:
  struct Written {
    Stream::Status status = Stream::Status::done;
    std::size_t bytes = 0;
  };
  [[nodiscard]] bool begin_writing() noexcept;
  [[nodiscard]] Written write_batch(Stream& stream) const noexcept;
  [[nodiscard]] bool end_batch() noexcept;
  [[nodiscard]] bool begin_next_batch() noexcept;
  [[nodiscard]] bool keep_rest(const Written& written) noexcept;

  // Whether a thread is writing, to which `batch_` belongs then, and whether more has come since it
  // took that. Changed under the mutex, but for the end of a batch behind which nothing has come.
  static constexpr unsigned nobody_writes = 0;
  static constexpr unsigned somebody_writes = 1;
  static constexpr unsigned more_came = 2;

  std::mutex& mutex_;
  std::shared_ptr<Stream> stream_;  // shared with a thread that writes at this moment
  std::string queued_;
  std::string batch_;
  std::atomic<unsigned> writing_{nobody_writes};
  std::atomic<bool> is_blocked_{false};
  std::atomic<bool> is_gathering_{false};  // set in the reader's role only
  Instant gathering_since_{};
};

}  // namespace mortise::remote
