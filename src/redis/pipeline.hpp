// SPDX-License-Identifier: MIT
// One connection after another as a pipeline: any thread sends a call, and the replies come in the
// order of the calls.
#pragma once

#include <mortise/clock.hpp>
#include <mortise/error.hpp>

#include "redis/call.hpp"
#include "redis/reply.hpp"
#include "redis/sent_calls.hpp"
#include "remote/link.hpp"
#include "remote/stream/write_queue.hpp"

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

namespace mortise::redis {

/// A command takes the mutex when it is sent. A thread that polls or reads does not take it.
/// @thread_safety see each group of members
class Pipeline {
 public:
  using Calls = SentCalls::Calls;
  using Stream = remote::Stream;
  using WriteQueue = remote::WriteQueue;

  /// It calls nothing of the connection.
  class User {
   public:
    virtual ~User() = default;
    /// Asked under the mutex, right before a call takes its place among the others: a call that no
    /// caller wants any more must not come behind the call that ended it.
    /// @return false: it was withdrawn
    [[nodiscard]] virtual bool admits(const Call& call) = 0;
    /// The reply to a call was read, and nothing else is read before this returns. In the reader's
    /// role, and not under the mutex.
    /// @param now when the reply was read; unset for a release that was alone
    virtual void matched(const Call& /*call*/, const Reply& /*reply*/, Instant /*now*/) {}
  };
  /// The result of sending a command. A refused command (there is no connection, or another one by
  /// now) and a withdrawn command did nothing.
  enum class Sent : std::uint8_t { sent, withdrawn, refused };

  /// @param user, link outlive it
  /// @param mutex guards what the user notes of calls as well; null = its own
  /// @param generations see UnderWay
  Pipeline(User& user, std::shared_ptr<Clock> clock, remote::Link& link, std::mutex* mutex,
           std::atomic<std::uint64_t>* generations)
      : user_(user),
        clock_(std::move(clock)),
        link_(link),
        mutex_(mutex != nullptr ? *mutex : own_mutex_),
        bytes_(mutex_),
        calls_(generations) {}

  // Any thread.

  struct Sending {
    Sent sent = Sent::sent;
    SentCalls::Place place{};
    bool is_stopped = false;  ///< the thread that polls must look at the connection
    bool has_left = true;     ///< false: not a byte has, so `take_back()` comes next
  };
  /// @param call see Connection::send(); null = a request that is answered by pushes only
  [[nodiscard]] Sending send(Call* call, std::string_view bytes);
  /// Takes back a call that has not left. @return `sent`: its connection was dropped in the
  /// meantime, and the user was notified that the call is unanswered
  [[nodiscard]] Sent take_back(Call& call, const SentCalls::Place& place) noexcept;
  /// Writes the queued bytes. @return true if the thread that polls must look at the connection
  [[nodiscard]] bool write_rest();
  /// @return true if a call of that kind is not answered.
  template <class Which>
  [[nodiscard]] bool awaits(Which which) const {
    const std::lock_guard lock(mutex_);
    return calls_.any(which);
  }
  /// @return what to poll for.
  [[nodiscard]] short interest() const noexcept;
  /// Marks the connection broken. @param even_if_made also one that is still being made
  /// @return false: there is none
  [[nodiscard]] bool mark_broken(const Failure& why, bool even_if_made) noexcept;
  [[nodiscard]] SentCalls& calls() noexcept { return calls_; }
  [[nodiscard]] const SentCalls& calls() const noexcept { return calls_; }
  [[nodiscard]] WriteQueue& bytes() noexcept { return bytes_; }
  [[nodiscard]] const WriteQueue& bytes() const noexcept { return bytes_; }

  // The reader's role, which one thread at a time has.

  /// Begins with the stream of another connection, or with none.
  void open(std::shared_ptr<Stream> stream) noexcept;
  /// Only this role replaces the stream.
  [[nodiscard]] Stream* stream() const noexcept { return bytes_.stream().get(); }
  /// Queues the first bytes of a connection.
  void greet(const std::string& bytes);
  /// They were answered.
  void greeted(Instant now) noexcept;
  enum class Match : std::uint8_t { answered, asking, unexpected };
  /// @return `answered`: the reply is that of `calls().taken()`; `asking`: of the ASKING before a
  /// call
  [[nodiscard]] Match match(const Reply& reply);
  /// @return true if the oldest call was not answered in time.
  [[nodiscard]] bool is_late(Instant now);
  /// @return why it was marked broken, if there was memory for the words.
  [[nodiscard]] std::optional<Failure> why_broken() const;
  struct Ended {
    std::shared_ptr<Stream> stream{};  ///< is closed with the last reference
    Calls unanswered{};
  };
  /// The connection is over, and the link with it. @param now when; unset = it was left in peace
  [[nodiscard]] Ended end(Instant now) noexcept;

 private:
  [[nodiscard]] WriteQueue::Flushed flush(std::shared_ptr<Stream> stream);

  User& user_;
  const std::shared_ptr<Clock> clock_;
  remote::Link& link_;
  std::mutex own_mutex_;
  std::mutex& mutex_;
  WriteQueue bytes_;
  SentCalls calls_;
  std::optional<Failure> why_broken_;
};

}  // namespace mortise::redis
