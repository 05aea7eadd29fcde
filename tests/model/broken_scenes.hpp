// SPDX-License-Identifier: MIT
// Scenes that show what breaks locks on a server, with processes and leases that are real ones.
// Each is found good with the right backend, and must be caught with the broken one. Nothing
// depends on how quick the machine is: the next holder is waited for, not timed.
#pragma once

#include <mortise/options.hpp>

#include "model/actor.hpp"
#include "model/broken_backends.hpp"
#include "model/checker.hpp"
#include "model/held_messages.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <utility>

namespace mortise::model {

// For what happens sooner or later in a scene, or it fails.
inline constexpr std::chrono::seconds scene_patience{20};

// A play on a real server, and what the scenes have to know of it.
class ServerPlay : public Play {
 public:
  struct Leases {
    LockOptions unrenewed;  // soon over: of A, who is late
    LockOptions lasting;    // of those who hold meanwhile
    LockOptions renewed;    // of a holder in a process of its own, who is stopped; soon over then
  };

  ServerPlay(Connect how, const Leases& of_actors) : Play(std::move(how)), leases(of_actors) {}
  virtual ~ServerPlay() = default;

  // Waits until so many wait for the name at the server; content where nobody can tell.
  virtual bool wait_in_line(std::size_t /*count*/) { return true; }
  // Breaks releases, which can be held back: they free the name, whoever holds it.
  // Returns what then stands between an actor and its backend.
  virtual Wrap break_releases(const std::shared_ptr<HeldMessages>& messages) = 0;

  const Leases leases;
};

// Answers can be held back. Broken: the lease is counted from their arrival.
Wrap hold_back_answers(bool broken, const std::shared_ptr<HeldMessages>& messages);
// Releases can be held back.
Wrap hold_back_releases(const std::shared_ptr<HeldMessages>& messages);
// The same, and free the name by force.
Wrap frees_whoever_holds(const std::shared_ptr<HeldMessages>& messages,
                         FreesWhoeverHolds::Free free);

namespace scenes {

// A's answer is on its way until the server's lease has ended and B has the name.
Report late_reply(ServerPlay& play, bool broken);

// The same with a grant that is pushed to A, who waits for C.
Report late_push(ServerPlay& play, bool broken);

// A's release is on its way until A's lease has ended and B has the name.
Report late_release(ServerPlay& play, bool broken);

// Numbers from a counter, where one is given, instead of those of the lock. Something happens to
// the server between A's holds and B's, and the resource takes B's write or not.
Report tokens(ServerPlay& play, const CountsApart::Counter& counter,
              const std::function<void()>& happens, bool taken);

// A is stopped by SIGSTOP in the middle of its work, beyond its lease; B takes the name and writes;
// A goes on with its write, which must be caught where the resource takes it.
void stopped_holder(ServerPlay& play, bool fenced);

}  // namespace scenes

// Of a scene that is played on a new SomePlay each time, with the right backend and the broken one.
template <class SomePlay, class Scene>
void expect_caught(Fault fault, const Scene& scene) {
  const auto played = [&scene](bool broken) {
    SomePlay play;
    return scene(play, broken);
  };
  const Report right = played(false);
  EXPECT_TRUE(right.ok()) << right.text();
  const Report wrong = played(true);
  EXPECT_TRUE(wrong.has(fault)) << wrong.text();
}

// The same of a stopped holder and the resource that it writes to.
template <class SomePlay>
void expect_old_tokens_caught() {
  for (const bool fenced : {true, false}) {
    SomePlay play;
    scenes::stopped_holder(play, fenced);
  }
}

}  // namespace mortise::model
