// SPDX-License-Identifier: MIT
// What the parts of a slot share: the decisions about its name, and the one mutex over them.
#pragma once

#include "core/name_state.hpp"
#include "runtime/attempt.hpp"

#include <memory>
#include <mutex>
#include <string>

namespace mortise::runtime {

class ClientState;

/// The mutex guards the state and whatever a function `..._locked` of the slot's parts touches; it
/// is never held while the backend, the notifier or a sleeper is called, and comes before the
/// background's mutex.
struct SharedName {
  using Lock = std::unique_lock<std::mutex>;

  const std::shared_ptr<ClientState> client;
  const std::string name;
  std::mutex mutex{};
  core::NameState state{};

  /// @return an attempt with an id of its own, not sent yet.
  [[nodiscard]] std::shared_ptr<Attempt> new_attempt(const core::Terms& terms, bool wait) const;
  /// @return the hold as the server knows it.
  [[nodiscard]] HoldId hold_id(const core::Hold& hold) const;
};

}  // namespace mortise::runtime
