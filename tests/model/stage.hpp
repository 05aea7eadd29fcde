// SPDX-License-Identifier: MIT
// What everybody shares who takes part in a recorded run of a backend: the store under test, the
// protected resource, the history, the time, and a tally that all processes write to.
#pragma once

#include <mortise/backend.hpp>
#include <mortise/options.hpp>

#include "model/history.hpp"
#include "model/resource.hpp"
#include "model/story_time.hpp"
#include "model/temporary.hpp"
#include "support/contract_backend.hpp"
#include "support/contract_process.hpp"

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace mortise::model {

// Client processes that one run may have, one after another.
inline constexpr std::uint32_t most_client_processes = 4096;

/// Room for so many events of a run, for each of its seconds.
inline constexpr std::uint64_t events_a_second = 60'000;

/// Within this time after the last fault all owners are served again.
inline constexpr std::chrono::seconds patience_after_faults{30};

/// Deadlines that differ by fewer nanoseconds are one deadline seen twice.
inline constexpr std::int64_t same_deadline = 1'000'000;

struct Company;

// One thread of a client process, and what it does there.
class Player {
 public:
  Player() = default;
  Player(const Player&) = delete;
  Player& operator=(const Player&) = delete;
  virtual ~Player() = default;
  // Until the faults are over; then sees that all is well again. Throws nothing.
  virtual void run() noexcept = 0;
};
using MakePlayer =
    std::function<std::unique_ptr<Player>(const Company& company, std::uint32_t owner)>;

// Who does what. Times are the longest; each is drawn between zero and that.
struct Workload {
  std::uint32_t processes = 3;
  std::uint32_t threads = 2;
  std::uint32_t names = 3;
  std::chrono::microseconds hold{3'000};
  std::chrono::microseconds thought{1'000};
  std::chrono::milliseconds longest_wait{1'000};
  LockOptions lock = {};
  // So many of the holds are shared ones.
  double readers = 0;
  // Not zero: the names are of semaphores, each with so many permits.
  std::uint32_t permits = 0;
  // Some holds last for up to two leases, and live by renewals.
  double long_holds = 0;
  // Leases only: some holds are not renewed, and their holder does nothing for longer than its
  // lease and then goes on as if nothing had happened, as a process that was stopped does.
  double oversleeps = 0;
  // Passing a lock on inside the process can be switched off: whoever passes on a hold that the
  // server has forgotten never learns that it had lost it.
  bool passes_on = true;
  // A release without an answer is sent twice, and where the second copy finds nothing, inside the
  // lease, the library takes that for the work of the first. Only a server that forgets can make
  // that wrong: then such an answer is recorded as unknown.
  bool believes_repeated_releases = true;
  bool fenced = true;           // whether the resource refuses older tokens
  bool tells_of_losses = true;  // prints those that no promise allows
  // Empty: takes locks (HistoryWorker).
  MakePlayer player = {};
  // What stands between the library and the backend; for deliberately broken variants.
  std::function<std::unique_ptr<Backend>(std::unique_ptr<Backend>)> wrap = {};
};

enum class Act : std::uint8_t { faults, healed };

// Shared between processes: atomics only.
struct Tally {
  std::atomic<Act> phase{Act::faults};
  std::atomic<std::uint64_t> grants{0};
  std::atomic<std::uint64_t> timed_out{0};
  std::atomic<std::uint64_t> cancelled{0};
  std::atomic<std::uint64_t> unavailable{0};  // and in doubt
  std::atomic<std::uint64_t> reentries{0};
  std::atomic<std::uint64_t> oversleeps{0};
  std::atomic<std::uint64_t> healed{0};  // names that a thread has taken after the faults
  // Faults of the library that a single process can see by itself.
  std::atomic<std::uint64_t> lost_early{0};          // before its deadline
  std::atomic<std::uint64_t> refused_while_held{0};  // the resource knew a larger token
  std::atomic<std::uint64_t> surprises{0};           // answers that no situation explains
  // How many holds each client process has now.
  std::array<std::atomic<std::uint32_t>, most_client_processes> holding{};
};

// Made by the test, before the first client; forked clients go on with it.
struct Stage {
  Stage(const contract::BackendUnderTest& under_test, const Workload& what, StoryTime& when,
        std::uint64_t with_seed, std::chrono::milliseconds length);

  // The side of one client, wrapped as the workload says.
  [[nodiscard]] std::unique_ptr<Backend> backend() const;
  // Whether the store can do that.
  [[nodiscard]] bool has(contract::Hook hook) const { return hooks.contains(hook); }
  [[nodiscard]] bool plays_on() const { return tally->phase.load() == Act::faults; }

  const Workload workload;
  StoryTime& time;
  const std::uint64_t seed;
  const std::chrono::milliseconds short_lease;
  const std::set<contract::Hook> hooks;
  const std::vector<std::string> names;
  const TemporaryDirectory directory;
  const std::unique_ptr<contract::Store> store;
  const StoreCapabilities capabilities;
  HistoryFile history;
  ResourceProcess resource;
  contract::Shared<Tally> tally;
};

}  // namespace mortise::model
