// SPDX-License-Identifier: MIT
// Has the user's connector called on a thread of its own: it may block as long as it likes, which
// no caller of ours may feel.
#pragma once

#include <mortise/connector.hpp>

#include "base/address.hpp"
#include "base/resolver.hpp"
#include "base/unique_fd.hpp"

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace mortise::remote {

/// What to say where the connector hangs.
inline constexpr const char* connector_is_late = "the connector returned no connection in time";

/// @throws Error (`misconfigured`) where there is nothing to call
[[nodiscard]] std::shared_ptr<const Connector> shared(Connector connector);

/// What came of a call: a connected stream socket that does not block, or the words of the failure
/// and its code.
struct Dialed {
  base::UniqueFd socket{};
  base::Endpoint peer{};  ///< as far as the socket knows it
  std::string error{};
  Errc code = Errc::unavailable;
};

/// Calls the connector for one address, at most once at a time. Another address has a dialer of its
/// own, since a call may hang for ever.
/// @thread_safety one thread at a time
class Dialer {
 public:
  /// For how long an answer is kept: ten times the longest pause between two tries. Whoever begins
  /// one later is not the one for whom it was made, and what is at the other end may have grown
  /// tired of it.
  static constexpr std::chrono::seconds kept_for{10};

  /// @param kept shorter in tests
  Dialer(std::shared_ptr<const Connector> connector, const base::Address& address,
         std::chrono::nanoseconds kept = kept_for);
  ~Dialer();
  Dialer(const Dialer&) = delete;
  Dialer& operator=(const Dialer&) = delete;

  /// Begins a call. Where one still hangs its answer is awaited instead; where one has answered
  /// that was not awaited any more, and is kept, that is the answer. Otherwise a connector that
  /// always takes a little longer than a try lasts would be called for ever, and in vain.
  void start();
  /// @return a descriptor that is readable once the answer of `start()` is there; valid from there
  /// to `forget()`.
  [[nodiscard]] int descriptor() const noexcept { return answered_.get(); }
  /// @return the answer, once; nothing = not yet, or taken already.
  [[nodiscard]] std::optional<Dialed> take();
  /// Nobody waits any more: what comes is closed, and so is what came and was not taken.
  void forget() noexcept;
  /// The same, if nothing is under way or kept for the next `start()`: it holds no descriptor then.
  void rest() noexcept;

 private:
  struct Shared;
  void know(std::string error, Errc code);

  base::UniqueFd answered_;  // an eventfd
  std::shared_ptr<Shared> shared_;
  std::optional<Dialed> known_;  // answered without a call
  std::uint32_t generation_ = base::fork_generation();
};

}  // namespace mortise::remote
