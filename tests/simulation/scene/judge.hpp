// SPDX-License-Identifier: MIT
// Watches every grant of a run, knows what all owners believe at each moment, and says which
// promise was broken.
#pragma once

#include <mortise/lock.hpp>

#include "simulation/world/room.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace simulation {

/// A promise that was not kept: "S1", and how.
struct Verdict {
  std::string promise;
  std::string words;
};

class Judge {
 public:
  explicit Judge(Room& room, bool exclusion) : room_(room), exclusion_(exclusion) {}

  /// One owner's hold, from the return of the call that took it.
  struct Hold {
    const Process* process = nullptr;
    std::function<bool()> valid;  ///< whether the owner believes it; asked from outside of threads
    mortise::Token token{};       ///< none: a stranger's
    Nanos asked_at{};             ///< since when the owner has waited for it
    Nanos granted_at{};
    bool ended = false;  // it was seen to be no longer valid
  };
  using HoldNumber = std::uint64_t;

  HoldNumber granted(std::size_t name, Hold hold);
  /// The owner looks at its own hold. @return whether it believes that it holds
  bool still_holds(std::size_t name, HoldNumber number);
  /// The owner is about to send its release.
  void releasing(std::size_t name, HoldNumber number);

  /// Somebody waits for a name from now on, or no longer.
  void waits(std::size_t name, const Process& who, bool begins);
  /// From this moment on a name that is free and wanted must be granted within the bound.
  /// @param hand_over after a release
  /// @param fallback after the end of a lease, of which nobody is told
  void expect_service(Nanos from, Nanos hand_over, Nanos fallback) {
    serve_from_ = from;
    hand_over_ = hand_over;
    fallback_ = fallback;
  }

  void blame(std::string promise, std::string words);
  [[nodiscard]] const std::optional<Verdict>& verdict() const noexcept { return verdict_; }
  [[nodiscard]] std::uint64_t grants() const noexcept { return grants_; }

 private:
  struct Name {
    std::map<HoldNumber, Hold> holds;
    mortise::Token largest{};
    Nanos free_since{0};
    Nanos wanted_since{0};
    bool released = false;  ///< by its owner in time; otherwise nobody is told that it is free
    std::vector<const Process*> waiters;
  };
  [[nodiscard]] bool believes(const Hold& hold);
  void look_for_rivals(std::size_t name, HoldNumber number);
  [[nodiscard]] std::string words(const Hold& hold) const;

  Room& room_;
  const bool exclusion_;
  std::map<std::size_t, Name> names_;
  std::uint64_t grants_ = 0;
  std::optional<Verdict> verdict_;
  Nanos serve_from_ = never;
  Nanos hand_over_{};
  Nanos fallback_{};
};

}  // namespace simulation
