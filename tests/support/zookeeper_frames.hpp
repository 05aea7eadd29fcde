// SPDX-License-Identifier: MIT
// Cuts one direction of a ZooKeeper connection into whole requests or replies. Each begins with its
// length and a number, by which the client knows what is answered; it looks at no more than that
// and what a request is for, and has no code in common with the library that it helps to test.
#pragma once

#include "support/proxy_faults.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace mortise::test {

class ZooKeeperFrames {
 public:
  void feed(std::string_view bytes) { buffer_.append(bytes); }

  /// @return the next whole frame; nothing: more bytes are needed. What is of another protocol, or
  /// over 8 MiB, makes the rest of the stream opaque: it comes in pieces as it is fed.
  [[nodiscard]] std::optional<std::string> next();
  /// @return what is left of a stream that has ended inside a frame.
  [[nodiscard]] std::string rest();
  [[nodiscard]] bool opaque() const noexcept { return opaque_; }

  /// @return what a request is; an operation is about nodes.
  [[nodiscard]] static ProxyRequest kind_of_request(std::string_view frame);
  /// @return what a request is for, in capitals: "CREATE2", "GETCHILDREN", "PING", "CONNECT" ...
  [[nodiscard]] static std::string command(std::string_view frame);
  /// @return the number of a request or a reply.
  [[nodiscard]] static std::int32_t number(std::string_view frame);
  /// @return whether a reply is the event of a watch.
  [[nodiscard]] static bool is_push(std::string_view frame) { return number(frame) == -1; }
  /// @return a request of the same number that changes nothing: what is to be refused is not done.
  [[nodiscard]] static std::string harmless(std::string_view request);
  /// @return a reply to the same request that says no more than this error.
  [[nodiscard]] static std::string refused(std::string_view reply, std::int32_t error);
  /// @return whether a reply is the first one of a connection.
  [[nodiscard]] static bool is_greeting(std::string_view frame) { return number(frame) == 0; }

 private:
  [[nodiscard]] std::string take(std::size_t size);

  bool opaque_ = false;
  std::string buffer_;
};

}  // namespace mortise::test
