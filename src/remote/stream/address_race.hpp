// SPDX-License-Identifier: MIT
// Which of a name's addresses to connect to, and when (RFC 8305, "happy eyeballs"). It opens
// nothing and reads no clock: events go in, the next step comes out.
#pragma once

#include <mortise/clock.hpp>

#include <chrono>
#include <cstddef>
#include <vector>

namespace mortise::remote {

/// The addresses are numbers, from 0, in the order of preference. The next one is tried while those
/// before it still hang. The first one that connects wins.
/// @thread_safety one thread at a time
class AddressRace {
 public:
  /// For how long an address is tried alone before the next one is tried as well.
  static constexpr std::chrono::milliseconds head_start{250};

  /// @param step the time of one address for each step; see `connect_limit()`
  explicit AddressRace(std::chrono::nanoseconds step) noexcept : step_(step) {}

  void start(std::size_t addresses);
  enum class Act {
    wait,  ///< until an event, or until `due()`
    open,  ///< begin to connect to `address`
    late,  ///< `address` has had its time: close it
    lost,  ///< none is left: the race is over
  };
  struct Step {
    Act act = Act::wait;
    std::size_t address = 0;
  };
  /// @return what to do now. After a step other than `wait` and `lost` ask again.
  [[nodiscard]] Step step(Instant now);
  /// Its server has delivered something, and a further step follows.
  void came_closer(std::size_t address, Instant now) noexcept;
  /// It cannot be connected to. It is tried again later if another address still hangs: a server
  /// that restarts refuses connections for a moment, and must not lose to a dead address.
  void refused(std::size_t address, Instant now);
  /// It won, and the others are to be closed. If it turns out to be of no use, `step()` goes on
  /// with the others.
  /// @return since when it was tried
  Instant connected(std::size_t address);
  /// @return whether there are others to go on with.
  [[nodiscard]] bool has_more() const noexcept { return !untried_.empty(); }
  /// @return when `step()` has something to do, whatever comes.
  [[nodiscard]] Instant due() const noexcept;

 private:
  struct Running {
    std::size_t address = 0;
    Instant since{};
    Instant limit{};
  };
  struct Refused {
    std::size_t address = 0;
    Instant again{};
  };
  [[nodiscard]] Step open(std::size_t address, Instant now);
  [[nodiscard]] Running* find(std::size_t address) noexcept;
  Instant remove(std::size_t address);

  const std::chrono::nanoseconds step_;
  // `start()` has room for all addresses in each, so that nothing fails for want of memory later.
  std::vector<std::size_t> untried_;
  std::vector<Running> running_;  // the newest last
  std::vector<Refused> refused_;
  Instant next_{};  // when the next untried address may join the running ones
};

}  // namespace mortise::remote
