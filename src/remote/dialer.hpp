// SPDX-License-Identifier: MIT
// Has the user's connector called on a thread of its own: it may block as long as it likes, which
// no caller of ours may feel.
#pragma once

#include <mortise/connector.hpp>

#include "base/address.hpp"
#include "base/resolver.hpp"
#include "base/unique_fd.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace mortise::remote {

/// What to say where the connector hangs.
inline constexpr const char* connector_is_late = "the connector gives no connection in time";

/// @throws LockError (`misconfigured`) where there is nothing to call
[[nodiscard]] std::shared_ptr<const Connector> shared(Connector connector);

/// What came of a call: a connected stream socket, or the words of the failure.
struct Dialed {
  base::UniqueFd socket{};
  base::Endpoint peer{};  ///< as far as the socket knows it
  std::string error{};
};

/// At most one call runs at a time.
/// @thread_safety one thread at a time
class Dialer {
 public:
  explicit Dialer(std::shared_ptr<const Connector> connector);
  ~Dialer();
  Dialer(const Dialer&) = delete;
  Dialer& operator=(const Dialer&) = delete;

  /// Begins a call. Where one for the same address still hangs, its answer is awaited instead of
  /// adding a thread to it.
  void start(const base::Address& address);
  /// @return a descriptor that is readable once the answer of `start()` is there. Valid and the
  /// same as long as the object.
  [[nodiscard]] int descriptor() const noexcept;
  /// @return the answer, once; nothing = not yet, or taken already.
  [[nodiscard]] std::optional<Dialed> take();

 private:
  struct Shared;
  void know(const std::string& error);

  base::UniqueFd answered_;  // an eventfd
  std::shared_ptr<Shared> shared_;
  std::optional<Dialed> known_;  // answered without a call
  std::uint32_t generation_ = base::fork_generation();
};

}  // namespace mortise::remote
