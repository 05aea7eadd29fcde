// SPDX-License-Identifier: MIT
// The other end of a stream, on loopback, and ways to drive a stream that does not wait by itself.
#pragma once

#include "base/unique_fd.hpp"
#include "remote/stream/stream.hpp"
#include "support/eventually.hpp"

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <chrono>
#include <cstring>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace mortise::remote {

/// @return whether one of the events came.
inline bool wait_for(int descriptor, short events) {
  pollfd polled{.fd = descriptor, .events = events, .revents = 0};
  const auto time = std::chrono::duration_cast<std::chrono::milliseconds>(test::patience);
  return ::poll(&polled, 1, static_cast<int>(time.count())) == 1;
}

inline Endpoint loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  Endpoint endpoint;
  std::memcpy(&endpoint.address, &address, sizeof address);
  endpoint.length = sizeof address;
  return endpoint;
}

/// A server's socket, by default on a free port of 127.0.0.1.
class Listener {
 public:
  explicit Listener(const Endpoint& where = loopback(0), int backlog = 16) : endpoint_(where) {
    socket_ = base::UniqueFd::open(
        [&] { return ::socket(where.address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0); });
    auto* address = reinterpret_cast<sockaddr*>(&endpoint_.address);
    if (::bind(socket_.get(), address, where.length) != 0 ||
        ::listen(socket_.get(), backlog) != 0 ||
        ::getsockname(socket_.get(), address, &(endpoint_.length = sizeof endpoint_.address)) !=
            0) {
      throw std::runtime_error("cannot listen");
    }
  }
  [[nodiscard]] const Endpoint& endpoint() const noexcept { return endpoint_; }
  [[nodiscard]] base::UniqueFd accept() const {
    if (!wait_for(socket_.get(), POLLIN)) throw std::runtime_error("nobody connects");
    return base::UniqueFd::open(
        [this] { return ::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC); });
  }

 private:
  Endpoint endpoint_;
  base::UniqueFd socket_;
};

/// Connects and shakes hands to the end.
inline Stream::Status connect(Stream& stream) {
  for (;;) {
    const Stream::Status status = stream.advance();
    if (status != Stream::Status::again) return status;
    if (!wait_for(stream.descriptor(), stream.interest())) return status;
  }
}

/// Writes from two places in turn, as a queue that moves its bytes does.
/// @return how it ended: `done` where everything was written
inline Stream::Status write_all(Stream& stream, std::string_view bytes) {
  std::array<std::string, 2> places;
  for (std::size_t turn = 0; !bytes.empty(); ++turn) {
    std::string& place = places[turn % 2];
    place = bytes.substr(0, 50'000);
    const Stream::Moved moved = stream.write({place.data(), place.size()});
    if (moved.status == Stream::Status::done) {
      bytes.remove_prefix(moved.bytes);
    } else if (moved.status != Stream::Status::again || !wait_for(stream.descriptor(), POLLOUT)) {
      return moved.status;
    }
  }
  return Stream::Status::done;
}

/// Reads so many bytes. @return how it ended: `done` where all were there
inline Stream::Status read_all(Stream& stream, std::string& into, std::size_t size) {
  std::array<char, 4096> buffer{};
  while (into.size() < size) {
    const std::size_t part = std::min(buffer.size(), size - into.size());
    const Stream::Moved moved = stream.read({buffer.data(), part});
    if (moved.status == Stream::Status::done) {
      into.append(buffer.data(), moved.bytes);
    } else if (moved.status != Stream::Status::again ||
               !wait_for(stream.descriptor(), static_cast<short>(POLLIN | stream.interest()))) {
      return moved.status;
    }
  }
  return Stream::Status::done;
}

/// @return how reading ends.
inline Stream::Status read_to_the_end(Stream& stream) {
  std::string ignored;
  return read_all(stream, ignored, std::string::npos);
}

/// A stream that hands everything to another one: the base of streams that disturb.
class Wrapper : public Stream {
 public:
  explicit Wrapper(std::unique_ptr<Stream> inner) : inner_(std::move(inner)) {}
  [[nodiscard]] int descriptor() const noexcept override { return inner_->descriptor(); }
  [[nodiscard]] Status advance() override { return inner_->advance(); }
  [[nodiscard]] short interest() const noexcept override { return inner_->interest(); }
  [[nodiscard]] Moved read(std::span<char> into) override { return inner_->read(into); }
  [[nodiscard]] Moved write(std::span<const char> from) override { return inner_->write(from); }
  [[nodiscard]] Failure failure() const override { return inner_->failure(); }
  [[nodiscard]] const Endpoint& endpoint() const noexcept override { return inner_->endpoint(); }

 private:
  std::unique_ptr<Stream> inner_;
};

}  // namespace mortise::remote
