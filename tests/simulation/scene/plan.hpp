// SPDX-License-Identifier: MIT
// What one run will do: drawn from a seed as a whole before it begins, so that a failing run can be
// made smaller by leaving out parts of its plan.
#pragma once

#include "simulation/world/random.hpp"

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace simulation {

// Their numbers are in the seeds' streams.
enum class Kind { memory, redis, redlock, zookeeper, postgres, sentinel, replicas, cluster };
[[nodiscard]] std::string name_of(Kind kind);

struct Fault {
  enum class What {
    stall,         ///< one connection, one way or both
    cut,           ///< one connection; what is under way may still arrive
    overtake,      ///< the connections of one client, each for a time of its own
    part,          ///< all between one client and one server
    pause_client,  ///< SIGSTOP
    kill_client,   ///< SIGKILL; another process takes its place
    pause_server,
    restart_server,  ///< without loss of what was acknowledged
    late_threads,    ///< a client's threads wake late
    preempt,         ///< a client's threads stop anywhere
    slow_network,
    close_client,  ///< in the midst of what its threads do; another process takes its place
    special,       ///< of the kind of store: see Stand
  };
  static constexpr std::size_t kinds = 13;
  What what{};
  Nanos at{};
  Nanos length{};
  std::uint64_t who = 0;    ///< which client, server or connection
  std::uint64_t which = 0;  ///< which connection, way or special
};
[[nodiscard]] std::string_view name_of(Fault::What what);
[[nodiscard]] std::string describe(const Fault& fault);

struct Plan {
  Kind kind{};
  std::uint64_t seed = 0;
  bool steps = false;    ///< servers' clocks are set back (outside of A2): exclusion is not judged
  bool forgets = false;  ///< a fail-over loses what was acknowledged (outside of A3): the same
  std::size_t clients = 2;
  std::size_t threads = 1;  ///< of each client
  std::size_t names = 1;
  std::size_t operations = 100;  ///< of each thread, while there are faults
  Nanos lease{};
  bool renew = true;
  Nanos storm{};  ///< faults come until then
  Nanos longest_hold{};
  Nanos longest_pause{};  ///< between two operations
  double tries = 0;       ///< how many operations do not wait
  double timed = 0;       ///< how many wait for a bounded time
  double stopped = 0;     ///< how many are stopped by a stop token
  double reentered = 0;
  double outlived = 0;        ///< how many are held beyond the lease
  bool astray = false;        ///< two addresses lead to one server now and then, and clients idle
  bool crowd = false;         ///< most wait for a few milliseconds only, behind long holds
  bool blocks = false;        ///< what is called at a loss takes long
  bool suspends = false;      ///< clients are stopped by suspending their machines
  bool narrow = false;        ///< each client of PostgreSQL's has one connection for its statements
  std::size_t keys = 0;       ///< how many keys clients run, beside what they lock; 0: they do not
  std::size_t runners = 0;    ///< threads of each client that do
  Nanos keep{};               ///< of each key
  double readers = 0;         ///< how many operations share the name with each other
  std::uint32_t permits = 0;  ///< of a semaphore, beside the locks; 0: there is none
  std::size_t porters = 0;    ///< threads of each client that take them
  std::optional<std::uint64_t> again{};  ///< of the specials: comes again and again
  std::vector<Fault> faults;
  std::set<std::size_t> left_out;  ///< of the faults: to make a failing run smaller

  [[nodiscard]] static Plan draw(Kind kind, std::uint64_t seed, std::size_t specials);
  /// @return the plan as one word, which `parse` takes: "seed:left out:clients:threads:operations".
  [[nodiscard]] std::string word() const;
  /// Changes what a word says. @return false: it does not read as one
  bool apply(const std::string& word);
};

}  // namespace simulation
