// SPDX-License-Identifier: MIT
// The director draws one fault after the other from the seed. Each is over before the next begins,
// but for crashes, whose wake goes on, and for pauses, in which something else may happen.
#include "model/lock_history.hpp"

#include <algorithm>
#include <cstdlib>
#include <sstream>
#include <stop_token>
#include <thread>
#include <utility>

namespace mortise::model {

namespace {

using namespace std::chrono_literals;
using contract::Hook;

constexpr std::chrono::seconds patience_with_nobody{5};
// A run without enough grants takes this many times its length at most.
constexpr int longest_run = 5;

// Makes the time of a run by hand pass.
class Ticker {
 public:
  explicit Ticker(StoryTime& time) {
    if (time.clock()) {
      thread_ = std::jthread([clock = time.clock()](const std::stop_token& stop) {
        while (!stop.stop_requested()) {
          clock->advance(3ms);
          std::this_thread::sleep_for(50us);
        }
      });
    }
  }

 private:
  std::jthread thread_;
};

class Director {
 public:
  Director(Stage& stage, const HistoryBackend& backend, Cast& cast, Chronicle& chronicle)
      : stage_(stage), backend_(backend), cast_(cast), chronicle_(chronicle), dice_(stage.seed) {}

  void choose(const Adversity& adversity) {
    const bool leases = stage_.capabilities.leases == Support::yes;
    const bool remembers = stage_.capabilities.survives_restart == Support::yes;
    // A killed holder is not told that the server has forgotten its lease.
    add("killed",
        adversity.crashes && (leases ? !adversity.forgetting : stage_.has(Hook::processes)),
        [this] { crash(); });
    add("stopped", adversity.pauses && stage_.has(Hook::processes), [this] { pause(); });
    of_clients_ = faults_.size();
    add("unreachable", adversity.messages && stage_.has(Hook::unreachable), [this] { cut_off(); });
    add("messages lost or late",
        adversity.messages && (stage_.has(Hook::delays) || stage_.has(Hook::lost_messages)),
        [this] { misbehave(); });
    add("restarted",
        (adversity.forgetting || (remembers && adversity.messages)) && stage_.has(Hook::restart),
        [this] { restart(); });
    add("taken away", adversity.forgetting && stage_.has(Hook::take_away), [this] { take_away(); });
    if (adversity.disturbances) add_disturbances();
  }

  void direct(std::chrono::milliseconds length, std::uint64_t enough) {
    const std::int64_t began = monotonic_ns();
    const std::int64_t until = began + std::chrono::nanoseconds(length).count();
    const std::int64_t latest = began + std::chrono::nanoseconds(length * longest_run).count();
    const auto goes_on = [&] {
      const std::int64_t now = monotonic_ns();
      return now < until || (now < latest && stage_.tally->grants.load() < enough);
    };
    while (goes_on()) {
      stage_.time.sleep(dice_.between(20ms, 120ms));
      if (!faults_.empty()) bring_about(draw());
    }
    heal();
  }

 private:
  struct Fault {
    std::string name;
    std::function<void()> happens;
  };

  // Each kind once, in the order of the list; the rest by chance. Where there are many kinds, those
  // of clients come in between more often than others.
  const Fault& draw() {
    const bool many = faults_.size() > 3 * of_clients_;
    const bool of_client = many && of_clients_ > 0 && next_ > of_clients_ && dice_.chance(0.3);
    if (next_ < faults_.size() && !of_client) return faults_[next_++];
    return faults_[dice_.below(static_cast<std::uint32_t>(of_client ? of_clients_ : next_))];
  }

  void bring_about(const Fault& fault) {
    fault.happens();
    ++chronicle_.faults[fault.name];
  }

  void add(const std::string& name, bool possible, std::function<void()> happens) {
    if (possible) faults_.push_back({.name = name, .happens = std::move(happens)});
  }

  // In an order of chance, since a short run does not come to the last ones.
  void add_disturbances() {
    std::vector<Disturbance> left = backend_.disturbances;
    while (!left.empty()) {
      std::swap(left[dice_.below(static_cast<std::uint32_t>(left.size()))], left.back());
      add(left.back().name, true, [this, bring_about = left.back().bring_about] {
        bring_about(stage_, dice_);
        ++chronicle_.troubles;
      });
      left.pop_back();
    }
  }

  const Fault& any_of_server() {
    const auto count = static_cast<std::uint32_t>(faults_.size() - of_clients_);
    return faults_[of_clients_ + dice_.below(count)];
  }

  std::uint32_t any_role() { return dice_.below(stage_.workload.processes); }

  void crash() {
    cast_.crash(any_role(), dice_);
    ++chronicle_.crashes;
  }

