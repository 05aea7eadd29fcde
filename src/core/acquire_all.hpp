// SPDX-License-Identifier: MIT
// One call of lock_all() as a machine: how the requests for several names fared goes in, what is
// asked for, waited for or given back next comes out. runtime/acquire_all carries that out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

namespace mortise::core {

/// Names are numbers from 0, in the order that is the same for all who want several.
///
/// `start()` is the first action, and each event the answer to the action before it. At first it
/// waits while it holds none of the names, so that nobody waits for it. Two that take them from
/// each other in turns could go on like that for ever; so after a round or more it keeps those that
/// come before the one that it waits for. Whoever waits while it holds some waits for a name behind
/// all of them then, and names cannot be behind each other in a circle: no deadlock. What it keeps
/// only grows: it ends.
class AcquireAll {
 public:
  enum class Do : std::uint8_t {
    fly,        ///< ask for all that are not held, at once, and wait for nobody -> Flown
    give_back,  ///< those that are held, from number `name` on -> given_back()
    wait,       ///< for `name` alone, while there is time -> Waited
    end,        ///< say `end`
  };
  enum class End : std::uint8_t {
    held,       ///< all of them are
    failed,     ///< what the request for `name` has failed with
    contended,  ///< somebody else held `name`
  };
  struct Action {
    Do what = Do::end;
    std::size_t name = 0;
    End end = End::held;
  };

  /// What became of the request for one name.
  enum class Fate : std::uint8_t {
    held,
    busy,        ///< somebody else holds it
    unanswered,  ///< in the time of one request
    failed,      ///< for good
  };
  /// How a flight ended: by its first name that is not held, but for one that failed for good.
  struct Flown {
    Fate worst = Fate::held;
    std::size_t name = 0;
    bool time_is_up = false;
    bool cut_short = false;  ///< it had less time than one request has
  };
  struct Waited {
    Fate fate = Fate::held;
    bool all_held = false;
    bool time_is_up = false;
    bool cut_short = false;
  };

  /// @param may_wait false: one flight
  explicit AcquireAll(bool may_wait) noexcept : may_wait_(may_wait) {}

  [[nodiscard]] static Action start() noexcept { return {.what = Do::fly}; }
  Action step(const Flown& event) noexcept;
  Action step(const Waited& event) noexcept;
  [[nodiscard]] Action given_back() const noexcept { return next_; }

 private:
  /// Frees all that it holds, and ends.
  Action ends(End end, std::size_t name) noexcept;
  Action ends_without(std::size_t name, Fate fate, bool cut_short) noexcept;

  const bool may_wait_;
  int rounds_ = 0;                        // that have ended at somebody else's hold
  std::size_t waits_for_ = 0;             // or has waited for last
  std::optional<std::size_t> contended_;  // which was seen to be somebody else's last
  Action next_;
};

}  // namespace mortise::core
