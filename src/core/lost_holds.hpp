// SPDX-License-Identifier: MIT
// The holds of a name that were lost, and that their owners still have to unlock.
#pragma once

#include "core/hold.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <stop_token>
#include <vector>

namespace mortise::core {

/// A hold that ended without its owner's unlock, until the owner has unlocked it as often as it
/// locked it: a stop_token asked for only now must be one that has fired already.
struct LostHold {
  Owner owner;
  std::size_t depth = 0;
  Token token;
  std::stop_source lost;  ///< without a state until the owner asks for it
  std::uint32_t guards = 0;
  Mode mode = Mode::exclusive;

  /// @param part of the owner's hold
  template <class HoldOrPart>
  LostHold(const HoldOrPart& part, Token its_token, Mode its_mode) noexcept
      : owner(part.owner),
        depth(part.depth),
        token(its_token),
        lost(part.notice ? part.notice->lost : std::stop_source(std::nostopstate)),
        guards(part.guards),
        mode(its_mode) {}

  /// @return a token whose stop is requested, or is about to be by the notifier.
  [[nodiscard]] std::stop_token stopped() {
    if (!lost.stop_possible()) {
      // It has no callback yet.
      lost = std::stop_source();
      lost.request_stop();
    }
    return lost.get_token();
  }
};

/// At most one lost hold per owner and mode; all modes but `shared` are alike.
class LostHolds {
 public:
  /// Makes room for that many holds that may be lost. To add them needs no memory then.
  void make_room(std::size_t more) {
    const std::size_t most = lost_.size() + more;
    // Not by one for each reader: that would move all of them each time.
    if (most > lost_.capacity()) lost_.reserve(std::max(most, 2 * lost_.capacity()));
  }
  /// @param part of the hold that is lost
  template <class HoldOrPart>
  void add(const HoldOrPart& part, Token token, Mode mode) noexcept {
    lost_.emplace_back(part, token, mode);
  }
  [[nodiscard]] LostHold* find(Owner owner, Mode mode = Mode::exclusive) noexcept {
    const auto found = std::find_if(lost_.begin(), lost_.end(), [&](const LostHold& each) {
      return each.owner == owner && are_alike(each.mode, mode);
    });
    return found == lost_.end() ? nullptr : &*found;
  }
  [[nodiscard]] bool has_any_of(Owner owner) const noexcept {
    return std::any_of(lost_.begin(), lost_.end(),
                       [&](const LostHold& each) { return each.owner == owner; });
  }
  [[nodiscard]] bool has_any_of(Mode mode) const noexcept {
    return std::any_of(lost_.begin(), lost_.end(),
                       [&](const LostHold& each) { return are_alike(each.mode, mode); });
  }
  /// The owner unlocks what it has lost. @return whether it has lost anything
  bool unlock(Owner owner, Mode mode) noexcept {
    LostHold* const lost = find(owner, mode);
    if (lost == nullptr) return false;
    if (--lost->depth == 0)
      std::erase_if(lost_, [&](const LostHold& each) { return &each == lost; });
    return true;
  }
  /// Forgets the holds for which `matches` returns true.
  template <class Matches>
  void forget_if(Matches matches) noexcept {
    std::erase_if(lost_, matches);
  }

 private:
  [[nodiscard]] static bool are_alike(Mode one, Mode other) noexcept {
    return (one == Mode::shared) == (other == Mode::shared);
  }

  std::vector<LostHold> lost_;
};

}  // namespace mortise::core
