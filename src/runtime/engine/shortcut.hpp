// SPDX-License-Identifier: MIT
// The reader's role of replies for a caller that is alone: taken and left by one atomic exchange
// each, where the engine's mutex would be taken twice and a list be made of nobody.
#pragma once

#include "base/tuned_source.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

namespace mortise::runtime {

/// Open only while nobody reads replies and nobody waits for somebody who does. Whoever comes then
/// closes it first, under the engine's mutex; a caller that is on it finds that when it leaves, and
/// hands the role on like every other reader.
/// @thread_safety `take()` and `leave()` by any thread; `outstanding()` and `outstanding_alone()`
/// by whoever has taken it; the others under the engine's mutex.
class Shortcut {
 public:
  // A caller looks at each source whether it owes a reply; with more of them it goes the long way.
  static constexpr std::size_t most_sources = 16;

  /// @return whether the sources of replies are to be read by this caller alone; false = it is
  /// closed, or somebody is on it
  [[nodiscard]] bool take() noexcept {
    State open = State::open;
    return state_.compare_exchange_strong(open, State::taken);
  }
  /// @return the one source that owes replies, which the caller may sleep for; null = none does, or
  /// several do, and all of them have to be polled
  [[nodiscard]] base::TunedSource* outstanding_alone() const noexcept {
    base::TunedSource* found = nullptr;
    for (base::TunedSource* const source : sources()) {
      if (!source->outstanding()) continue;
      if (found != nullptr) return nullptr;
      found = source;
    }
    return found;
  }
  [[nodiscard]] bool outstanding() const noexcept {
    return std::ranges::any_of(sources(), [](const auto* source) { return source->outstanding(); });
  }
  /// @return false: it was closed meanwhile; the caller still has the role, and has to hand it on
  [[nodiscard]] bool leave() noexcept {
    State taken = State::taken;
    return state_.compare_exchange_strong(taken, State::open);
  }

  /// Nothing where it is open already, or somebody is on it.
  /// @param sources all that give replies, at most so many
  void open(std::span<base::TunedSource* const> sources) noexcept {
    if (state_.load() != State::closed) return;
    std::ranges::copy(sources, sources_.begin());  // nobody is on it, to read this
    size_ = sources.size();
    state_.store(State::open);
  }
  /// @return whether a caller is on it: from now on it counts as the reader
  [[nodiscard]] bool close() noexcept { return state_.exchange(State::closed) == State::taken; }
  /// @return whether whoever is, or was last on it, may read that source.
  [[nodiscard]] bool leads_to(const Source& source) const noexcept {
    return std::ranges::find(sources(), &source) != sources().end();
  }

 private:
  enum class State : std::uint8_t { closed, open, taken };
  [[nodiscard]] std::span<base::TunedSource* const> sources() const noexcept {
    return {sources_.data(), size_};
  }

  std::atomic<State> state_{State::closed};
  std::array<base::TunedSource*, most_sources> sources_{};
  std::size_t size_ = 0;
};

}  // namespace mortise::runtime
