// SPDX-License-Identifier: MIT
// The common state of the parts of a client's ZooKeeper backend.
#pragma once

#include <mortise/backend.hpp>
#include <mortise/holder.hpp>

#include "zookeeper/request.hpp"
#include "zookeeper/settings.hpp"

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace mortise::zookeeper {

class Attempts;
class LateNodes;
class Questions;
class Renewals;
class SeenQueues;
class Session;
class Sessions;
class Tidying;

/// All parts are guarded by the mutex of the backend.
/// @thread_safety one thread at a time
struct Parts {
  /// A step for the time when the mutex is free.
  struct Completion {
    std::function<void()> run;
    bool is_locked = false;  ///< under the mutex again, behind those before it
  };

  const Settings& settings;
  Host* host = nullptr;
  std::shared_ptr<Clock> clock{};
  Sessions* sessions = nullptr;
  Attempts* attempts = nullptr;
  Renewals* renewals = nullptr;
  Questions* questions = nullptr;
  LateNodes* late = nullptr;
  SeenQueues* seen = nullptr;
  Tidying* tidying = nullptr;
  std::vector<Completion> completions{};
  Instant next_look = never;  ///< when attempts and renewals are looked at again

  [[nodiscard]] Instant now() const noexcept { return clock->now(); }
  void then(std::function<void()> completion) {
    completions.push_back({.run = std::move(completion)});
  }
  void then_locked(std::function<void()> step) {
    completions.push_back({.run = std::move(step), .is_locked = true});
  }
  void fail(const std::shared_ptr<Operation>& operation, Failure why) {
    then([operation, why = std::move(why)] { operation->failed(why); });
  }
  void look_by(Instant when) noexcept { next_look = std::min(next_look, when); }

  /// @return the store in words, for messages.
  [[nodiscard]] std::string describe() const { return "zookeeper " + settings.text(); }
  [[nodiscard]] Failure failure(Errc code, const std::string& words) const {
    return {code, describe() + ": " + words};
  }
  /// @return the meaning of an unexpected reply.
  [[nodiscard]] Failure failure_of(const Reply& reply, const std::string& what) const;
  /// @return the failure if the node with a name's digest keeps another name.
  [[nodiscard]] Failure other_name(const std::string& node) const;
  /// @return the failure if a key's record belongs to another key, or is not a record.
  [[nodiscard]] Failure other_record(const std::string& node, bool is_record) const;
  /// @return the failure if a session lasts longer than that lease; nothing = it does not.
  [[nodiscard]] std::optional<Failure> too_short(std::chrono::nanoseconds lease,
                                                 const Session& session) const;
  /// A write that changes nothing returns the time of the leader's clock. One is enough for
  /// minutes, unless the record may be over just now.
  void ask_for_time(Session& session, bool precisely) const;
};

/// The longest time until a request is repeated that the server refused.
inline constexpr std::chrono::milliseconds after_a_refusal{500};
/// @return that time in a session, which may be a short one.
[[nodiscard]] std::chrono::nanoseconds pause_of_refused(const Session& session);

/// The data that Curator's `Revoker` writes into a node whose holder has to let go.
inline constexpr std::string_view revoked = "__REVOKE__";

/// @param reply the node's data
/// @param node its name or its path
[[nodiscard]] Holder holder_of(const Reply& reply, std::string_view node, std::size_t waiters);
/// @return the reason why a session ends whose client may not remove its own node.
[[nodiscard]] inline std::string undeletable(const std::string& node, const Reply& reply) {
  return node + " cannot be deleted: " + words_of(reply);
}

}  // namespace mortise::zookeeper
