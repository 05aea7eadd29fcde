// SPDX-License-Identifier: MIT
// Turns an address into socket addresses without blocking: names are looked up by NameLookups.
#pragma once

#include <mortise/error.hpp>

#include "base/address.hpp"
#include "base/endpoint.hpp"
#include "base/name_lookups.hpp"
#include "base/unique_fd.hpp"

#include <cstdint>
#include <memory>
#include <optional>

namespace mortise::base {

/// One question at a time. Numbers and unix sockets need no lookup and are answered at once. A
/// resolver that rests has no descriptor, because a client has a resolver for each server that it
/// has ever met.
/// @thread_safety one thread at a time.
class Resolver {
 public:
  /// Takes no descriptor.
  explicit Resolver(std::shared_ptr<NameLookups> lookups = NameLookups::of_process());
  ~Resolver();
  Resolver(const Resolver&) = delete;
  Resolver& operator=(const Resolver&) = delete;

  /// Begins to resolve an address. If the last question had the same host and is not answered yet,
  /// its answer is awaited.
  void start(const Address& address);
  /// @return a descriptor that is readable once the answer of `start()` is there; the same from
  /// then on until it rests. -1 = it rests.
  [[nodiscard]] int descriptor() const noexcept;
  /// @return the answer, once; nothing = not yet, or taken already.
  [[nodiscard]] std::optional<Resolution> take();
  /// The answer is not needed any more: closes the descriptor, until the next `start()`.
  void rest() noexcept;

 private:
  [[nodiscard]] bool prepare();
  void know(Resolution resolution);

  UniqueFd answered_;  // an eventfd
  NameQuestion question_;
  std::uint16_t port_ = 0;           // of the address; lookups are for hosts
  std::optional<Resolution> known_;  // answered without a lookup
};

}  // namespace mortise::base
