// SPDX-License-Identifier: MIT
// One Redis server.
#include <mortise/redis.hpp>

#include "core/figures.hpp"
#include "redis/store/scripts.hpp"
#include "simulation/redis/redis_server.hpp"
#include "simulation/scene/ambush.hpp"
#include "simulation/scene/attempt_clients.hpp"
#include "simulation/scene/bounds.hpp"
#include "simulation/scene/gate.hpp"
#include "simulation/scene/orphaned_grants.hpp"
#include "simulation/scene/redis_administrators.hpp"
#include "simulation/scene/redis_hearing.hpp"
#include "simulation/scene/redis_judges.hpp"
#include "simulation/scene/redis_key.hpp"
#include "simulation/scene/redis_leftovers.hpp"
#include "simulation/scene/redis_orders.hpp"
#include "simulation/scene/redis_traps.hpp"
#include "simulation/scene/redis_trials.hpp"
#include "simulation/scene/stands.hpp"
#include "support/force.hpp"

#include <array>
#include <cstdlib>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace simulation {
namespace {

/// What comes about at a moment that it waits for: a trap, or an order.
struct Aimed {
  std::optional<RedisTraps::What> trap{};
  std::optional<RedisOrders::What> order{};
};
constexpr Aimed deaf{.trap = RedisTraps::What::deaf_successor};
constexpr Aimed taken{.order = RedisOrders::What::taken_meanwhile};
constexpr Aimed stale{.order = RedisOrders::What::overdue_push};
constexpr Aimed sender{.order = RedisOrders::What::late_sender};
constexpr Aimed writer{.order = RedisOrders::What::late_writer};
constexpr Aimed twice{.order = RedisOrders::What::second_grant};
constexpr Aimed crowd{.trap = RedisTraps::What::crowd};
constexpr std::array traps{twice, twice,  deaf,   deaf,   deaf,   taken, taken, stale,
                           stale, sender, sender, writer, writer, crowd, crowd, crowd};
constexpr std::uint64_t first_of_traps = 12;
constexpr std::uint64_t first_of_ambushes = first_of_traps + traps.size();
constexpr std::uint64_t first_of_administrators = first_of_ambushes + 2 * Ambush::kinds;

/// An administrator takes what they grant, who says nothing of Redisson's keys.
bool needs_fair_ones(const std::optional<RedisOrders::What>& order) {
  return order && order != sender.order && order != writer.order;
}

std::string key_of_gate() { return "mortise:{" + std::string(gate) + "}#"; }

std::string key_of_once(std::size_t key) { return "mortise:{key/" + std::to_string(key) + "}!"; }

class RedisStand final : public Stand {
 public:
  RedisStand(const Plan& plan, Room& room, std::string_view mistake)
      : room_(room),
        host_(room.network.host("redis 1")),
        server_(host_),
        traps_(room, host_, server_, plan.lease, plan.storm),
        ambush_(room, host_, traps_, scripts(plan.keys > 0)),
        orders_(room, host_, server_, plan.lease, plan.storm),
        administrators_(room),
        judges_(room, server_, plan),
        hearing_(room, server_),
        clients_(room),
        orphaned_grants_(clients_, plan),
        names_(plan.names),
        keys_(plan.keys) {
    server_.make_mistake(mistake);
    host_.serve(ambush_);
    ambush_.refuse = [this](bool yes) { server_.set_busy(yes); };
    orphaned_grants_.watch(host_, server_);
    Random random = Random::of({plan.seed, 41});
    // Now and then clients of different configurations share the names.
    const std::uint64_t drawn = random.below(10);
    modes_ = drawn < 5   ? std::vector<std::string>{""}
             : drawn < 6 ? std::vector<std::string>{"?fair=no"}
             : drawn < 8 ? std::vector<std::string>{"?interop=redisson"}
                         : std::vector<std::string>{"?interop=redisson", "", "?fair=no"};
    if (std::getenv("MORTISE_SIMULATION_ONE_MODE") != nullptr) modes_.resize(1);
    if (modes_.size() == 1 && modes_.front().empty()) judges_.all_are_fair();
    if (modes_.front() == "?interop=redisson") strangers_ = random.below(3);
    trials_.emplace(room, server_, plan.seed, modes_.front(),
                    [this](Connection& inbox) { forget(inbox); });
    server_.on_message(
        [this, lease = plan.lease](std::string_view channel, std::string_view message) {
          if (message.starts_with("T ") || message.starts_with("S "))
            taken_by_force(message, lease);
          judges_.told(message);
          hearing_.told(channel, message);
          traps_.told(channel, message);
          orders_.told(channel, message);
          if (message == "0") ++releases_[std::string(channel)];
        });
    server_.on_script([this](const redis::ScriptRun& run) {
      clients_.runs(run);
      judges_.runs(run);
      hearing_.runs(run);
      orders_.runs(run);
      administrators_.runs(run);
      trials_->runs(run);
    });
    hearing_.hears = [this](std::size_t name, const Process& who, std::uint64_t number) {
      judge->hears(name, who, number);
    };
  }
  [[nodiscard]] std::unique_ptr<mortise::Backend> backend(std::size_t client) override {
    return mortise::redis::backend("redis://10.0.0.1" + modes_[client % modes_.size()]);
  }
  [[nodiscard]] bool seen_by_strangers(std::size_t client) const override {
    return modes_[client % modes_.size()] == "?interop=redisson";
  }
  [[nodiscard]] bool expects(const std::error_code& error) const override {
    return spoils_ && error == mortise::Errc::protocol;
  }
  [[nodiscard]] bool tells_truth() const override { return true; }
  [[nodiscard]] bool remembers() const override { return true; }
  [[nodiscard]] std::optional<Truth> truth(std::size_t n) const override { return truth_of(n, 0); }
  [[nodiscard]] std::optional<Truth> truth_of(std::size_t name,
                                              std::uint64_t number) const override {
    const redis::LockSeen seen = server_.lock(key_of(name));
    if (!seen.there) return std::nullopt;
    // Where Redisson has taken it since, the answers are about that.
    const std::string key = lock_name(name);
    if (strangers_ > 0 && server_.value(key) != nullptr && !server_.field(key, seen.attempt)) {
      return std::nullopt;
    }
    const redis::HoldSeen* const hold = number == 0 ? nullptr : seen.hold(number);
    const bool of_many = seen.read && number != 0;
    const std::int64_t ends = hold != nullptr ? hold->ends : of_many ? 0 : seen.ends;
    const Nanos left = std::chrono::microseconds(ends) - host_.wall();
    return Truth{hold != nullptr ? number : seen.number, seen.held && ends != 0 ? left : Nanos(0)};
  }
  [[nodiscard]] std::uint64_t releases_told(std::size_t name) const override {
    const auto found = releases_.find("redisson_lock__channel:{" + lock_name(name) + "}");
    return found == releases_.end() ? 0 : found->second;
  }
  // What befalls the server itself, then traps, then ambushes.
  std::string special(std::uint64_t which, Random& random, Nanos length) override {
    redis::RedisModel& server = server_;
    const auto after = [&](auto act) { room_.world.after(length, act); };
    switch (which) {
      case 0: server.flush_scripts(); return "the scripts are forgotten";
      case 1:
        server.refuse_memory(true);
        after([&server] { server.refuse_memory(false); });
        return "the server has no memory";
      case 2:
        server.set_loading(true);
        after([&server] { server.set_loading(false); });
        return "the server loads";
      case 3:
        server.set_busy(true);
        after([&server] { server.set_busy(false); });
        return "a script does not end";
      case 4:
        server.refuse_writes(true);
        after([&server] { server.refuse_writes(false); });
        return "the disk is full";
      case 5:
        return random.chance(0.5) ? take_by_force(random, length) : replace_machine(random, length);
      case 6: return replace_machine(random, length);
      case 7:
      case 8: return deafen(random, length);
      case 9:
      case 10: return forget_inbox(random);
      case 11: return force_a_strangers_key();
      default: {
        if (which >= first_of_administrators) return take_by_force(random, length);
        if (which < first_of_ambushes) return set_trap(which - first_of_traps, random, length);
        const auto what = static_cast<Ambush::What>(which % Ambush::kinds);
        spoils_ = spoils_ || what == Ambush::What::spoilt_answer;
        return ambush_.lie(what, random, length);
      }
    }
  }
  void dies(const Process& process) override {
    clients_.ends(process);
    judges_.dies(process, ambush_);
  }
  void closed(const Process& process, Nanos /*took*/) override { judges_.closed(process, ambush_); }
  [[nodiscard]] std::optional<Verdict> look(Judge& its_judge, Nanos quiet) override {
    return judges_.look(its_judge, quiet);
  }
  void calm() override {
    server_.refuse_memory(false);
    server_.set_loading(false);
    server_.set_busy(false);
    server_.refuse_writes(false);
    room_.world.after(recovery() - std::chrono::milliseconds(1'500), [this] { judges_.calm(); });
  }
  [[nodiscard]] Nanos longest_hold_of_the_dead(const Plan& plan) const override {
    // A provisional lease for each waiter that died with its holder.
    return plan.lease + std::chrono::seconds(2) * static_cast<int>(plan.clients);
  }
  [[nodiscard]] Nanos lease_of_the_dead(const Plan& plan) const override { return plan.lease; }
  void told(const std::string& name, mortise::Token token) override {
    orphaned_grants_.told(name, token);
  }
  void released(const std::string& name, mortise::Token token) override {
    orphaned_grants_.released(name, token);
  }
  [[nodiscard]] std::string complaint(std::size_t /*clients*/) override {
    return orphaned_grants_.complaint(room_.world.now());
  }
  // Connections are made anew within a second or two; waiters ask each second.
  [[nodiscard]] Nanos recovery() const override { return std::chrono::seconds(4); }
  [[nodiscard]] std::uint64_t work() const override {
    // Not before somebody wants to know: a hook makes Lua look aside at each instruction.
    if (!std::exchange(counts_, true)) server_.count_instructions(100);
    return server_.counters().commands_of_scripts + server_.counters().instructions / 25;
  }
  [[nodiscard]] std::uint64_t requests() const override {
    return server_.counters().commands - traps_.requests_of_crowds() - orders_.requests() -
           trials_->requests();
  }
  [[nodiscard]] std::size_t strangers() const override { return strangers_; }
  [[nodiscard]] Nanos hand_over() const override {
    // Redisson's waiters have their turns in between.
    const bool push = modes_.size() == 1 && modes_.front() != "?interop=redisson";
    return push ? Nanos(100ms) : Nanos(1'500ms);
  }
  void last_trial() override { trials_->come(*judge); }
  [[nodiscard]] std::string leftovers(const std::vector<std::string>& names) override {
    return redis_leftovers(room_, server_, names);
  }

 private:
  std::string take_by_force(Random& random, Nanos length);
  void taken_by_force(std::string_view message, Nanos lease);
  std::string replace_machine(Random& random, Nanos length);
  std::string deafen(Random& random, Nanos length);
  [[nodiscard]] Connection* some_inbox(Random& random) const;
  void forget(Connection& inbox);
  std::string forget_inbox(Random& random);
  std::string force_a_strangers_key();
  std::string set_trap(std::uint64_t which, Random& random, Nanos length);
  static std::vector<std::string> scripts(bool of_keys);
  Room& room_;
  Host& host_;
  mutable redis::RedisModel server_;
  RedisTraps traps_;
  Ambush ambush_;
  RedisOrders orders_;
  RedisAdministrators administrators_;
  RedisJudges judges_;
  RedisHearing hearing_;
  AttemptClients clients_;
  OrphanedGrants orphaned_grants_;
  std::optional<RedisTrials> trials_;
  std::vector<std::string> modes_;
  std::size_t strangers_ = 0;
  const std::size_t names_;
  const std::size_t keys_;
  std::map<std::string, std::uint64_t> releases_;  // by Redisson's channel
  bool spoils_ = false;
  mutable bool counts_ = false;
};

std::vector<std::string> RedisStand::scripts(bool of_keys) {
  namespace all = mortise::redis::scripts;
  std::vector<std::string> shas;
  for (const auto* each : {&all::acquire, &all::release, &all::renew, &all::cancel}) {
    shas.emplace_back(each->sha);
  }
  if (!of_keys) return shas;
  // What is lost of a conclusion is what most depends on.
  constexpr std::size_t conclusions = 6;
  for (const auto* each : {&all::once::begin, &all::once::recall}) shas.emplace_back(each->sha);
  shas.insert(shas.end(), conclusions, std::string(all::once::conclude.sha));
  return shas;
}

// An administrator takes a lock away, now and then while nobody hears of it.
std::string RedisStand::take_by_force(Random& random, Nanos length) {
  if (strangers_ > 0) return "nothing happens";  // the hold of a stranger has no number
  // One that somebody waits for, if there is one: the next one's hold is what must not end as well.
  std::size_t which = random.below(names_);
  for (std::size_t i = 0; i < names_ && server_.lock(key_of(which)).waiting == 0; ++i) {
    which = (which + 1) % names_;
  }
  const std::string name = lock_name(which);
  if (random.chance(0.5)) {
    const Nanos until = room_.world.now() + length;
    for (const auto& [id, connection] : room_.network.connections()) {
      if (!server_.channels_of(id).empty()) {
        connection->stall(Connection::Way::down, until);
      }
    }
  }
  administrators_.judge = judge;
  return administrators_.take("redis://10.0.0.1" + modes_.front(), name, random);
}

// "T <attempt> <number> <key>", of a reader "S ..."
void RedisStand::taken_by_force(std::string_view message, Nanos lease) {
  message.remove_prefix(message.find(' ', 2) + 1);
  const std::string number(message.substr(0, message.find(' ')));
  for (std::size_t i = 0; i <= names_; ++i) {
    if (!message.ends_with(i < names_ ? key_of(i) : key_of_gate())) continue;
    judge->forced(i < names_ ? i : name_of_gate, std::stoull(number),
                  room_.world.now() + lease + lease / 500);
  }
}

// Another machine takes over with all the data, and its clock is ahead: what was granted before
// ends there too early, what it grants itself must not.
std::string RedisStand::replace_machine(Random& random, Nanos length) {
  if (!host_.up()) return "nothing happens";
  const Nanos until = room_.world.now() + random.spread(std::chrono::microseconds(100), length);
  const Nanos ahead = random.spread(std::chrono::milliseconds(1), Nanos(std::chrono::seconds(5)));
  if (random.chance(0.5)) orders_.hear_of_another_machine(random, until);
  host_.restart(until, true);
  room_.world.at(until, [this, ahead] {
    host_.step_wall_clock(ahead);
    const auto now = std::chrono::duration_cast<std::chrono::microseconds>(host_.wall());
    // Where its clock was set back before, it has given larger numbers than that.
    const auto next = [this](const std::string& key) { return server_.lock(key).number + 1; };
    auto so_far = std::max(static_cast<std::uint64_t>(now.count()), next(key_of_gate()));
    for (std::size_t i = 0; i < names_; ++i) so_far = std::max(so_far, next(key_of(i)));
    for (std::size_t i = 0; i < keys_; ++i) so_far = std::max(so_far, next(key_of_once(i)));
    judge->excuse_below(so_far);
  });
  return "another machine takes over, its clock is " + std::to_string(ahead.count()) + " ns ahead";
}

Connection* RedisStand::some_inbox(Random& random) const {
  std::vector<Connection*> inboxes;
  for (const auto& [id, connection] : room_.network.connections()) {
    if (connection->held() && !server_.channels_of(id).empty()) {
      inboxes.push_back(connection.get());
    }
  }
  return inboxes.empty() ? nullptr : inboxes[random.below(inboxes.size())];
}

void RedisStand::forget(Connection& inbox) {
  inbox.stall(Connection::Way::both, never);
  server_.closed(inbox.id());
  judges_.forgotten(inbox);
}

// Something on the way to an inbox has forgotten the connection, and tells nobody.
std::string RedisStand::forget_inbox(Random& random) {
  Connection* const inbox = some_inbox(random);
  if (inbox == nullptr) return "nobody listens";
  forget(*inbox);
  return "the inbox of " + inbox->process().name() + " is forgotten";
}

// An administrator frees a lock whose plain name is the key of something else.
std::string RedisStand::force_a_strangers_key() {
  static constexpr const char* name = "stranger/0";
  if (seen_by_strangers(0)) server_.put(name, "item:17", "1");
  if (!seen_by_strangers(0)) return "nothing happens";
  Process& administrator = room_.world.process("administrator");
  administrator.clock.offset = std::chrono::hours(1);
  room_.world.spawn(administrator, [this] {
    try {
      mortise::test::force_release(mortise::redis::backend("redis://10.0.0.1" + modes_.front()),
                                   name, std::chrono::seconds(2));
    } catch (const mortise::Error&) {
      // As it should be.
    }
    if (server_.value(name) == nullptr) {
      judge->blame("stranger", "a key that is no lock was deleted");
    }
  });
  return std::string("an administrator frees ") + name;
}

// Most of the traps are for what is told late.
std::string RedisStand::set_trap(std::uint64_t which, Random& random, Nanos length) {
  const auto& [trap, order] = traps.at(which);
  const bool any_mode = trap != RedisTraps::What::crowd && !needs_fair_ones(order);
  if (!any_mode && (modes_.size() != 1 || !modes_.front().empty())) return "nobody comes";
  orders_.keep = traps_.keep = keep;
  if (order) return orders_.make(*order, random);
  return traps_.set(*trap, key_of(random.below(names_)), random, length);
}

// A client hears nothing for longer than a provisional lease takes, and of messages still later.
std::string RedisStand::deafen(Random& random, Nanos length) {
  Connection* const inbox = some_inbox(random);
  if (inbox == nullptr) return "nobody listens";
  const Nanos now = room_.world.now();
  const Nanos first = random.between(length / 4, length);
  inbox->stall(Connection::Way::down, now + length);
  room_.network.part(inbox->process(), host_, now + first);
  return inbox->process().name() + " hears nothing, and of messages still later";
}

}  // namespace

std::unique_ptr<Stand> make_redis_stand(const Plan& plan, Room& room, std::string_view mistake) {
  return std::make_unique<RedisStand>(plan, room, mistake);
}

}  // namespace simulation
