// SPDX-License-Identifier: MIT
// The reader's role of replies for a caller that is alone: taken and left by one atomic exchange
// each, where the engine's mutex would be taken twice and a list be made of nobody.
#pragma once

#include "base/tuned_source.hpp"

#include <atomic>
#include <cstdint>

namespace mortise::runtime {

/// Open only while nobody reads replies and nobody waits for somebody who does. Whoever comes then
/// closes it first, under the engine's mutex; a caller that is on it finds that when it leaves, and
/// hands the role on like every other reader.
/// @thread_safety `take()` and `leave()` by any thread; the others under the engine's mutex.
class Shortcut {
 public:
  /// @return the one source of replies, to be read by this caller alone; null = it is closed, or
  /// somebody is on it
  [[nodiscard]] base::TunedSource* take() noexcept {
    State open = State::open;
    return state_.compare_exchange_strong(open, State::taken) ? source_ : nullptr;
  }
  /// @return false: it was closed meanwhile; the caller still has the role, and has to hand it on
  [[nodiscard]] bool leave() noexcept {
    State taken = State::taken;
    return state_.compare_exchange_strong(taken, State::open);
  }

  /// Nothing where it is open already, or somebody is on it.
  void open(base::TunedSource& source) noexcept {
    if (state_.load() != State::closed) return;
    source_ = &source;  // nobody is on it, to read this
    state_.store(State::open);
  }
  /// @return whether a caller is on it: from now on it counts as the reader
  [[nodiscard]] bool close() noexcept { return state_.exchange(State::closed) == State::taken; }
  /// @return the source that whoever is, or was last on it, reads.
  [[nodiscard]] const Source* source() const noexcept { return source_; }

 private:
  enum class State : std::uint8_t { closed, open, taken };
  std::atomic<State> state_{State::closed};
  base::TunedSource* source_ = nullptr;
};

}  // namespace mortise::runtime
