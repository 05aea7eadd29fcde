// SPDX-License-Identifier: MIT
// Keys of `Once` in a run: what was said of each by whom, and which promise that breaks.
#pragma once

#include <mortise/outcome.hpp>

#include "simulation/scene/judge.hpp"
#include "simulation/world/room.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace simulation {

/// O1: a key succeeds once as long as it is remembered, and all are told the same. O2: nothing is
/// recorded by a runner that is told that it lost. O3: what was told is remembered for as long as
/// it is kept, and told to those only who ask for the same. O4: numbers of runs grow. Whoever
/// knows when a call began and ended can tell, without looking at the store: what a store did is
/// in between.
///
/// That one at a time runs a key the `Judge` of the locks sees (S1, S2, S6): a key is a name to it,
/// from `first_name` on.
class Keys {
 public:
  static constexpr std::size_t first_name = 1'000;
  using RunNumber = std::uint64_t;

  /// @param keep of every key
  Keys(Room& room, Judge& judge, Nanos keep) : room_(room), judge_(judge), keep_(keep) {}
  [[nodiscard]] Nanos keep() const noexcept { return keep_; }

  /// What a caller asked, and when.
  struct Call {
    std::size_t key = 0;
    const Process* process = nullptr;
    std::string fingerprint{};
    bool only_one = false;  ///< fingerprint that anybody uses with this key
    bool always = false;    ///< everybody repeats this key after success
    Nanos asked{};
    Nanos seen{};  ///< what it is told is not older than this
  };
  /// It is to run the key.
  RunNumber begins(const Call& call, std::uint64_t number, mortise::Token token);
  /// It is about to say what came of it: bytes that nobody else says.
  void concludes(const Call& call, RunNumber run, mortise::KeyState state, std::string bytes);
  struct Told {
    mortise::Outcome outcome;
    bool in_doubt = false;
    bool answered = false;  ///< in less time than a request is given
    Nanos left{};           ///< until its deadline when it said so
    Nanos took{};           ///< the time since
  };
  void concluded(const Call& call, RunNumber run, const Told& told);
  /// It is told what somebody else's run came to, or that the key is pending.
  void told(const Call& call, const mortise::Outcome& outcome, bool may_be_stale);
  void mismatch(const Call& call);
  /// It has looked at the key.
  void looked(const Call& call, const mortise::Outcome& outcome);
  /// It is about to have it forgotten; and it was told whether it is, or that is in doubt.
  void forgets(const Call& call);
  void forgot(const Call& call, std::optional<bool> forgotten);

  /// @return bytes that were not used before, of somebody with that fingerprint.
  [[nodiscard]] std::string new_bytes(std::string_view fingerprint);
  [[nodiscard]] std::uint64_t told_successes() const noexcept { return told_successes_; }

 private:
  struct Attempt {
    RunNumber run = 0;
    const Process* process = nullptr;
    std::uint64_t number = 0;
    mortise::Token token;
    Nanos asked{};    ///< of the call that was granted: its begin at the store came after that
    Nanos granted{};  ///< and before this
    mortise::KeyState state = mortise::KeyState::pending;  ///< that it said
    std::string bytes{};
    Nanos said = never;  ///< its conclusion at the store came after that ...
    Nanos told = never;  ///< ... and before this, where it was told that it is recorded
    bool lost = false;   ///< it was told that nothing is
    bool seen = false;   ///< somebody was told its bytes
  };
  struct Key {
    std::vector<Attempt> attempts;
    std::vector<Nanos> forgetting;  ///< as each call began that may have it forgotten at any time
    Nanos forgotten_until{-1};      ///< the last end of one that did
    Nanos forgotten_from{-1};       ///< and the last begin
    Nanos forgotten_by{-1};         ///< and the end of that one
  };
  [[nodiscard]] Attempt& attempt(std::size_t key, RunNumber run);
  /// @return by how much the clocks of the servers were set so far, at most: each keeps what it
  /// remembers by its own.
  [[nodiscard]] Steps clock_steps() const;
  /// @return whether what was recorded by then may have been forgotten by now.
  [[nodiscard]] bool may_be_gone(const Key& key, Nanos recorded_after) const;
  void look_for_second_success(const Call& call, const Attempt& first, const Attempt& later);
  /// @return the attempt that said these bytes; null, and blamed: nobody did
  Attempt* find(const Call& call, const mortise::Outcome& outcome);
  /// @return whether a run of the caller's process is not over for that one, but was ended by
  /// force.
  [[nodiscard]] bool was_robbed_here(const Call& call);
  /// What must be known of the key by somebody who asked then.
  void expect_known(const Call& call, const mortise::Outcome& outcome);
  void blame(const char* promise, const Call& call, const std::string& words);

  Room& room_;
  Judge& judge_;
  const Nanos keep_;
  std::map<std::size_t, Key> keys_;
  RunNumber runs_ = 0;
  std::uint64_t bytes_ = 0;
  std::uint64_t told_successes_ = 0;
};

}  // namespace simulation
