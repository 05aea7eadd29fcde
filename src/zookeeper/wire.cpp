// SPDX-License-Identifier: MIT
// What the C client sends and receives, between it and the socket.
#include "zookeeper/wire.hpp"

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <exception>
#include <string_view>

namespace mortise::zookeeper {
namespace {

// The server refuses requests above 1 MiB (jute.maxbuffer); a list of 200,000 waiters has 8 MiB.
constexpr std::uint32_t largest_frame = std::uint32_t{64} << 20U;
constexpr std::size_t seen_offset = 8;  // in the greeting: the last transaction that was seen
constexpr std::size_t seen_size = 8;

}  // namespace

std::string& ReceivedFrames::bytes() noexcept {
  if (taken_ == bytes_.size()) clear();
  return bytes_;
}

bool ReceivedFrames::check(AwaitedReplies& awaited) {
  for (;;) {
    const std::string_view rest = std::string_view(bytes_).substr(checked_);
    if (rest.size() >= length_size && big_endian(rest.data()) > largest_frame) return false;
    const std::string_view frame = frame_of(rest);
    if (frame.empty()) return true;
    if (!awaited.accepts(frame.substr(length_size))) return false;
    checked_ += frame.size();
  }
}

std::size_t ReceivedFrames::take(void* into, std::size_t size) noexcept {
  const std::size_t taken = std::min(size, checked_ - taken_);
  std::memcpy(into, bytes_.data() + taken_, taken);
  taken_ += taken;
  return taken;
}

void ReceivedFrames::clear() noexcept {
  bytes_.clear();
  taken_ = checked_ = 0;
}

thread_local Wire* Wire::in_use = nullptr;

int Wire::open_socket(int family, int type, int protocol) noexcept {
  out_.clear();
  counted_ = 0;
  in_.clear();
  awaited_.clear();
  return Socket::open_socket(family, type, protocol);
}

ssize_t Wire::send_bytes(const void* bytes, std::size_t size) noexcept {
  if (has_ended() && !is_in_use()) {
    errno = error() != 0 ? error() : EPIPE;
    return -1;
  }
  try {
    if (!has_ended()) {
      out_.append(static_cast<const char*>(bytes), size);
      note_sent_frames();
    }
  } catch (const std::exception&) {
    fail(ENOMEM);
  }
  // After a failure it would close its socket, and report neither that nor what becomes of its
  // requests. So it learns of the end when it reads.
  return static_cast<ssize_t>(size);
}

void Wire::note_sent_frames() {
  for (;;) {
    const std::string_view frame = frame_of(std::string_view(out_).substr(counted_));
    if (frame.empty()) return;
    if (hides_seen_ && !awaited_.is_greeting_sent() && frame.size() >= seen_offset + seen_size) {
      out_.replace(counted_ + seen_offset, seen_size, seen_size, '\0');
    }
    awaited_.sent(frame.substr(length_size));
    counted_ += frame.size();
  }
}

void Wire::flush() noexcept {
  const std::size_t done = write(out_);
  if (done == 0) return;
  out_.erase(0, done);
  counted_ -= std::min(counted_, done);
}

void Wire::fill() {
  for (bool is_more = is_connected(); is_more;) {
    is_more = read(in_.bytes());
    if (!in_.check(awaited_)) return fail(EPROTO);
  }
}

bool Wire::readable() const noexcept { return is_in_use() && (!in_.empty() || has_ended()); }

ssize_t Wire::receive_bytes(void* into, std::size_t size) noexcept {
  const std::size_t taken = in_.take(into, size);
  if (taken > 0) return static_cast<ssize_t>(taken);
  errno = !has_ended() ? EAGAIN : error() != 0 ? error() : ECONNRESET;
  return -1;
}

void Wire::farewell(Instant until) noexcept {
  flush();
  while (is_connected()) {
    const short events = wait(until);
    if (events == 0) break;
    if ((events & POLLOUT) != 0) flush();
    if ((events & ~POLLOUT) == 0) continue;
    // The server answers, and then hangs up.
    try {
      std::string rest;
      static_cast<void>(read(rest));
    } catch (const std::exception&) {
      break;
    }
  }
  drop();
}

}  // namespace mortise::zookeeper
