// SPDX-License-Identifier: MIT
// One connection after another as a pipeline: any thread sends a call, and the answers come in the
// order of the calls.
#pragma once

#include <mortise/clock.hpp>
#include <mortise/error.hpp>

#include "base/error_words.hpp"
#include "base/farewell.hpp"
#include "base/mutant.hpp"
#include "remote/link.hpp"
#include "remote/sent_calls.hpp"
#include "remote/stream/write_queue.hpp"

#include <poll.h>

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <utility>

namespace mortise::remote {

/// A call takes the mutex when it is sent. A thread that polls or reads does not take it.
/// @tparam Call see SentCalls; its `written.generation` is the connection that its bytes are for
/// @thread_safety see each group of members
template <class Call>
class Pipeline {
 public:
  using Calls = typename SentCalls<Call>::Calls;
  /// Asked under the mutex, right before a call takes its place among the others: a call that no
  /// caller wants any more must not come behind the call that ended it.
  /// @return false: it was withdrawn
  using Admits = std::function<bool(const Call&)>;

  /// @param clock, link outlive it
  /// @param mutex guards what `admits` reads as well; null = its own
  /// @param generations see UnderWay
  Pipeline(Admits admits, Clock& clock, Link& link, std::mutex* mutex,
           std::atomic<std::uint64_t>* generations)
      : admits_(std::move(admits)),
        clock_(clock),
        link_(link),
        mutex_(mutex != nullptr ? *mutex : own_mutex_),
        bytes_(mutex_),
        calls_(generations) {}

  // Any thread.

  /// A refused call (there is no connection, or another one by now) and a withdrawn call did
  /// nothing.
  enum class Sent : std::uint8_t { sent, withdrawn, refused };
  struct Sending {
    Sent sent = Sent::sent;
    bool is_stopped = false;  ///< the thread that polls must look at the connection
  };
  /// @param call if it is sent, it goes on with the connection, and is not in here any more; null =
  /// a request that is answered by pushes only
  [[nodiscard]] Sending send(Call* call, std::string_view bytes) {
    typename SentCalls<Call>::Added added{};
    std::shared_ptr<Stream> stream;
    {
      const std::lock_guard lock(mutex_);
      if (!link_.is_up() || !bytes_.stream()) return {Sent::refused};
      // Written for a connection that has broken since: the next one may not have its script, or
      // may lead to a server with another clock.
      if (call != nullptr && call->written.generation != calls_.generation()) {
        return {Sent::refused};
      }
      // Make room first: the user counts an admitted call as sent, so the call must leave.
      bytes_.make_room(bytes.size());
      if (call != nullptr) {
        calls_.make_room();
        if (!admits_(*call)) return {Sent::withdrawn};
      }
      // Both or neither from here on, since neither needs memory. A call without its bytes would be
      // given the reply to the next one, and hold what another one holds (S1).
      bytes_.add(bytes);
      if (call != nullptr) added = calls_.add(*call, clock_);
      stream = bytes_.begin(clock_);
    }
    if (!stream) return {Sent::sent, added.is_due_earlier};
    const WriteQueue::Flushed flushed = flush(std::move(stream));
    // The server does not know of a call of which not a byte has left, and that is worth knowing.
    const bool has_call = flushed.has_left || call == nullptr || !take_back(*call, added.place);
    return {has_call ? Sent::sent : Sent::refused, flushed.is_stopped || added.is_due_earlier};
  }
  /// Writes the queued bytes. @return true if the thread that polls must look at the connection
  [[nodiscard]] bool write_rest() {
    std::shared_ptr<Stream> stream = bytes_.begin_rest();
    return stream && flush(std::move(stream)).is_stopped;
  }
  /// @return true if a call of that kind is not answered.
  template <class Which>
  [[nodiscard]] bool awaits(Which which) const {
    const std::lock_guard lock(mutex_);
    return calls_.any(which);
  }
  /// @return what to poll for.
  [[nodiscard]] short interest() const noexcept {
    std::shared_ptr<Stream> stream;
    {
      const std::lock_guard lock(mutex_);
      stream = bytes_.stream();
    }
    const int more = stream ? stream->interest() : 0;
    return static_cast<short>(more | POLLIN | (bytes_.is_blocked() ? POLLOUT : 0));
  }
  /// Marks the connection broken. @param even_if_made also one that is still being made
  /// @return false: there is none
  [[nodiscard]] bool mark_broken(const Failure& why, bool even_if_made) noexcept {
    const std::lock_guard lock(mutex_);
    const Link::State state = link_.state();
    const bool is_made = state == Link::State::up;
    if (state == Link::State::idle || (!even_if_made && !is_made)) return false;
    link_.mark_broken();
    base::without_memory([&] { why_broken_ = why; });
    return true;
  }
  [[nodiscard]] SentCalls<Call>& calls() noexcept { return calls_; }
  [[nodiscard]] const SentCalls<Call>& calls() const noexcept { return calls_; }
  [[nodiscard]] WriteQueue& bytes() noexcept { return bytes_; }
  [[nodiscard]] const WriteQueue& bytes() const noexcept { return bytes_; }

