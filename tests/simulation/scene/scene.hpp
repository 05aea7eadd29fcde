// SPDX-License-Identifier: MIT
// One run: clients that lock and unlock as the plan says, the faults that befall them, and then a
// calm in which everything has to work again.
#pragma once

#include <mortise/client.hpp>
#include <mortise/observer.hpp>

#include "simulation/scene/calls.hpp"
#include "simulation/scene/judge.hpp"
#include "simulation/scene/keys.hpp"
#include "simulation/scene/listener.hpp"
#include "simulation/scene/over_run.hpp"
#include "simulation/scene/plan.hpp"
#include "simulation/scene/stand.hpp"
#include "simulation/world/room.hpp"

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
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
  std::array<OverRun, Fault::kinds> over_runs{};  ///< of the timed calls that such a fault met
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
    std::shared_ptr<Listener> listener;
    std::size_t working = 0;
    bool closes_at_a_loss = false;
    bool closing = false;   ///< its client is being closed, or was
    bool shut = false;      ///< close() has returned
    bool replaced = false;  ///< and another process has taken its place
    bool closed = false;
  };
  void begin_party(std::size_t index);
  void step_clocks();
  struct Asked {
    Nanos at{};
    bool alone = true;  ///< nobody may stop it
    Calls::Call& call;
    bool reads = false;
  };
  void begin_stranger(std::size_t index);
  void live(Party& party);
  void work(Party& party, std::size_t thread);
  void operate(Party& party, Random& random, bool calm);
  /// The same with keys that are run once.
  [[nodiscard]] bool has_keys() const { return plan_.keys > 0 && stand_->remembers(); }
  void work_with_keys(Party& party, std::size_t thread);
  void operate_key(Party& party, Random& random, bool calm);
  void run_key(Party& party, const Keys::Call& call, mortise::Run& run, Random& random);
  void look_at_key(Keys::Call& call, mortise::Once& once);
  void forget_key(const Keys::Call& call, mortise::Once& once);
  /// The same with permits of a semaphore.
  void work_with_permits(Party& party, std::size_t thread);
  void take_permit(Party& party, Random& random, bool calm);
  void hold_permit(const Process& process, mortise::Permit& permit, Nanos asked, Random& random);
  /// Asks whether the server is there, for a bounded time.
  void ask(Party& party, Random& random);
  void hold(Party& party, std::size_t name, mortise::Lock& lock, Random& random, bool calm,
            Asked asked);
  void let_go_after_close(const Party& party, std::size_t name, Judge::HoldNumber number,
                          mortise::Lock& lock);
  void keep(const Process& process, mortise::Lock& lock, mortise::Owner owner, std::size_t name,
            Judge::HoldNumber number, Nanos time);
  void befall(const Fault& fault);
  void count_over_run(Nanos began, Nanos time);
  void close_in_between(Party& party, std::uint64_t which);
  void close_at_a_loss(Party& party);
  void close(Party& party);
  void replace(Party& party);
  void look_at_end(const Process& process);
  void befall_connection(const Fault& fault);
  void befall_client(const Fault& fault);
  void stand_still(Process& process, Nanos until);
  void befall_server(const Fault& fault);
  void calm_down();
  /// Nothing of the storm is left.
  [[nodiscard]] bool fair() const noexcept { return fair_ && room_.world.now() >= clear_from_; }
  [[nodiscard]] bool all_done() const;
  [[nodiscard]] bool run_until_done(Nanos limit);
  struct Request {
    Nanos at{};
    Nanos wait{};
    bool unstopped = true;  ///< nobody may stop it
    bool calm = false;
    bool had_time = false;  ///< in fair weather
  };
  /// Its caller has not got the lock.
  void refused(const Party& party, std::size_t name, const Request& request,
               const std::error_code& error, const std::string& text, Calls::Call& call);
  /// Nobody waited: whether it was told that a name is held which was free.
  void look_at_refusal(const Process& process, std::size_t name, const Calls::Call& call);
  /// @return whether nothing has befallen anybody for as long as anything of it may last
  [[nodiscard]] bool untroubled() const;
  void look_every_second();
  void look_for_debris();
  void have_a_holder_die();
  void look_at_renewal();
  /// S1, at the server: whoever believes that it holds is the one that the server means, for as
  /// long.
  void look_at_truth(const Process& process, std::size_t name, mortise::Lock& lock,
                     mortise::Owner owner);
  /// What a release of a hold that stood may say.
  /// @param left until the deadline, when it was called
  /// @param took the time since, also where the thread was stopped
  void look_at_release(const Process& process, std::size_t name, mortise::Token token, Nanos left,
                       Nanos took, mortise::Released said);
  [[nodiscard]] std::shared_ptr<mortise::Observer> watch_losses(const Process& process);
  void sit_on(const Party& party, std::size_t name, Judge::HoldNumber number,
              const mortise::Lock& lock, mortise::Owner owner);
  void await_the_loss(const Process& process, const std::stop_token& lost);
  void tell(const std::string& who, const std::string& words) { room_.world.note(who, words); }

  const Plan plan_;
  Room room_;
  Judge judge_;
  Keys keys_;
  Calls calls_;
  std::unique_ptr<Stand> stand_;
  std::vector<std::unique_ptr<Party>> parties_;  // the last of each index is the living one
  std::vector<std::vector<std::size_t>> left_;   // operations that a client's threads have to do
  std::vector<std::size_t> calm_left_;
  Random luck_;
  Schedule usual_;
  std::array<Nanos, Fault::kinds> befallen_{};  // until when there is a fault of each kind
  bool calm_ = false;
  const bool fair_ = plan_.kind != Kind::postgres;  // its stand goes on to disturb
  Nanos clear_from_ = never;                        // what is left over has ended
  Nanos troubled_until_{0};  // until then something that befell somebody has its effect
  bool closing_ = false;
  std::size_t working_ = 0;                               // threads of clients
  std::map<std::size_t, std::uint64_t> redissons_locks_;  // by name
  std::uint64_t operations_ = 0;
  std::uint64_t operations_before_ = 0;
  std::uint64_t requests_before_ = 0;
  std::uint64_t cuts_before_ = 0;
  std::map<const Process*, Nanos> keeps_;        // until when it does not let go
  std::deque<std::uint64_t> recent_operations_;  // of the last seconds
  std::size_t births_ = 0;                       // clients that have yet to start theirs
  Outcome outcome_;
};

}  // namespace simulation