  // Without leases a stopped holder keeps the name, and the others wait.
  void pause() {
    const bool leases = stage_.capabilities.leases == Support::yes;
    const auto lease = stage_.capabilities.effective_lease.value_or(stage_.workload.lock.lease);
    const std::chrono::nanoseconds time =
        leases ? dice_.between(lease, lease * 2) : dice_.between(20ms, 200ms);
    const bool alone = of_clients_ == faults_.size() || dice_.chance(0.6);
    const auto meanwhile = [&] {
      if (!alone) bring_about(any_of_server());
      stage_.time.sleep(time);
      ++chronicle_.pauses;
    };
    // Nobody holds anything while a server begins.
    const auto until = std::chrono::steady_clock::now() + patience_with_nobody;
    while (std::chrono::steady_clock::now() < until) {
      if (cast_.pause_holder(any_role(), meanwhile)) return;
    }
  }

  void cut_off() {
    stage_.store->set_reachable(false);
    // Some outages end inside the leases, some do not.
    stage_.time.sleep(dice_.between(10ms, stage_.short_lease * 3 / 2));
    stage_.store->set_reachable(true);
    ++chronicle_.troubles;
  }

  void misbehave() {
    contract::Misbehaviour how;
    how.seed = dice_.number();
    if (stage_.has(Hook::delays)) {
      how.delay_max = dice_.between(0ns, dice_.chance(0.3) ? stage_.short_lease : 10ms);
    }
    if (stage_.has(Hook::lost_messages)) {
      how.lose_request = dice_.chance(0.5) ? 0.05 : 0;
      how.lose_reply = dice_.chance(0.5) ? 0.05 : 0;
    }
    if (stage_.has(Hook::lost_pushes)) how.lose_push = dice_.chance(0.5) ? 0.1 : 0;
    stage_.store->misbehave(how);
    stage_.time.sleep(dice_.between(50ms, 300ms));
    stage_.store->misbehave({});
    ++chronicle_.troubles;
  }

  void restart() {
    stage_.store->restart();
    ++chronicle_.troubles;
  }

  void take_away() {
    stage_.store->take_away(stage_.names[dice_.below(stage_.workload.names)]);
    ++chronicle_.troubles;
  }

  void heal() const { stage_.tally->phase.store(Act::healed); }

  Stage& stage_;
  const HistoryBackend& backend_;
  Cast& cast_;
  Chronicle& chronicle_;
  Dice dice_;
  std::vector<Fault> faults_;
  std::size_t of_clients_ = 0;  // the first of them happen to clients
  std::size_t next_ = 0;        // of those that have not happened yet
};

std::string figures_of(const Stage& stage, const Chronicle& chronicle) {
  const contract::Shared<Tally>& tally = stage.tally;
  std::ostringstream text;
  text << chronicle.report.text() << "\n  " << chronicle.crashes << " crashes, " << chronicle.pauses
       << " pauses, " << chronicle.troubles << " troubles of the server (";
  for (const auto& [name, count] : chronicle.faults) text << ' ' << name << ' ' << count;
  text << " ); " << tally->timed_out << " timed out, " << tally->cancelled << " cancelled, "
       << tally->unavailable << " unavailable, " << tally->reentries << " re-entries, "
       << tally->oversleeps << " overslept; healed " << tally->healed << " of "
       << chronicle.to_be_healed;
  return text.str();
}

}  // namespace

Chronicle play(Stage& stage, const HistoryBackend& backend, const Adversity& adversity,
               std::chrono::milliseconds length, std::uint64_t enough) {
  Chronicle chronicle;
  chronicle.to_be_healed = std::uint64_t{stage.workload.processes} * stage.workload.threads *
                           (stage.workload.player ? 1 : stage.workload.names);
  {
    const Ticker ticker(stage.time);
    std::unique_ptr<Cast> cast;
    // A store that follows the test's clock is played in the test's own process.
    if (stage.has(Hook::processes) && !stage.time.clock()) {
      cast = std::make_unique<ForkedCast>(stage);
    } else {
      cast = std::make_unique<ThreadCast>(stage);
    }
    cast->begin();
    Director director(stage, backend, *cast, chronicle);
    director.choose(adversity);
    director.direct(length, enough);
    chronicle.cast_trouble = cast->end();
  }
  chronicle.report = check(stage.history, {.names = stage.names,
                                           .permits = stage.workload.permits,
                                           .loss_excuses = adversity.forgetting || adversity.robbed,
                                           .describe = 4});
  chronicle.writes = stage.resource.log();
  chronicle.resource = stage.resource.statistics();
  chronicle.grants = stage.tally->grants.load();
  chronicle.figures = figures_of(stage, chronicle);
  return chronicle;
}

std::chrono::seconds length_of_long_runs() {
  const char* given = std::getenv("MORTISE_HISTORY_SECONDS");
  const long seconds = given != nullptr ? std::strtol(given, nullptr, 10) : 60;
  return std::chrono::seconds(std::clamp(seconds, 1L, 300L));
}

}  // namespace mortise::model
