// SPDX-License-Identifier: MIT
// Turns an address into socket addresses on a thread of its own: getaddrinfo() has no time-out, and
// a dead name server blocks it for 20 s and more, which no caller of ours may feel.
#pragma once

#include <mortise/error.hpp>

#include "base/address.hpp"
#include "base/unique_fd.hpp"

#include <sys/socket.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace mortise::base {

/// One socket address to connect to.
struct Endpoint {
  sockaddr_storage address{};
  socklen_t length = 0;
  [[nodiscard]] std::string text() const;
};

/// What a lookup found: endpoints, or the words of the failure and its code.
struct Resolution {
  std::vector<Endpoint> endpoints{};
  std::string error{};
  Errc code = Errc::unavailable;
};

/// At most one lookup runs at a time; numbers and unix sockets need none and are answered at once.
/// One that rests has no descriptor: a client has one for each server that it has ever met.
/// @thread_safety one thread at a time.
class Resolver {
 public:
  Resolver();  // takes no descriptor
  ~Resolver();
  Resolver(const Resolver&) = delete;
  Resolver& operator=(const Resolver&) = delete;

  /// Begins to look an address up. Where a lookup of the same address still hangs, its answer is
  /// awaited instead of adding a thread to it.
  void start(const Address& address);
  /// @return a descriptor that is readable once the answer of `start()` is there; the same from
  /// then on until it rests. -1 = it does.
  [[nodiscard]] int descriptor() const noexcept;
  /// @return the answer, once; nothing = not yet, or taken already.
  [[nodiscard]] std::optional<Resolution> take();
  /// Nobody awaits an answer: closes the descriptor, until the next `start()`.
  void rest() noexcept;

 private:
  struct Lookup;
  [[nodiscard]] bool prepare();
  void know(Resolution resolution);

  UniqueFd answered_;  // an eventfd
  std::shared_ptr<Lookup> lookup_;
  std::optional<Resolution> known_;  // answered without a lookup
  std::uint32_t generation_ = fork_generation();
};

}  // namespace mortise::base