  // The reader's role, which one thread at a time has.

  /// Begins with the stream of another connection, or with none.
  void open(std::shared_ptr<Stream> stream) noexcept {
    std::shared_ptr<Stream> last;  // closed after the mutex was left
    const std::lock_guard lock(mutex_);
    last = bytes_.open(std::move(stream));
  }
  /// Runs a step of connecting. The caller cannot repeat such a step, because an approach returns
  /// each result once. If the step throws, this function marks the connection as broken. The next
  /// look may have memory again, and drops the connection.
  /// @param placed adds the server to the message of a failure
  /// @return false if the step threw: the thread that polls must look at the connection
  template <class Step, class Placed>
  [[nodiscard]] bool take_step(Step step, Placed placed) {
    Failure why(Errc::exhausted, "no memory");  // so short that it needs none
    try {
      step();
      return true;
    } catch (const Error& error) {
      base::without_memory([&] { why = placed(Failure(error.errc(), base::words_of(error))); });
    } catch (const std::exception&) {
      // There is no memory for the step.
    }
    static_cast<void>(mark_broken(why, true));
    return false;
  }
  /// Only this role replaces the stream.
  [[nodiscard]] Stream* stream() const noexcept { return bytes_.stream().get(); }
  /// Queues the first bytes of a connection. @return our clock before they leave
  Instant greet(std::string_view bytes) {
    const std::lock_guard lock(mutex_);
    const Instant now = clock_.now();
    calls_.begin(now);
    bytes_.add(bytes);
    return now;
  }
  /// They were answered.
  void greeted(Instant now) noexcept {
    const std::lock_guard lock(mutex_);
    calls_.begun(now);
  }
  /// The oldest call is answered. @param now when its reply was read: see SentCalls::read()
  void answered(Instant now) noexcept {
    calls_.answer();
    // If calls are always under way, answers put the moment off that the first of them had.
    if (now != Instant{} && calls_.due() <= now) static_cast<void>(is_late(now));
  }
  /// @return true if a call was not answered in time.
  [[nodiscard]] bool is_late(Instant now) noexcept {
    const std::lock_guard lock(mutex_);
    return calls_.is_late(now);
  }
  /// @return why it was marked broken, if there was memory for the words.
  [[nodiscard]] std::optional<Failure> why_broken() const {
    const std::lock_guard lock(mutex_);
    return why_broken_;
  }
  /// The connection is over, and the link with it. @param now when; unset = it was left in peace
  /// @return the calls that were not answered
  [[nodiscard]] Calls end(Instant now) noexcept {
    std::shared_ptr<Stream> last;  // closed after the mutex was left
    const std::lock_guard lock(mutex_);
    now == Instant{} ? link_.leave() : link_.drop(now);
    why_broken_.reset();
    last = bytes_.open(nullptr);
    return calls_.end();
  }

 private:
  [[nodiscard]] WriteQueue::Flushed flush(std::shared_ptr<Stream> stream) {
    // Without words: those of a link that is broken are the same.
    WriteQueue::Flushed flushed = bytes_.flush(std::move(stream), [this] { link_.mark_broken(); });
    if (base::mutant("redlock.break_found_in_writing_is_not_told")) flushed.is_stopped = false;
    return flushed;
  }
  /// Takes back a call that has not left. @return false: its connection was dropped in the
  /// meantime, and the user was notified that the call is unanswered
  [[nodiscard]] bool take_back(Call& call, const typename SentCalls<Call>::Place& place) noexcept {
    const std::lock_guard lock(mutex_);
    Calls mine = calls_.take_back(place);
    if (mine.empty()) return false;
    call = std::move(mine.front());
    return true;
  }

  const Admits admits_;
  Clock& clock_;
  Link& link_;
  mutable std::mutex own_mutex_;
  std::mutex& mutex_;
  WriteQueue bytes_;
  SentCalls<Call> calls_;
  std::optional<Failure> why_broken_;
};

}  // namespace mortise::remote
