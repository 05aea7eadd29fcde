// SPDX-License-Identifier: MIT
#include "raw_redlock.hpp"

#include <mortise/options.hpp>

#include "base/random_id.hpp"
#include "redlock/scripts.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <stdexcept>
#include <system_error>

namespace mortise::bench {
namespace {

constexpr std::int64_t no_end = 8'000'000'000'000'000;  // us: its requests are never late

std::uint64_t microseconds_of_day() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::microseconds>(now).count());
}

}  // namespace

RawRedlock::RawRedlock(const std::vector<std::uint16_t>& ports, const std::string& name) {
  for (const std::uint16_t port : ports) {
    Node& node = nodes_.emplace_back(port);
    node.redis.load(redlock::scripts::acquire.text);
    node.redis.load(redlock::scripts::release.text);
    polled_.push_back({.fd = node.redis.socket(), .events = POLLIN, .revents = 0});
  }
  request_.attempt = {.client_high = base::random_bits() >> 32U, .client_low = base::random_bits()};
  request_.name = name;
  request_.lease = LockOptions().lease;
  request_.wait = true;
  std::array<char, 64> host{};
  ::gethostname(host.data(), host.size() - 1);
  request_.label.append(host.data()).append(":").append(std::to_string(::getpid()));
}

void RawRedlock::cycle() {
  ++request_.attempt.sequence;
  number_ = std::max(number_ + 1, microseconds_of_day());
  bytes_.clear();
  requests_.take(bytes_, {.void_after = redis::ServerTime(no_end)}, request_, {}, number_);
  ask_all("vote");
  bytes_.clear();
  requests_.release(bytes_, {},
                    {.name = request_.name, .attempt = request_.attempt, .number = number_});
  ask_all("released");
}

void RawRedlock::ask_all(std::string_view expected) {
  send_all();
  const std::size_t majority = nodes_.size() / 2 + 1;
  std::size_t votes = 0;
  while (votes < majority) {
    if (::poll(polled_.data(), polled_.size(), 5000) <= 0) throw std::runtime_error("no majority");
    for (std::size_t i = 0; i < polled_.size(); ++i) {
      if (polled_[i].revents != 0) votes += read(nodes_[i], expected);
    }
  }
}

void RawRedlock::send_all() {
  ++asked_;
  for (const Node& node : nodes_) {
    const ssize_t sent =
        ::send(node.redis.socket(), bytes_.data(), bytes_.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent != static_cast<ssize_t>(bytes_.size())) {
      throw std::system_error(errno, std::generic_category(), "send");
    }
  }
}

std::size_t RawRedlock::read(Node& node, std::string_view expected) const {
  thread_local std::array<char, 4096> bytes{};
  const ssize_t size = ::recv(node.redis.socket(), bytes.data(), bytes.size(), MSG_DONTWAIT);
  if (size <= 0) throw std::system_error(errno, std::generic_category(), "recv");
  ::redisReaderFeed(node.reader.get(), bytes.data(), static_cast<std::size_t>(size));
  for (;;) {
    void* reply = nullptr;
    if (::redisReaderGetReply(node.reader.get(), &reply) != REDIS_OK) {
      throw std::runtime_error(node.reader->errstr);
    }
    if (reply == nullptr) return 0;
    const RawReply owned(static_cast<redisReply*>(reply));
    if (++node.answered < asked_) continue;
    const std::string_view word =
        owned->elements > 0 ? std::string_view(owned->element[0]->str, owned->element[0]->len)
                            : std::string_view();
    if (word != expected) {
      throw std::runtime_error("not answered the plain way: " + std::string(word));
    }
    return 1;
  }
}

}  // namespace mortise::bench
