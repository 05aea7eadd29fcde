// SPDX-License-Identifier: MIT
#include "zookeeper/socket.hpp"

#include "base/farewell.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <exception>
#include <span>

namespace mortise::zookeeper {
namespace {

using Status = remote::Stream::Status;

constexpr std::size_t read_size = std::size_t{64} << 10U;

}  // namespace

std::string ServerNames::next(const std::string& endpoint) {
  const auto found = hosts_.find(endpoint);
  if (tls_ == nullptr || found == hosts_.end() || found->second.empty()) return {};
  std::rotate(found->second.begin(), found->second.begin() + 1, found->second.end());
  return found->second.back();
}

int Socket::open_socket(int family, int type, int protocol) noexcept {
  drop();
  endpoint_.clear();
  state_ = State::connecting;
  is_kept_ = is_blocked_ = has_received_ = is_turned_away_ = false;
  error_ = 0;
  why_ = {};
  socket_ = base::UniqueFd::open(
      [&] { return ::socket(family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, protocol); });
  if (!socket_) error_ = errno;
  number_ = socket_.get();
  return number_;
}

int Socket::connect_socket(const void* address, unsigned length) noexcept {
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
    stream_ = remote::adopt_stream(std::move(socket_), endpoint, remote::Unsent::arrives,
                                   names_.tls(), names_.next(endpoint_));
  } catch (const std::exception&) {
    errno = error_ = ENOMEM;
    return -1;
  }
  errno = EINPROGRESS;  // it waits until the socket is writable, which we say it is: see Handle
  return -1;
}

bool Socket::advance() noexcept {
  if (settled()) return true;
  if (!stream_) return false;
  Status status = Status::failed;
  try {
    status = stream_->advance();
  } catch (const std::exception&) {
    fail(ENOMEM);
    return true;
  }
  if (status == Status::again) return false;
  if (status == Status::done) {
    state_ = State::connected;
  } else {
    fail_with_stream(status);
  }
  return true;
}

// The C client asks whether it is connected.
int Socket::get_option(int level, int name, void* value, unsigned* length) noexcept {
  if (level != SOL_SOCKET || name != SO_ERROR || *length != sizeof(int)) {
    return ::getsockopt(number_, level, name, value, length);
  }
  std::memcpy(value, &error_, sizeof error_);
  return 0;
}

int Socket::close_socket() noexcept {
  number_ = -1;
  if (is_kept_) return 0;
  drop();
  // The C client closes by itself, too, with bytes in the buffer: nobody sends or reads any more.
  state_ = State::ended;
  return 0;
}

void Socket::drop() noexcept {
  socket_.reset();
  stream_.reset();
}

void Socket::fail(int error) noexcept {
  if (error_ == 0) error_ = error;
  state_ = State::ended;
}

void Socket::fail_with_stream(Status status) noexcept {
  const bool is_without_a_word = is_connected() && !has_received_;
  fail(status == Status::closed ? ECONNRESET : EIO);
  if (is_without_a_word) is_turned_away_ = true;
  base::without_memory([&] {  // the number says as much as there is memory for
    if (why_) return;
    why_ = stream_->failure();
    // A port for TLS does so, and a server without an ensemble, too.
    if (is_without_a_word && names_.tls() == nullptr) {
      why_.text +=
          " before it sent anything; it may not serve yet, or this is a TLS port (use "
          "zookeeper+tls)";
    }
  });
}

void Socket::mark_broken(int error) noexcept {
  const bool is_late = error == ETIMEDOUT && stream_ && stream_->shakes_hands();
  fail(error);
  base::without_memory([&] {
    if (is_late && !why_) why_ = {Errc::unavailable, remote::no_handshake};
  });
}

std::size_t Socket::write(std::string_view bytes) noexcept {
  std::size_t done = 0;
  is_blocked_ = false;
  while (is_connected() && !is_blocked_ && done < bytes.size()) {
    try {
      const remote::Stream::Moved moved = stream_->write(std::span(bytes).subspan(done));
      done += moved.bytes;
      if (moved.status == Status::again) {
        is_blocked_ = true;
      } else if (moved.status != Status::done) {
        fail_with_stream(moved.status);
      }
    } catch (const std::exception&) {
      fail(ENOMEM);
    }
  }
  return done;
}

bool Socket::read(std::string& bytes) {
  if (!is_connected()) return false;
  const std::size_t before = bytes.size();
  bytes.resize(before + read_size);
  const remote::Stream::Moved moved = stream_->read(std::span<char>(bytes).subspan(before));
  bytes.resize(before + moved.bytes);
  if (moved.bytes > 0) has_received_ = true;
  if (moved.status != Status::done) {
    if (moved.status != Status::again) fail_with_stream(moved.status);
    return false;
  }
  // A socket that gave less than it was asked for is empty. Of what TLS has taken from it, a
  // goodbye as well, no poll tells.
  return names_.tls() != nullptr || moved.bytes == read_size;
}

short Socket::wait(Instant until) const noexcept {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - BootClock::now());
  const int events = POLLIN | interest() | (is_blocked_ ? POLLOUT : 0);
  pollfd polled{.fd = stream_->descriptor(), .events = static_cast<short>(events), .revents = 0};
  if (left.count() <= 0 || ::poll(&polled, 1, static_cast<int>(left.count())) <= 0) return 0;
  return polled.revents;
}

}  // namespace mortise::zookeeper
