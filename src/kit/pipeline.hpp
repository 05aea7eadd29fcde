// SPDX-License-Identifier: MIT
// One connection after another as a pipeline: any thread sends a call, and the answers come in the
// order of the calls.
#pragma once

#include <mortise/clock.hpp>

#include "kit/call.hpp"
#include "remote/link.hpp"
#include "remote/round_trip.hpp"
#include "remote/stream/write_queue.hpp"
#include "remote/timer.hpp"
#include "remote/under_way.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string_view>

namespace mortise::kit {

/// @thread_safety see each group of members
class Pipeline {
 public:
  using UnderWay = remote::UnderWay<Call>;
  using Calls = UnderWay::Calls;
  using Stream = remote::Stream;
  /// Asked under the mutex, right before a call takes its place among the others.
  /// @return false: it was withdrawn
  using Admits = std::function<bool(const Call&)>;

  /// This many calls may be under way. A further call would only wait at the server, and its time
  /// begins when it leaves.
  static constexpr std::size_t most = 512;

  /// @param mutex guards what `admits` reads as well
  /// @param mutex, link, clock outlive it
  Pipeline(std::mutex& mutex, remote::Link& link, Clock& clock, Admits admits)
      : mutex_(mutex), link_(link), clock_(clock), admits_(std::move(admits)), bytes_(mutex) {}

  // Any thread.

  /// A refused call (there is no connection, or another one by now) and a withdrawn call did
  /// nothing.
  enum class Sent : std::uint8_t { sent, withdrawn, refused };
  struct Sending {
    Sent sent = Sent::sent;
    bool is_stopped = false;  ///< the thread that polls must look at the connection
  };
  /// @param call its generation is the one for which the bytes were written. If it is sent, it
  /// goes on with the connection, and is not in here any more
  [[nodiscard]] Sending send(Call& call, std::string_view bytes);
  /// Writes the queued bytes. @return true if the thread that polls must look at the connection
  [[nodiscard]] bool write_rest();
  /// @return the number of the present connection, or of the next one; grows.
  [[nodiscard]] std::uint64_t generation() const noexcept { return calls_.generation(); }
  [[nodiscard]] bool any_under_way() const noexcept { return !calls_.empty(); }
  [[nodiscard]] bool has_room() const noexcept { return calls_.size() < most; }
  /// @return the time that a call has for its answer if it leaves now.
  [[nodiscard]] std::chrono::nanoseconds time_for(const remote::Patience& patience) const noexcept {
    return round_trip_.time(patience.usual, patience.longest);
  }
  /// @return when the connection counts as dead, unless an answer comes.
  [[nodiscard]] Instant due() const noexcept { return due_.get(); }
  /// @return true if the server takes no more bytes for now.
  [[nodiscard]] bool is_blocked() const noexcept { return bytes_.is_blocked(); }

  // The thread that polls.

  /// Begins with a stream, and the first bytes of the connection.
  void open(std::shared_ptr<Stream> stream, std::string_view greeting);
  /// The greeting was answered. @return our clock before it left
  Instant greeted() noexcept;
  /// @return null = there is no connection.
  [[nodiscard]] Stream* stream() const noexcept { return bytes_.stream().get(); }
  /// The socket may take bytes again. @return true if it took none before
  bool unblock() noexcept { return bytes_.unblock(); }
  /// An answer came. @return the call that it answers; null = no call is under way
  [[nodiscard]] const Call* answered() noexcept;
  /// The user has the answer.
  void finish() noexcept { calls_.finish(); }
  /// There was no memory to pass the answer on: the call counts as not answered. The connection
  /// ends now.
  void put_back() noexcept { calls_.put_back(); }
  /// The connection is over, and the link with it. @param now when; unset = it was left in peace
  /// @return the calls that were not answered
  [[nodiscard]] Calls end(Instant now) noexcept;

 private:
  [[nodiscard]] remote::WriteQueue::Flushed flush(std::shared_ptr<Stream> stream);
  void note() noexcept;

  std::mutex& mutex_;
  remote::Link& link_;
  Clock& clock_;
  const Admits admits_;
  remote::WriteQueue bytes_;
  UnderWay calls_;
  remote::RoundTrip round_trip_;
  Instant greeting_left_{};
  remote::Moment due_;
};

}  // namespace mortise::kit
