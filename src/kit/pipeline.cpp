// SPDX-License-Identifier: MIT
#include "kit/pipeline.hpp"

#include <utility>

namespace mortise::kit {

Pipeline::Sending Pipeline::send(Call& call, std::string_view bytes) {
  std::shared_ptr<Stream> stream;
  UnderWay::Place place;
  {
    const std::lock_guard lock(mutex_);
    // Bytes for another connection may name a moment by the clock of another server.
    if (!link_.is_up() || call.written.generation != calls_.generation()) return {Sent::refused};
    bytes_.make_room(bytes.size());
    calls_.make_room();
    if (!admits_(call)) return {Sent::withdrawn};
    // Both or neither, since neither needs memory. A call without its bytes would be given the
    // answer to the next one (S1).
    bytes_.add(bytes);
    call.left = clock_.now();
    if (call.asked == Instant{}) call.asked = call.left;
    if (call.since == Instant{}) call.since = call.asked;
    call.deadline = call.left + time_for(call.patience);
    place = calls_.add(std::move(call));
    note();
    stream = bytes_.begin(clock_);
  }
  if (!stream) return {};
  const remote::WriteQueue::Flushed flushed = flush(std::move(stream));
  if (flushed.has_left) return {Sent::sent, flushed.is_stopped};
  // The server does not know of a call of which not a byte has left.
  const std::lock_guard lock(mutex_);
  Calls mine = calls_.take_back(place);
  note();
  if (mine.empty()) return {Sent::sent, flushed.is_stopped};
  call = std::move(mine.front());
  return {Sent::refused, flushed.is_stopped};
}

remote::WriteQueue::Flushed Pipeline::flush(std::shared_ptr<Stream> stream) {
  return bytes_.flush(std::move(stream), [this] { link_.mark_broken(); });
}

bool Pipeline::write_rest() {
  std::shared_ptr<Stream> stream = bytes_.begin_rest();
  return stream && flush(std::move(stream)).is_stopped;
}

void Pipeline::open(std::shared_ptr<Stream> stream, std::string_view greeting) {
  std::shared_ptr<Stream> last;  // closed after the mutex was left
  const std::lock_guard lock(mutex_);
  last = bytes_.open(std::move(stream));
  if (greeting.empty()) return;
  greeting_left_ = clock_.now();
  round_trip_.begin(greeting_left_);
  bytes_.add(greeting);
}

Instant Pipeline::greeted() noexcept {
  const std::lock_guard lock(mutex_);
  round_trip_.begun(clock_.now());
  return greeting_left_;
}

const Call* Pipeline::answered() noexcept {
  const std::lock_guard lock(mutex_);
  const Call* const oldest = calls_.take_oldest();
  if (oldest == nullptr) return nullptr;
  round_trip_.answered(oldest->left, clock_.now());
  calls_.answer();
  note();
  return oldest;
}

Pipeline::Calls Pipeline::end(Instant now) noexcept {
  std::shared_ptr<Stream> last;  // closed after the mutex was left
  const std::lock_guard lock(mutex_);
  now == Instant{} ? link_.leave() : link_.drop(now);
  last = bytes_.open(nullptr);
  Calls unanswered = calls_.end();
  note();
  return unanswered;
}

void Pipeline::note() noexcept {
  const UnderWay::Limits oldest = calls_.oldest();
  due_.put(oldest.deadline == never ? never : round_trip_.dead_at(oldest.deadline, oldest.left));
}

}  // namespace mortise::kit
