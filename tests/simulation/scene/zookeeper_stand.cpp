// SPDX-License-Identifier: MIT
// A ZooKeeper server, or an ensemble of three or five.
#include <mortise/zookeeper.hpp>

#include "simulation/scene/bounds.hpp"
#include "simulation/scene/gate.hpp"
#include "simulation/scene/keys.hpp"
#include "simulation/scene/stands.hpp"
#include "simulation/scene/zookeeper_administrators.hpp"
#include "simulation/scene/zookeeper_leaders.hpp"
#include "simulation/scene/zookeeper_runs.hpp"
#include "simulation/scene/zookeeper_trials.hpp"
#include "simulation/zookeeper/ensemble.hpp"
#include "zookeeper/lock_path.hpp"
#include "zookeeper/queue.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace simulation {
namespace {

constexpr std::uint64_t stand_stream = 21;

class ZooKeeperStand final : public Stand {
 public:
  ZooKeeperStand(const Plan& plan, Room& room)
      : room_(room),
        session_(plan.lease),
        storm_(plan.storm),
        names_(plan.names),
        has_keys_(plan.keys > 0),
        wire_(room.network),
        administrators_(room, wire_) {
    Random luck = Random::of({plan.seed, stand_stream});
    const std::size_t count = plan.seed % 8 == 0 ? 1 : plan.seed % 8 == 1 ? 5 : 3;
    std::vector<Site*> sites;
    for (std::size_t i = 0; i < count; ++i) {
      sites.push_back(&room.network.host("zookeeper " + std::to_string(i + 1)));
    }
    // A session has 2 to 20 of them. The longer one is, the more a follower keeps to itself.
    options_.tick = luck.chance(0.5) ? luck.between(session_ / 3, session_ / 2)
                                     : luck.spread(session_ / 20, session_ / 2);
    knows_one_ = luck.chance(0.25);
    ensemble_ = std::make_unique<zookeeper::Ensemble>(sites, options_);
    runs_.emplace(*ensemble_, plan.keys);
    for (std::size_t i = 0; i < count; ++i) {
      doors_.push_back(std::make_unique<ZooKeeperDoor>(ensemble_->server(i), wire_));
      room.network.hosts()[i]->serve(*doors_.back());
    }
    if (has_keys_) leaders_.emplace(room_, *ensemble_);
    administrators_.removes = [this](const std::string& path) { removed_by_force(path); };
    administrators_.ensemble = ensemble_.get();
    trials_.emplace(room_, *ensemble_, wire_, plan, url_of(0), terms());
  }
  [[nodiscard]] std::unique_ptr<mortise::Backend> backend(std::size_t client) override {
    return mortise::zookeeper::backend(url_of(client) + terms());
  }
  std::string special(std::uint64_t which, Random& random, Nanos length) override {
    // Long enough for sessions to end, as a rule: that is what such a cut is about.
    const Nanos time = random.chance(0.5) ? length : std::max(length, session_ * 2);
    const std::size_t any = random.below(ensemble_->size());
    switch (which) {
      case 0: return cut_off(any, time, "");
      case 1: return cut_off(ensemble_->leader().value_or(any), time, ", and leads");
      case 2: {
        const std::size_t other = (any + 1) % ensemble_->size();
        ensemble_->cut_link(any, other, true);
        room_.world.after(time, [this, any, other] { ensemble_->cut_link(any, other, false); });
        return name_of(any) + " and the next one are cut off from each other";
      }
      case 3:
        ensemble_->throttle(any, true);
        room_.world.after(length, [this, any] { ensemble_->throttle(any, false); });
        return name_of(any) + " has too many requests";
      case 4:
      case 5:
        if (has_keys_ && random.chance(0.5)) return take_a_key_by_force(which == 4);
        return take_by_force(which == 4);
      case 6:
      case 11: return remove_a_waiter(random);
      case 7:
      case 12: return stop_the_next(random);
      case 8:
      case 9: return unheard(random, time);
      case 10: return cut_off_with_a_holder(session_ * 2);
      case 13:
      case 14:
        // Back before it gives up: what it was asked for and could not commit comes then.
        return cut_off(ensemble_->leader().value_or(any),
                       random.between(session_ / 3, std::max(session_ / 3, options_.tick * 4)),
                       ", and leads, for a while");
      case 15:
      case 16: return cut_off_before_a_ping(random, session_ * 2);
      case 17:
      case 18:
        return cut_off_and_left(
            random, random.between(session_ / 3, std::max(session_ / 3, options_.tick * 4)));
      default:
        administrators_.judge = judge;
        return administrators_.take(url_of(any), names_, random);
    }
  }
  void calm() override {
    for (std::size_t i = 0; i < ensemble_->size(); ++i) {
      ensemble_->cut(i, false);
      ensemble_->throttle(i, false);
      ensemble_->cut_link(i, (i + 1) % ensemble_->size(), false);
    }
  }
  [[nodiscard]] Nanos longest_hold_of_the_dead(const Plan& /*plan*/) const override {
    // An election, after which a new leader gives every session its whole time again.
    return session_ * 2 + options_.tick * 16;
  }
  // The node of a try goes behind its answer; and who reads at another server sees that, and the
  // end of a hold, as soon as that server does.
  [[nodiscard]] Nanos rest_of_a_try() const override { return std::chrono::milliseconds(100); }
  [[nodiscard]] Nanos rest_of_a_release() const override { return rest_of_a_try(); }
  [[nodiscard]] Told told_at() const override {
    // Nine parts of ten are good; a third on it is asked for, and a quarter is waited for that.
    return {.asked = session_ * 60 / 100,
            .told = session_ * 30 / 100 - std::chrono::milliseconds(20)};
  }
  [[nodiscard]] std::uint64_t work() const override { return requests(); }
  [[nodiscard]] std::uint64_t requests() const override {
    std::uint64_t all = 0;
    for (const auto& host : room_.network.hosts()) all += host->requests;
    return all;
  }
  void last_trial() override { trials_->come(*judge); }
  [[nodiscard]] bool reads_on_by_one_token() const override { return true; }
  [[nodiscard]] bool remembers() const override { return true; }
  [[nodiscard]] Nanos seen_from(Nanos asked) const override {
    return leaders_->seen_from(asked) - rest_of_a_try();
  }
  [[nodiscard]] std::size_t open_sessions() const override { return ensemble_->sessions(); }
  [[nodiscard]] std::string leftovers(const std::vector<std::string>& names) override {
    std::vector<std::string> queues{queue_of(name_of_gate), "/locks/%permits/gate/locks"};
    for (const std::string& name : names) {
      queues.push_back(mortise::zookeeper::lock_path("/locks", name));
    }
    for (const std::string& queue : queues) {
      const std::size_t left = ensemble_->children(queue);
      if (left > 0) return queue + " has " + std::to_string(left) + " nodes";
    }
    return runs_->leftovers();
  }

