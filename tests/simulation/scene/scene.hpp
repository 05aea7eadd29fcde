// SPDX-License-Identifier: MIT
// One run: clients that lock and unlock as the plan says, the faults that befall them, and then a
// calm in which everything has to work again.
#pragma once

#include <mortise/client.hpp>

#include "simulation/scene/judge.hpp"
#include "simulation/scene/plan.hpp"
#include "simulation/scene/stand.hpp"
#include "simulation/world/room.hpp"

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace simulation {

/// What a run came to.
struct Outcome {
  std::optional<Verdict> verdict;
  std::uint64_t grants = 0;
  std::uint64_t events = 0;
  std::uint64_t requests = 0;  ///< that the servers worked on
  Nanos time{};                ///< of the world
  std::array<std::uint64_t, Fault::kinds> faults{};
  std::vector<std::string> story;
};

class Scene {
 public:
  explicit Scene(Plan plan, bool tells);
  ~Scene();
  Outcome run();

 private:
  /// One client of the run: a process with its `Client`.
  struct Party {
    Process* process = nullptr;
    std::size_t index = 0;
    std::unique_ptr<mortise::Client> client;
    std::size_t working = 0;
    bool closed = false;
  };
  void begin_party(std::size_t index);
  void step_clocks();
  /// When a call began, and what had been stolen from its process by then.
  struct Asked {
    Nanos at{};
    Nanos stolen{};
  };
  void begin_stranger(std::size_t index);
  void live(Party& party);
  void work(Party& party, std::size_t thread);
  void operate(Party& party, Random& random, bool calm);
  void hold(Party& party, std::size_t name, mortise::Lock& lock, Random& random, bool calm,
            Asked asked);
  void befall(const Fault& fault);
  void befall_connection(const Fault& fault);
  void befall_client(const Fault& fault);
  void befall_server(const Fault& fault);
  void calm_down();
  [[nodiscard]] bool all_done() const;
  [[nodiscard]] bool run_until_done(Nanos limit);
  void look_every_second();
  void look_for_debris();
  void await_the_loss(const Process& process, const std::stop_token& lost);
  void tell(const std::string& who, const std::string& words) { room_.world.note(who, words); }

  const Plan plan_;
  Room room_;
  Judge judge_;
  std::unique_ptr<Stand> stand_;
  std::vector<std::unique_ptr<Party>> parties_;  // the last of each index is the living one
  std::vector<std::vector<std::size_t>> left_;   // operations that a client's threads have to do
  std::vector<std::size_t> calm_left_;
  Random luck_;
  Schedule usual_;
  bool calm_ = false;
  bool closing_ = false;
  std::size_t working_ = 0;  // threads of clients
  std::uint64_t operations_ = 0;
  std::uint64_t operations_before_ = 0;
  std::uint64_t requests_before_ = 0;
  std::deque<std::uint64_t> recent_operations_;  // of the last seconds
  std::size_t births_ = 0;                       // clients that have yet to start theirs
  Outcome outcome_;
};

}  // namespace simulation
