// SPDX-License-Identifier: MIT
// In a cluster: for which names a client listens at one server. A channel is one of a name there,
// so that it lies in the slot of that name, and goes with it.
#pragma once

#include <mortise/clock.hpp>

#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mortise::redis {

/// @thread_safety every member may be called concurrently; `Say` is called one at a time.
class Listening {
 public:
  /// Subscribes to the channel of a name (`begins`), or ends that. @return false: there is no
  /// connection to say it by
  using Say = std::function<bool(bool begins, const std::string& name)>;

  explicit Listening(Say say) : say_(std::move(say)) {}

  /// Somebody waits for that name. What nobody has waited for since a while is not listened to any
  /// more.
  void wait(const std::string& name, Instant now);
  /// @return since when it listens there for that name, as the server has said.
  [[nodiscard]] std::optional<Instant> since(const std::string& name) const;

  /// The server has answered that it listens. @return whether it was to
  bool began(const std::string& name, Instant now);
  /// The server says that it does not any more. @return whether it was to: the slot has left
  bool ended(const std::string& name);
  /// The server has refused one of those that were said and not answered; not said which.
  void refused();
  /// The connection broke.
  void forget();

 private:
  struct State {
    std::optional<Instant> began{};
    Instant wanted{};  // last
  };

  void sweep_locked(Instant now);

  const Say say_;
  mutable std::mutex mutex_;  // also while it is said: in that order
  std::map<std::string, State> names_;
  Instant swept_{};
};

}  // namespace mortise::redis