 private:
  [[nodiscard]] std::string url_of(std::size_t client) const {
    std::string url = "zookeeper://";
    const std::size_t count = ensemble_->size();
    for (std::size_t i = 0; i < (knows_one_ ? 1 : count); ++i) {
      url += (i == 0 ? "10.0.0." : ",10.0.0.") + std::to_string((i + client) % count + 1);
    }
    return url + "/locks";
  }
  [[nodiscard]] std::string terms() const {
    const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(session_).count();
    // A follower tells the leader of its sessions each half tick, and the page wants no less.
    const auto margin =
        std::chrono::duration_cast<std::chrono::milliseconds>(options_.tick).count() / 2 + 1;
    return "?session=" + std::to_string(ms) + "ms&margin=" + std::to_string(margin) + "ms";
  }
  /// All is over when the storm is.
  [[nodiscard]] Nanos ends(Nanos time) const { return std::min(room_.world.now() + time, storm_); }
  static std::string name_of(std::size_t server) {
    return "zookeeper " + std::to_string(server + 1);
  }
  static std::string queue_of(std::size_t name) {
    if (name == name_of_gate) return "/locks/%permits/gate/leases";
    return mortise::zookeeper::lock_path("/locks", "name/" + std::to_string(name));
  }
  std::string cut_off(std::size_t which, Nanos time, const std::string& words) {
    ensemble_->cut(which, true);
    room_.world.after(time, [this, which] { ensemble_->cut(which, false); });
    return name_of(which) + " is cut off from the others" + words;
  }
  /// The leader can commit nothing for a while, and its clients turn to somebody: what they asked
  /// it for comes when it is back.
  std::string cut_off_and_left(Random& random, Nanos time) {
    const auto leads = ensemble_->leader();
    if (!leads) return "nobody is there to be cut off";
    for (const auto& [id, connection] : room_.network.connections()) {
      if (!connection->held() || connection->host().number() != *leads) continue;
      room_.world.after(random.between(Nanos(0), time), [this, id = id] {
        if (Connection* const left = room_.network.find(id)) left->cut(true);
      });
    }
    return cut_off(*leads, time, ", and leads, and its clients leave it");
  }
  /// @return the connection of a session's client
  [[nodiscard]] Connection* connection_of(std::int64_t session) {
    const auto id = ensemble_->connection_of(session);
    return id ? room_.network.find(*id) : nullptr;
  }
  /// A holder and its server are on the wrong side: it reaches nobody else.
  std::string cut_off_with_a_holder(Nanos time) {
    const Nanos until = ends(time);
    for (std::size_t name = 0; name < names_; ++name) {
      const auto holder = ensemble_->who_holds(queue_of(name));
      Connection* const connection = holder ? connection_of(holder->session) : nullptr;
      if (connection == nullptr) continue;
      const Process& process = connection->process();
      for (const auto& host : room_.network.hosts()) {
        if (host.get() != &connection->host()) room_.network.part(process, *host, until);
      }
      keep(process, until);
      return cut_off(connection->host().number(), time, " with " + process.name());
    }
    return "nobody is there to be cut off with its server";
  }
  /// The same when the server has kept most to itself: just before it would tell its leader.
  std::string cut_off_before_a_ping(Random& random, Nanos time) {
    const auto leads = ensemble_->leader();
    if (!leads) return cut_off_with_a_holder(time);
    const Nanos early = random.between(Nanos(0), options_.tick / 20);
    const Nanos left = ensemble_->peer(*leads).until_ping() - early;
    room_.world.after(std::max(left, Nanos(0)), [this, time] {
      if (room_.world.now() < storm_) room_.world.note("world", cut_off_with_a_holder(time));
    });
    return "a holder's server is about to be cut off";
  }
  /// What a client sends does not arrive; what the servers tell it does.
  std::string unheard(Random& random, Nanos time) {
    std::vector<Connection*> held;
    for (const auto& [id, connection] : room_.network.connections()) {
      if (connection->held()) held.push_back(connection.get());
    }
    if (held.empty()) return "nobody is connected";
    const Process& process = held[random.below(held.size())]->process();
    const Nanos until = ends(time);
    for (const auto& host : room_.network.hosts()) {
      room_.network.part(process, *host, until, Connection::Way::up);
    }
    keep(process, until);
    return process.name() + " is not heard by any server";
  }
  /// Who waits next stands still until its session is all but over, and goes on.
  std::string stop_the_next(Random& random) {
    for (std::size_t name = 0; name < names_; ++name) {
      const auto queue = ensemble_->queue(queue_of(name));
      Connection* const connection = queue.size() < 2 ? nullptr : connection_of(queue[1].session);
      if (connection == nullptr) continue;
      room_.world.pause(connection->process(), ends(random.between(session_ / 2, session_)));
      return connection->process().name() + " waits for name " + std::to_string(name) +
             ", and is stopped";
    }
    return "nobody is there to be stopped";
  }
  /// Its node is about to go; or not, where the leader can commit nothing.
  void take(std::size_t name, const zookeeper::Holder& whose) {
    auto grant = static_cast<std::uint64_t>(whose.czxid);
    // Of a reader that was the owner, and has the number of that.
    const std::string_view mark = mortise::zookeeper::mark_in(whose.node);
    static_cast<void>(std::from_chars(mark.data(), mark.data() + mark.size(), grant, 16));
    const bool shared = ZooKeeperAdministrators::is_readers(whose.node);
    taken(name, grant, shared, never);
    await_the_end(name, grant, shared, queue_of(name) + "/" + whose.node);
  }
  void await_the_end(std::size_t name, std::uint64_t grant, bool shared, const std::string& path) {
    if (ensemble_->committed().find(path) == nullptr) {
      // At once, if its owner can be reached; otherwise nothing renews it.
      taken(name, grant, shared, session_ + session_ / 2);
    } else if (room_.world.now() < storm_) {
      room_.world.after(session_ / 20, [=, this] { await_the_end(name, grant, shared, path); });
    }
  }
  void take(const ZooKeeperRuns::Run& run) {
    const std::size_t name = Keys::first_name + run.key;
    taken(name, run.grant, false, never);
    await_the_end(name, run.grant, false, run.node);
  }
  /// An administrator ends the session of whoever runs a key, or deletes its node.
  std::string take_a_key_by_force(bool session) {
    const std::optional<ZooKeeperRuns::Run> run = runs_->any();
    if (!run) return "no run is there to be taken by force";
    const std::string key = "key " + std::to_string(run->key);
    if (session) return end_session_of(run->session, key);
    if (!ensemble_->remove(run->node)) return "nobody is there to take a run by force";
    take(*run);
    return "the run of " + key + " is taken by force, its node is deleted";
  }
  /// An administrator's client is about to remove a node.
  void removed_by_force(const std::string& path) {
    const zookeeper::Node* const node = ensemble_->committed().find(path);
    for (std::size_t name = 0; node != nullptr && name < names_; ++name) {
      const std::string queue = queue_of(name) + "/";
      if (!path.starts_with(queue)) continue;
      take(name, {.node = path.substr(queue.size()),
                  .session = node->stat.owner,
                  .czxid = node->stat.czxid});
    }
  }
  /// An administrator deletes the node of somebody who waits.
  std::string remove_a_waiter(Random& random) {
    for (std::size_t name = 0; name < names_; ++name) {
      const auto queue = ensemble_->queue(queue_of(name));
      if (queue.size() < 2) continue;
      const zookeeper::Holder& victim = queue[1 + random.below(queue.size() - 1)];
      // Its turn may come before this does.
      take(name, victim);
      if (!ensemble_->remove(queue_of(name) + "/" + victim.node)) break;
      return "a waiter's node of name " + std::to_string(name) + " is deleted";
    }
    return "nobody is there to lose its turn";
  }
  /// An administrator ends the session of a holder, or deletes its node.
  std::string take_by_force(bool session) {
    for (std::size_t name = 0; name < names_; ++name) {
      const auto holder = ensemble_->who_holds(queue_of(name));
      if (!holder) continue;
      if (session) return end_session_of(holder->session, "name " + std::to_string(name));
      learns(holder->session);
      if (!ensemble_->remove(queue_of(name) + "/" + holder->node)) break;
      take(name, *holder);
      return "the hold of name " + std::to_string(name) + " is taken by force, its node is deleted";
    }
    return "nothing is there to be taken by force";
  }
  /// Whoever lets go soon learns nothing.
  void learns(std::int64_t session) {
    if (const Connection* const connection = connection_of(session)) {
      keep(connection->process(), room_.world.now() + session_ * 2);
    }
  }
  /// All goes that it holds, or has its turn for before its server hears of this.
  std::string end_session_of(std::int64_t session, const std::string& whose) {
    std::map<std::size_t, std::vector<zookeeper::Holder>> before;
    for (std::size_t i = 0; i <= names_; ++i) {
      const std::size_t name = i < names_ ? i : name_of_gate;
      before[name] = ensemble_->queue(queue_of(name));
      // Also what comes before the end does, with the answer still on its way.
      const auto coming = ensemble_->coming(queue_of(name));
      before[name].insert(before[name].end(), coming.begin(), coming.end());
    }
    learns(session);
    if (!ensemble_->leader()) return "nobody is there to end a session";
    const std::vector<ZooKeeperRuns::Run> runs = runs_->of(session);
    ensemble_->end_session(session);
    for (const ZooKeeperRuns::Run& run : runs) take(run);
    for (const auto& [name, holders] : before) {
      for (const zookeeper::Holder& each : holders) {
        if (each.session == session) take(name, each);
      }
    }
    return "the hold of " + whose + " is taken by force, with its session";
  }

  Room& room_;
  const Nanos session_;
  const Nanos storm_;
  const std::size_t names_;
  const bool has_keys_;
  bool knows_one_ = false;  // each client: it comes back to the same server
  zookeeper::Options options_;
  std::unique_ptr<zookeeper::Ensemble> ensemble_;
  std::optional<ZooKeeperRuns> runs_;
  std::optional<ZooKeeperLeaders> leaders_;
  ZooKeeperWire wire_;
  ZooKeeperAdministrators administrators_;
  std::vector<std::unique_ptr<ZooKeeperDoor>> doors_;
  std::optional<ZooKeeperTrials> trials_;
};

}  // namespace

std::unique_ptr<Stand> make_zookeeper_stand(const Plan& plan, Room& room) {
  return std::make_unique<ZooKeeperStand>(plan, room);
}

}  // namespace simulation
