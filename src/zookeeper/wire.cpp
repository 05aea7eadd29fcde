// SPDX-License-Identifier: MIT
// What the C client sends and receives, between it and the socket.
#include "zookeeper/wire.hpp"

#include "base/farewell.hpp"
#include "zookeeper/frame.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <exception>
#include <utility>

namespace mortise::zookeeper {
namespace {

constexpr std::size_t read_size = std::size_t{64} << 10U;
// The server refuses requests above 1 MiB (jute.maxbuffer); a list of 200,000 waiters has 8 MiB.
constexpr std::uint32_t largest_frame = std::uint32_t{64} << 20U;
constexpr std::size_t length_size = 4;
constexpr std::size_t request_header = 8;  // number, type
constexpr std::size_t reply_header = 16;   // number, transaction, error
constexpr std::size_t seen_offset = 8;     // in the greeting: the last transaction that was seen
constexpr std::size_t seen_size = 8;
constexpr std::size_t greeting_size = 37;  // the answer to it, with the mark of a read-only server
constexpr std::size_t old_greeting_size = 36;

// Frames that no request of ours is numbered like.
constexpr std::int32_t of_watch = -1;
constexpr std::int32_t of_ping = -2;
constexpr std::int32_t of_credentials = -4;
constexpr std::int32_t of_watches = -8;

}  // namespace

thread_local Wire* Wire::in_use = nullptr;

int Wire::open_socket(int family, int type, int protocol) noexcept {
  try {
    Wire fresh(tls_);
    fresh.hosts_ = std::move(hosts_);
    fresh.hides_seen_ = hides_seen_;
    *this = std::move(fresh);
  } catch (const std::exception&) {
    errno = error_ = ENOMEM;
    return -1;
  }
  socket_ = base::UniqueFd::open(
      [&] { return ::socket(family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, protocol); });
  if (!socket_) error_ = errno;
  number_ = socket_.get();
  return number_;
}

int Wire::connect_socket(const void* address, unsigned length) noexcept {
  const int answer = ::connect(number_, static_cast<const sockaddr*>(address), length);
  if (answer < 0 && errno != EINPROGRESS && errno != EWOULDBLOCK) {
    error_ = errno;
    return answer;
  }
  try {
    base::Endpoint endpoint;
    std::memcpy(&endpoint.address, address,
                std::min(static_cast<std::size_t>(length), sizeof endpoint.address));
    endpoint.length = length;
    endpoint_ = endpoint.text();
    stream_ = remote::adopt_stream(std::move(socket_), endpoint, remote::Unsent::arrives, tls_,
                                   host_of(endpoint));
  } catch (const std::exception&) {
    errno = error_ = ENOMEM;
    return -1;
  }
  errno = EINPROGRESS;  // it waits until the socket is writable, which we say it is: see Handle
  return -1;
}

// Several hosts may lead to one address, where a proxy in front of the servers goes by the name
// that is asked for: each has its turn.
std::string Wire::host_of(const base::Endpoint& endpoint) {
  if (tls_ == nullptr) return {};
  const auto found = hosts_.find(endpoint.text());
  if (found == hosts_.end() || found->second.empty()) return {};
  std::rotate(found->second.begin(), found->second.begin() + 1, found->second.end());
  return found->second.back();
}

bool Wire::advance() noexcept {
  if (settled()) return true;
  if (!stream_) return false;
  remote::Stream::Status status = remote::Stream::Status::failed;
  try {
    status = stream_->advance();
  } catch (const std::exception&) {
    fail(ENOMEM);
    return true;
  }
  if (status == remote::Stream::Status::again) return false;
  if (status == remote::Stream::Status::done) {
    connected_ = true;
  } else {
    fail_with_stream(status);
  }
  return true;
}

// The C client asks whether it is connected.
int Wire::get_option(int level, int name, void* value, unsigned* length) noexcept {
  if (level != SOL_SOCKET || name != SO_ERROR || *length != sizeof(int)) {
    return ::getsockopt(number_, level, name, value, length);
  }
  std::memcpy(value, &error_, sizeof error_);
  return 0;
}

int Wire::close_socket() noexcept {
  number_ = -1;
  if (keeps_) return 0;
  socket_.reset();
  stream_.reset();
  // The C client closes by itself, too, with bytes in the buffer: nobody sends or reads any more.
  ended_ = true;
  return 0;
}

void Wire::fail(int error) noexcept {
  if (error_ == 0) error_ = error;
  ended_ = true;
}

void Wire::fail_with_stream(remote::Stream::Status status) noexcept {
  fail(status == remote::Stream::Status::closed ? ECONNRESET : EIO);
  const bool without_a_word = connected_ && !greeted_ && in_.empty();
  if (without_a_word) turned_away_ = true;
  base::without_memory([&] {  // the number says as much as there is memory for
    if (why_) return;
    why_ = stream_->failure();
    // A port for TLS does so, and a server without an ensemble, too.
    if (without_a_word && tls_ == nullptr) {
      why_.text +=
          " before it sent anything; it may not serve yet, or this is a TLS port (use "
          "zookeeper+tls)";
    }
  });
}

void Wire::mark_broken(int error) noexcept {
  const bool late = error == ETIMEDOUT && shakes_hands();
  fail(error);
  base::without_memory([&] {
    if (late && !why_) why_ = {Errc::unavailable, remote::no_handshake};
  });
}

ssize_t Wire::send_bytes(const void* bytes, std::size_t size) noexcept {
  if (ended_) {
    errno = error_ != 0 ? error_ : EPIPE;
    return -1;
  }
  try {
    out_.append(static_cast<const char*>(bytes), size);
    note_sent_frames();
  } catch (const std::exception&) {
    fail(ENOMEM);
    errno = ENOMEM;
    return -1;
  }
  return static_cast<ssize_t>(size);
}

// Remembers the numbers of the requests, because a reply with another number, or one too many,
// makes the C client end the process; and their types, because one of another shape does.
void Wire::note_sent_frames() {
  while (out_.size() - counted_ >= length_size) {
    const std::size_t size = big_endian(out_.data() + counted_) + length_size;
    if (out_.size() - counted_ < size) return;
    if (sent_frames_++ == 0) {
      if (hides_seen_ && size >= seen_offset + seen_size) {
        out_.replace(counted_ + seen_offset, seen_size, seen_size, '\0');
      }
    } else if (size >= length_size + request_header) {
      const auto number = static_cast<std::int32_t>(big_endian(out_.data() + counted_ + 4));
      const auto type = static_cast<std::int32_t>(big_endian(out_.data() + counted_ + 8));
      if (number == of_ping) {
        ++pings_;
      } else if (number != of_credentials && number != of_watches) {
        awaited_.push_back({.number = number, .type = type});
        if (type == multi_type) {
          constexpr std::size_t head = length_size + request_header;
          writes_.push_back(writes_of(std::string_view(out_).substr(counted_ + head, size - head)));
        }
      }
    }
    counted_ += size;
  }
}

void Wire::flush() noexcept {
  std::size_t done = 0;
  blocked_ = false;
  while (connected_ && !ended_ && done < out_.size()) {
    remote::Stream::Moved moved{remote::Stream::Status::failed};
    try {
      moved = stream_->write(std::span<const char>(out_).subspan(done));
    } catch (const std::exception&) {
      fail(ENOMEM);
      break;
    }
    if (moved.status == remote::Stream::Status::again) {
      blocked_ = true;
      break;
    }
    if (moved.status != remote::Stream::Status::done) {
      fail_with_stream(moved.status);
      break;
    }
    done += moved.bytes;
  }
  if (done == 0) return;
  out_.erase(0, done);
  counted_ -= std::min(counted_, done);
}

void Wire::fill() {
  if (read_ == in_.size() && read_ == sound_) {
    in_.clear();
    read_ = sound_ = 0;
  }
  while (connected_ && !ended_) {
    const std::size_t before = in_.size();
    in_.resize(before + read_size);
    const remote::Stream::Moved moved = stream_->read(std::span<char>(in_).subspan(before));
    in_.resize(before + moved.bytes);
    if (moved.status == remote::Stream::Status::again) break;
    if (moved.status != remote::Stream::Status::done) {
      fail_with_stream(moved.status);
      break;
    }
    if (!sound_frames()) {
      fail(EPROTO);
      break;
    }
    // A socket that gave less than it was asked for is empty. Of what TLS has taken from it, a
    // goodbye as well, no poll tells.
    if (tls_ == nullptr && moved.bytes < read_size) break;
  }
}

bool Wire::sound_frames() {
  while (in_.size() - sound_ >= length_size) {
    const char* const frame = in_.data() + sound_;
    const std::uint32_t size = big_endian(frame);
    if (size > largest_frame) return false;
    if (in_.size() - sound_ < size + length_size) return true;
    if (!greeted_) {
      if (size != greeting_size && size != old_greeting_size) return false;
    } else if (!sound_frame({frame + length_size, size})) {
      return false;
    }
    greeted_ = true;
    sound_ += size + length_size;
  }
  return true;
}

bool Wire::sound_frame(std::string_view frame) {
  if (frame.size() < reply_header) return false;
  const auto number = static_cast<std::int32_t>(big_endian(frame.data()));
  const bool fine = big_endian(frame.data() + reply_header - length_size) == 0;
  const std::string_view body = frame.substr(reply_header);
  switch (number) {
    case of_watch: return sound_event(body);
    case of_ping: pings_ = std::max(pings_ - 1, 0); return true;
    case of_credentials:
    case of_watches: return true;
    default: break;
  }
  if (awaited_.empty() || awaited_.front().number != number) return false;
  const std::int32_t type = awaited_.front().type;
  awaited_.pop_front();
  if (type != multi_type) return !fine || sound_reply(type, body);
  const std::vector<std::int32_t> writes = std::move(writes_.front());
  writes_.pop_front();
  return !fine || sound_answers(writes, body);
}

bool Wire::readable() const noexcept {
  // Whole frames only: a call of the C client reads one of them.
  return number_ >= 0 && (read_ < sound_ || ended_);
}

ssize_t Wire::receive_bytes(void* into, std::size_t size) noexcept {
  const std::size_t there = sound_ - read_;
  if (there > 0) {
    const std::size_t taken = std::min(size, there);
    std::memcpy(into, in_.data() + read_, taken);
    read_ += taken;
    return static_cast<ssize_t>(taken);
  }
  errno = ended_ ? (error_ != 0 ? error_ : ECONNRESET) : EAGAIN;
  return -1;
}

void Wire::farewell(Instant until) noexcept {
  flush();
  std::array<char, 4096> rest{};
  while (connected_ && !ended_) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - BootClock::now());
    const int events = POLLIN | interest() | (blocked_ ? POLLOUT : 0);
    pollfd polled{.fd = stream_->descriptor(), .events = static_cast<short>(events), .revents = 0};
    if (left.count() <= 0 || ::poll(&polled, 1, static_cast<int>(left.count())) <= 0) break;
    if ((polled.revents & POLLOUT) != 0) flush();
    // The server answers, and then hangs up.
    if ((polled.revents & ~POLLOUT) != 0 && !take_leave(rest)) break;
  }
  socket_.reset();
  stream_.reset();
}

// Reads what is of no interest any more. @return whether more may come
bool Wire::take_leave(std::span<char> rest) noexcept {
  try {
    const remote::Stream::Status status = stream_->read(rest).status;
    return status == remote::Stream::Status::done || status == remote::Stream::Status::again;
  } catch (const std::exception&) {
    return false;
  }
}

}  // namespace mortise::zookeeper
