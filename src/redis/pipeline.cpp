// SPDX-License-Identifier: MIT
#include "redis/pipeline.hpp"

#include "base/farewell.hpp"
#include "base/mutant.hpp"

#include <poll.h>

#include <utility>

namespace mortise::redis {

Pipeline::Sending Pipeline::send(Call* call, std::string_view bytes) {
  Sending sending{};
  std::shared_ptr<Stream> stream;
  {
    const std::lock_guard lock(mutex_);
    if (!link_.is_up() || !bytes_.stream()) return {.sent = Sent::refused};
    // Written for a connection that has broken since: the next one may not have its script.
    if (call != nullptr && call->generation != calls_.generation()) {
      return {.sent = Sent::refused};
    }
    // Make room first: the user counts an admitted call as sent, so the call must leave.
    bytes_.make_room(bytes.size());
    if (call != nullptr) {
      calls_.make_room();
      if (!user_.admits(*call)) return {.sent = Sent::withdrawn};
    }
    // Both or neither from here on, since neither needs memory. A call without its bytes would be
    // given the reply to the next one, and hold what another one holds (S1).
    bytes_.add(bytes);
    if (call != nullptr) sending.place = calls_.add(*call, *clock_);
    stream = bytes_.begin(*clock_);
  }
  if (!stream) return sending;
  const WriteQueue::Flushed flushed = flush(std::move(stream));
  sending.is_stopped = flushed.is_stopped;
  sending.has_left = flushed.has_left;
  return sending;
}

Pipeline::Sent Pipeline::take_back(Call& call, const SentCalls::Place& place) noexcept {
  const std::lock_guard lock(mutex_);
  Calls mine = calls_.take_back(place);
  if (mine.empty()) return Sent::sent;
  call = std::move(mine.front());
  return Sent::refused;
}

remote::WriteQueue::Flushed Pipeline::flush(std::shared_ptr<Stream> stream) {
  // Without words: those of a link that is broken are the same.
  WriteQueue::Flushed flushed = bytes_.flush(std::move(stream), [this] { link_.mark_broken(); });
  if (base::mutant("redlock.break_found_in_writing_is_not_told")) flushed.is_stopped = false;
  return flushed;
}

bool Pipeline::write_rest() {
  std::shared_ptr<Stream> stream = bytes_.begin_rest();
  return stream && flush(std::move(stream)).is_stopped;
}

short Pipeline::interest() const noexcept {
  std::shared_ptr<Stream> stream;
  {
    const std::lock_guard lock(mutex_);
    stream = bytes_.stream();
  }
  const int more = stream ? stream->interest() : 0;
  return static_cast<short>(more | POLLIN | (bytes_.is_blocked() ? POLLOUT : 0));
}

bool Pipeline::mark_broken(const Failure& why, bool even_if_made) noexcept {
  using State = remote::Link::State;
  const std::lock_guard lock(mutex_);
  const State state = link_.state();
  if (state == State::idle || (!even_if_made && state != State::up)) return false;
  link_.mark_broken();
  base::without_memory([&] { why_broken_ = why; });
  return true;
}

void Pipeline::open(std::shared_ptr<Stream> stream) noexcept {
  std::shared_ptr<Stream> last;  // closed after the mutex was left
  const std::lock_guard lock(mutex_);
  last = bytes_.open(std::move(stream));
}

void Pipeline::greet(const std::string& bytes) {
  const std::lock_guard lock(mutex_);
  calls_.begin(clock_->now());
  bytes_.add(bytes);
}

void Pipeline::greeted(Instant now) noexcept {
  const std::lock_guard lock(mutex_);
  calls_.begun(now);
}

Pipeline::Match Pipeline::match(const Reply& reply) {
  Call* const call = calls_.take_oldest();
  if (call == nullptr) return Match::unexpected;
  if (std::exchange(call->route.awaits_asking, false)) {
    calls_.leave();
    return Match::asking;
  }
  const Instant now = calls_.read(*clock_);
  user_.matched(*call, reply, now);
  calls_.answer();
  // If calls are always under way, answers put the moment off that the first of them had.
  if (now != Instant{} && calls_.due() <= now) static_cast<void>(is_late(now));
  return Match::answered;
}

bool Pipeline::is_late(Instant now) {
  const std::lock_guard lock(mutex_);
  return calls_.is_late(now);
}

std::optional<Failure> Pipeline::why_broken() const {
  const std::lock_guard lock(mutex_);
  return why_broken_;
}

Pipeline::Ended Pipeline::end(Instant now) noexcept {
  const std::lock_guard lock(mutex_);
  if (now == Instant{}) {
    link_.leave();
  } else {
    link_.drop(now);
  }
  why_broken_.reset();
  return {bytes_.open(nullptr), calls_.end()};
}

}  // namespace mortise::redis
