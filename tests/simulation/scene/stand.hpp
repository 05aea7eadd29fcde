// SPDX-License-Identifier: MIT
// A kind of store in a run: its servers, how clients reach them, and what can befall only them.
#pragma once

#include <mortise/backend.hpp>
#include <mortise/lock.hpp>

#include "simulation/scene/judge.hpp"
#include "simulation/scene/plan.hpp"
#include "simulation/world/room.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

namespace simulation {

class Stand {
 public:
  virtual ~Stand() = default;
  /// @return a new client's backend. Called on a thread of the client's process.
  [[nodiscard]] virtual std::unique_ptr<mortise::Backend> backend(std::size_t client) = 0;
  /// Something that only this kind of store knows.
  /// @return in words, for the trace
  virtual std::string special(std::uint64_t which, Random& random, Nanos length) = 0;
  /// Told of a hold that a special takes by force: see Judge.
  std::function<void(std::size_t name, std::uint64_t grant, bool shared, Nanos bound)> taken;
  /// Told of a process whose threads are to keep until then what they hold or are granted.
  std::function<void(const Process& process, Nanos until)> keep;
  /// What must be left of a hold...
  struct Told {
    Nanos asked{0};  ///< ... before its renewal is asked for, and
    Nanos told{0};   ///< ... when an observer knows that it fails; 0: not looked at
  };
  [[nodiscard]] virtual Told told_at() const { return {}; }
  /// The storm is over: whatever a special left behind ends.
  virtual void calm() {}
  /// @return for how long what a try that was refused, or a release that was answered, has changed
  /// may be seen by others afterwards.
  [[nodiscard]] virtual Nanos rest_of_a_try() const { return Nanos(0); }
  [[nodiscard]] virtual Nanos rest_of_a_release() const { return Nanos(0); }
  /// @return how long a hold of a client that died may keep a name.
  [[nodiscard]] virtual Nanos longest_hold_of_the_dead(const Plan& plan) const {
    return plan.lease;
  }
  /// @return the same where one client alone died, which held (L1).
  [[nodiscard]] virtual Nanos lease_of_the_dead(const Plan& plan) const {
    return longest_hold_of_the_dead(plan);
  }
  /// All is over, and whatever is usual is there: from now on all that waits is served at once.
  virtual void clear() {}
  /// @return how often each thread locks after that.
  [[nodiscard]] virtual std::size_t operations_in_the_clear() const { return 10; }
  /// @return how often it becomes as clear: clients do nothing in between, for so long.
  [[nodiscard]] virtual std::size_t rounds_in_the_clear() const { return 1; }
  /// What is true at the server.
  struct Truth {
    std::uint64_t number = 0;  ///< of the last grant
    Nanos left{};              ///< of its lease; zero: nobody holds it
  };
  /// @return whether `truth()` tells.
  [[nodiscard]] virtual bool tells_truth() const { return false; }
  /// @return nothing: unknown
  [[nodiscard]] virtual std::optional<Truth> truth(std::size_t /*name*/) const { return {}; }
  /// @return the same of the hold with that number, where others may hold beside it.
  [[nodiscard]] virtual std::optional<Truth> truth_of(std::size_t name,
                                                      std::uint64_t /*number*/) const {
    return truth(name);
  }
  /// @return the same of what a crash or a fail-over would leave now.
  [[nodiscard]] virtual std::optional<Truth> safe_truth(std::size_t name) const {
    return truth(name);
  }
  /// @return whether the servers have brought holds back that were given back already: a release
  /// need not be on disk when it is told.
  [[nodiscard]] virtual bool holds_came_back() const { return false; }
  /// @return what a key is told to be by now to somebody who asked then is not older than this.
  [[nodiscard]] virtual Nanos seen_from(Nanos asked) const { return asked; }
  /// @return whether an owner that goes on as a reader has one token for both.
  [[nodiscard]] virtual bool reads_on_by_one_token() const { return false; }
  /// @return whether it has keys with a memory: `Keys`.
  [[nodiscard]] virtual bool remembers() const { return false; }
  /// The owner of a hold does something with it that only this kind of store has. On its thread.
  /// @return what it does once it has released it; null = nothing
  virtual std::function<void()> use(mortise::Lock& /*lock*/, mortise::Owner /*owner*/,
                                    Random& /*random*/) {
    return {};
  }
  /// @return what the servers have worked so far: requests, instructions, whatever is counted.
  [[nodiscard]] virtual std::uint64_t work() const = 0;
  [[nodiscard]] virtual std::uint64_t requests() const = 0;
  /// @return how many processes with Redisson's locks are there as well.
  [[nodiscard]] virtual std::size_t strangers() const { return 0; }
  /// @return how long after the last fault all is as ever, where nobody died.
  [[nodiscard]] virtual Nanos recovery() const { return std::chrono::seconds(10); }
  /// @return how long a name that is wanted may lie free when all is well: with a push to the next
  /// one no longer than a few messages take.
  [[nodiscard]] virtual Nanos hand_over() const { return std::chrono::milliseconds(100); }
  /// @return whether a client may say that its servers are set up wrongly.
  [[nodiscard]] virtual bool misleads() const { return false; }
  /// An owner was told of its hold, and that it is freed.
  virtual void told(const std::string& /*name*/, mortise::Token /*token*/) {}
  virtual void released(const std::string& /*name*/, mortise::Token /*token*/) {}
  /// @return what clients have open that were closed long ago.
  [[nodiscard]] virtual std::size_t open_sessions() const { return 0; }
  /// A call of a client that was begun then is over. @return a promise that was broken by what it
  /// was told
  virtual std::optional<Verdict> ended(const Process& /*client*/, Nanos /*asked*/,
                                       const std::error_code& /*error*/) {
    return std::nullopt;
  }
  /// All clients have done what they had to. What else is tried of this kind of store alone: it
  /// runs the world until that is over.
  virtual void last_trial() {}
  /// What a special has to tell the judge.
  Judge* judge = nullptr;
  /// @return whether callers may be told of such an error, because of a special that brings it
  /// about.
  [[nodiscard]] virtual bool expects(const std::error_code& /*error*/) const { return false; }
  /// @return of how many releases of a name strangers were told.
  [[nodiscard]] virtual std::uint64_t releases_told(std::size_t /*name*/) const { return 0; }
  /// @return whether that client's holds are seen by strangers.
  [[nodiscard]] virtual bool seen_by_strangers(std::size_t /*client*/) const { return true; }
  /// A client's process is about to be killed, or its client to be closed.
  virtual void dies(const Process& /*process*/) {}
  /// @return by how much a request may have come late to the servers so far.
  [[nodiscard]] virtual Nanos lateness() const { return Nanos(0); }
  /// The client of a process is to be closed. @return after how long: there may be trouble before
  virtual Nanos before_closing(Random& /*random*/) { return Nanos(0); }
  /// The client of that process was closed, which took so long.
  virtual void closed(const Process& /*process*/, Nanos /*took*/) {}
  /// Asked every second. @return the promise of which the servers show that it was broken.
  /// @param quiet for how long nothing has befallen anybody
  [[nodiscard]] virtual std::optional<Verdict> look(Judge& /*judge*/, Nanos /*quiet*/) {
    return std::nullopt;
  }
  /// Looked at every second. @return what must never be; empty = all is well
  [[nodiscard]] virtual std::string complaint(std::size_t /*clients*/) { return {}; }
  /// @param names that were used, and are free by now
  /// @return what was left behind although the storm is long over; empty = nothing
  [[nodiscard]] virtual std::string leftovers(const std::vector<std::string>& /*names*/) {
    return {};
  }
};

/// @return how many specials a kind of store has.
[[nodiscard]] std::size_t specials_of(Kind kind);
[[nodiscard]] std::unique_ptr<Stand> make_stand(const Plan& plan, Room& room);

}  // namespace simulation
