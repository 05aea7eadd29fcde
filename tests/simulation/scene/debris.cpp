// SPDX-License-Identifier: MIT
// What trouble must not leave behind: haste while it lasts, debris when it is long over.
#include "simulation/scene/scene.hpp"

#include <numeric>
#include <thread>

namespace simulation {
namespace {

// Longer than anything is remembered: late copies, silent waiters, tickets.
constexpr Nanos long_over = 320s;

// What may be asked in a second, whatever happens: each waiter asks once, connections greet.
constexpr std::uint64_t idle_requests = 300;
// A connection that a fault has broken is made anew: its name, three questions, a subscription. A
// quorum's clients can lose a hundred of them in a second.
constexpr std::uint64_t requests_of_a_greeting = 5;
// What one call may cost, with its renewals, its copies and its cancellation.
constexpr std::uint64_t requests_of_a_call = 20;

// At every third of a lease, and once more for each that a hold has outlived.
constexpr int requests_of_a_renewal = 6;
constexpr int requests_of_a_look = 2;

constexpr std::size_t seconds_to_look_back = 20;

constexpr int passers_by = 60;
// Behind Redis' storms, which are longer, there is more to clear away.
constexpr int most_passers_by = 300;
constexpr int probes = 4;

}  // namespace

void Scene::look_every_second() {
  room_.world.after(1s, [this] {
    if (closing_) return;
    const std::uint64_t requests = stand_->requests() - requests_before_;
    // What a server is owed from calls of a while ago comes when it can be reached again.
    const std::uint64_t calls = operations_ + judge_.grants() + judge_.calls_beside();
    recent_operations_.push_back(calls - operations_before_);
    if (recent_operations_.size() > seconds_to_look_back) recent_operations_.pop_front();
    const std::uint64_t operations =
        std::accumulate(recent_operations_.begin(), recent_operations_.end(), std::uint64_t{0});
    const auto renewals = static_cast<std::uint64_t>(requests_of_a_renewal * 1s / plan_.lease) *
                          plan_.names * room_.network.hosts().size();
    // Of Redlock nobody queues: at each end of a lease all who wait ask each server, and take back.
    const auto looks = plan_.kind != Kind::redlock
                           ? 0
                           : static_cast<std::uint64_t>(requests_of_a_look * 1s / plan_.lease) *
                                 plan_.clients * plan_.threads * room_.network.hosts().size();
    const std::uint64_t greetings = room_.network.cuts - cuts_before_;
    if (requests > idle_requests + renewals + looks + operations * requests_of_a_call +
                       greetings * requests_of_a_greeting) {
      judge_.blame("haste", std::to_string(requests) + " requests in a second, for " +
                                std::to_string(operations) + " calls");
    }
    requests_before_ += requests;
    operations_before_ = calls;
    cuts_before_ = room_.network.cuts;
    const Nanos quiet = std::max(Nanos(0), room_.world.now() - troubled_until_);
    if (const std::optional<Verdict> verdict = stand_->look(judge_, quiet)) {
      judge_.blame(verdict->promise, verdict->words);
    }
    const std::string complaint = stand_->complaint(parties_.size());
    if (!complaint.empty()) judge_.blame("limit", complaint);
    look_every_second();
  });
}

// The ten-thousandth operation after trouble costs what the first one did on a fresh store.
void Scene::look_for_debris() {
  World& world = room_.world;
  world.run(world.now() + long_over);
  std::vector<std::string> used;
  for (std::size_t i = 0; i < plan_.names; ++i) used.push_back("name/" + std::to_string(i));
  std::vector<std::string> fresh;
  for (std::size_t i = 0; i < plan_.names; ++i) fresh.push_back("fresh/" + std::to_string(i));
  std::uint64_t cost_of_used = 0;
  std::uint64_t cost_of_fresh = 0;
  bool done = false;
  Process& process = world.process("probe");
  process.schedule = usual_;
  world.spawn(process, [&, this] {
    mortise::Client client(stand_->backend(plan_.clients));
    const auto cost = [&](const std::string& name) {
      mortise::Lock lock = client.make_lock(name, {.label = "probe"});
      // What has had its time is cleared away by those who come by, a few at a time.
      const int most = plan_.kind == Kind::redis ? most_passers_by : passers_by;
      const auto all_is_cleared = [&] { return stand_->leftovers({name}).empty(); };
      for (int i = 0; i < passers_by || (i < most && !all_is_cleared()); ++i) {
        ++operations_;
        lock.lock();
        lock.unlock();
      }
      const std::uint64_t before = stand_->work();
      for (int i = 0; i < probes; ++i) {
        ++operations_;
        lock.lock();
        lock.unlock();
      }
      return stand_->work() - before;
    };
    try {
      cost("first/0");  // connects, and has the scripts loaded
      for (const std::string& name : fresh) cost_of_fresh += cost(name);
      for (const std::string& name : used) cost_of_used += cost(name);
      // S9: whoever closes its client leaves no hold behind.
      mortise::Lock left = client.make_lock("left/0");
      left.lock();
      client.close();
      mortise::Client other(stand_->backend(plan_.clients));
      std::error_code error;
      if (!other.make_lock("left/0").acquire({.wait = std::chrono::seconds(3)}, error)) {
        judge_.blame("S9", "a client that was closed still holds: " + error.message());
      }
    } catch (const std::exception& error) {
      judge_.blame("L7", std::string("long after the storm: ") + error.what());
    }
    done = true;
  });
  for (int i = 0; i < 300 && !done && !judge_.verdict(); ++i) world.run(world.now() + 100ms);
  if (judge_.verdict()) return;
  if (!done) {
    judge_.blame("L7", "long after the storm a free name is not to be had");
    return;
  }
  if (cost_of_used * 2 > cost_of_fresh * 3 + 60) {
    judge_.blame("debris", "a name that has seen trouble costs " + std::to_string(cost_of_used) +
                               ", a fresh one " + std::to_string(cost_of_fresh) + "; " +
                               stand_->leftovers(used));
    return;
  }
  const std::string left = stand_->leftovers(used);
  if (!left.empty()) judge_.blame("debris", left);
}

}  // namespace simulation
