// SPDX-License-Identifier: MIT
// Which of Redisson's channels a client hears, and why: as the first of a queue, to ask when one of
// Redisson's holders lets go; or for a long hold, to learn that it was taken away. Nobody hears one
// for nothing: who listens and does not wait would be taken for one of Redisson's waiters, for whom
// each release keeps the lock a moment.
#pragma once

#include <mortise/operation.hpp>

#include <cstddef>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace mortise::redis {

/// @return the channel on which Redisson tells that a lock is free.
[[nodiscard]] std::string redisson_channel(std::string_view name);

/// @thread_safety every member may be called concurrently; `Say` is called one at a time.
class Hearing {
 public:
  /// Subscribes to a channel (`begins`), or ends that. @return false: there is no connection to say
  /// it by
  using Say = std::function<bool(bool begins, const std::string& channel)>;

  explicit Hearing(Say say) : say_(std::move(say)) {}

  /// This client is the first who waits for that name, or is not any more.
  void wait(const std::string& name);
  void stop_waiting(const std::string& name);
  /// This client holds it, and for long; or does not any more.
  void hold(const HoldId& hold);
  void stop_holding(const HoldId& hold);

  /// @return whether it hears the channel of that name as one who waits.
  [[nodiscard]] bool waits(const std::string& name) const;
  /// @return whether the server may count this client, which waits no more, among those who listen.
  [[nodiscard]] bool is_still_counted(const std::string& name) const;
  /// @return for which name it waits that hears this channel; nothing = for none.
  [[nodiscard]] std::optional<std::string> waited_for(const std::string& channel) const;
  /// @return the long hold for which it hears this channel.
  [[nodiscard]] std::optional<HoldId> held(const std::string& channel) const;

  /// The server has answered that a subscription is over: one of them, where it began anew and was
  /// left again before that was heard.
  void ended(const std::string& channel);
  /// The connection broke. What was noted and not said yet would go by the next one, which knows
  /// nothing of it.
  void forget();

 private:
  struct Reason {
    std::string name{};
    bool waits = false;            // as the first of the queue
    std::optional<HoldId> hold{};  // that is long
    [[nodiscard]] bool any() const noexcept { return waits || hold; }
  };

  void change(const std::string& name, const std::function<void(Reason&)>& how);

  const Say say_;
  std::mutex order_;  // subscriptions are said in the order in which they are noted; taken first
  mutable std::mutex mutex_;
  std::map<std::string, Reason> channels_;
  std::map<std::string, std::size_t> left_;  // subscriptions that may not have ended yet
};

}  // namespace mortise::redis
