// SPDX-License-Identifier: MIT
// One PostgreSQL server, or one with a standby: its commits wait for that one, or, where a run
// looks at what is outside of the assumptions, do not.
#include <mortise/postgres.hpp>

#include "core/figures.hpp"
#include "postgres/parts.hpp"
#include "simulation/scene/bounds.hpp"
#include "simulation/scene/postgres_ambush.hpp"
#include "simulation/scene/postgres_orphaned_grants.hpp"
#include "simulation/scene/postgres_servers.hpp"
#include "simulation/scene/postgres_specials.hpp"
#include "simulation/scene/postgres_tie.hpp"
#include "simulation/scene/postgres_trials.hpp"
#include "simulation/scene/stands.hpp"

#include <algorithm>
#include <memory>
#include <optional>

namespace simulation {
namespace {

constexpr const char* some_name = "name/0";
constexpr std::uint64_t pooled_stream = 45;

/// What other databases of the same server do while nothing is broken: each notification of theirs
/// has a lock of the whole server over a flush, and all of ours wait for it in turn.
enum class Neighbours { quiet, busy, crowd };

postgres::Options options_of(const Plan& plan, Random& random, Neighbours neighbours,
                             std::uint64_t favourite) {
  postgres::Options options;
  const bool synchronous =
      random.chance(0.4) || favourite == cancelled_waits || favourite == a_lost_standby;
  if (synchronous) options.standby = postgres::Standby::synchronous;
  if (plan.forgets) options.standby = postgres::Standby::asynchronous;
  options.flush = random.spread(50us, 2ms);
  if (neighbours != Neighbours::quiet) options.max_connections = 1'000;  // they need theirs
  if (neighbours == Neighbours::busy) options.flush = random.spread(1'500us, 3ms);
  if (neighbours == Neighbours::crowd) options.flush = random.spread(2ms, 15ms);
  return options;
}

/// @return how many a client may have for statements; 0: as many as usual. What tells has another
/// one where there are two: all that a client asks for waits behind it where there is one.
std::size_t most_connections(Neighbours neighbours, Random& random, std::uint64_t favourite) {
  if (!random.chance(favourite == a_slow_process ? 0.7 : 0.3)) return 0;
  return neighbours == Neighbours::quiet && random.chance(0.6) ? 1 : 2;
}

class PostgresStand final : public Stand {
 public:
  PostgresStand(const Plan& plan, Room& room, std::string_view mistake)
      : room_(room),
        plan_(plan),
        mistake_(mistake),
        random_(Random::of({plan.seed, 42})),
        favourite_(favourite_of(plan, special_of(random_.below(postgres_specials * 2)))),
        neighbours_(random_.chance(0.7) || plan.narrow ? Neighbours::quiet
                    : random_.chance(0.5)              ? Neighbours::busy
                                                       : Neighbours::crowd),
        fair_(random_.chance(0.3)),
        pooled_(Random::of({plan.seed, pooled_stream}).chance(0.2)),
        standby_first_(random_.chance(0.5)),
        ties_(random_.chance(0.4)),
        connections_(plan.narrow ? 1 : most_connections(neighbours_, random_, favourite_)),
        options_(options_of(plan, random_, neighbours_, favourite_)),
        servers_(room, options_, mistake, plan.storm),
        ambush_(room, servers_, plan.lease, plan.storm),
        orphaned_grants_(room, servers_, plan) {}
  [[nodiscard]] std::unique_ptr<mortise::Backend> backend(std::size_t /*client*/) override {
    return mortise::postgres::backend(
        "postgresql://shop@" + servers_.addresses(standby_first_) + "/orders?sslmode=disable" +
        (fair_ ? "&mortise.fair=yes" : "") + (pooled_ ? "&mortise.pooled=yes" : "") +
        (connections_ > 0 ? "&mortise.connections=" + std::to_string(connections_)
                          : std::string()));
  }
  std::string special(std::uint64_t which, Random& random, Nanos length) override {
    postgres::PostgresModel& server = servers_.primary();
    // In half of the runs the same comes again and again.
    if (favourite_ < postgres_specials && random.chance(0.7)) which = favourite_;
    switch (which = special_of(which)) {
      case 0: server.stall_disk(length); return "the disk stalls";
      case 1:
        server.strangers_notify(1 + random.below(16), length);
        return "sessions of another database notify";
      case 2: return server.cancel_one() ? "a statement is cancelled" : "nothing to cancel";
      case 3: return server.terminate_one() ? "a session is ended" : "no session to end";
      case 4: server.terminate_all(); return "all sessions are ended";
      case 5: server.lock_row(some_name, length); return "a stranger has locked the row";
      case 6:
        // At times the client is back at once, and asks what has become of it.
        if (random.chance(0.3)) length = Nanos(0);
        servers_.lose_an_answer(
            length == Nanos(0) || random.chance(0.5) ? length : random.between(100ms, 3s));
        return "somebody will be cut off";
      case 7:
        // It is back while what was lost is still believed, or when its time is nearly up.
        servers_.crash_after_a_commit(random.chance(0.5), random.spread(1us, 5ms),
                                      random.chance(0.5)
                                          ? random.spread(1ms, 50ms)
                                          : random.between(plan_.lease / 2, plan_.lease));
        return "the server will crash";
      case a_lost_standby:
        return lose_the_standby(random, length) ? "the standby is gone" : "there is no standby";
      case a_fail_over:
        return fail_over(random, length) ? "the primary is gone" : "there is no standby";
      case 10:
        return fail_over_in_doubt(random, length) ? "the standby does not answer"
                                                  : "there is no standby";
      case 11:
        ambush_.refuse_logins(length);
        server.terminate_all();
        return "all sessions are ended, and the role may not log in";
      case cancelled_waits:
        return cancel_waits(random, length) ? "waits for the standby are cancelled"
                                            : "there is no standby";
      default: return ambush_.lie(which - ambushes, random, length);
    }
  }
  void calm() override {
    calm_ = true;
    servers_.calm();
  }
  void clear() override {
    if (neighbours_ == Neighbours::quiet) return;
    // The threads of a client come in between each other while one of them tells.
    for (const auto& [id, connection] : room_.network.connections()) {
      connection->process().schedule.preempted = 0.1;
      connection->process().schedule.longest = 300us;
    }
    const auto sessions = static_cast<std::size_t>(turn() / options_.flush) + 1;
    servers_.primary().forget_longest_in_line();
    servers_.primary().strangers_notify(sessions, 8s);
  }
  [[nodiscard]] std::size_t operations_in_the_clear() const override {
    return neighbours_ == Neighbours::quiet ? 6 : 12;
  }
  // A client has one connection when it begins anew: what else it had was idle. Who comes while
  // that one tells, and waits for the notifications of others, is to have another one.
  [[nodiscard]] std::size_t rounds_in_the_clear() const override {
    return neighbours_ == Neighbours::quiet ? 3 : 5;
  }
  [[nodiscard]] bool tells_truth() const override { return true; }
  [[nodiscard]] std::optional<Truth> truth(std::size_t name) const override {
    const auto row = servers_.primary().row("name/" + std::to_string(name));
    if (!row) return {};
    const auto holder = servers_.primary().holder(row->name);
    return Truth{static_cast<std::uint64_t>(row->number), holder ? holder->left : Nanos(0)};
  }
  [[nodiscard]] std::optional<Truth> truth_of(std::size_t name, std::uint64_t of) const override {
    for (const auto& hold : servers_.primary().holds(lock_name(name))) {
      if (static_cast<std::uint64_t>(hold.number) == of) return Truth{of, hold.left};
    }
    std::optional<Truth> of_all = truth(name);
    if (of_all && of_all->number == of) of_all->left = Nanos(0);
    return of_all;
  }
  [[nodiscard]] std::optional<Truth> safe_truth(std::size_t name) const override {
    std::optional<Truth> truth = this->truth(name);
    const auto row = servers_.primary().row(lock_name(name));
    if (row) truth->left = std::min(truth->left, servers_.primary().left_in_a_crash(*row));
    return truth;
  }
  [[nodiscard]] std::optional<Verdict> look(Judge& its_judge, Nanos quiet) override {
    // Where the server's clock was set back it keeps what has lapsed for its owner.
    return plan_.steps ? std::nullopt : orphaned_grants_.look(its_judge, quiet);
  }
  void dies(const Process& process) override {
    orphaned_grants_.ends(process);
    servers_.ends(process);
  }
  // Calls end while what they asked for waits for the disk, and has yet to be granted; or have
  // ended, denied, while an older copy is still to be granted, of which no answer comes any more.
  Nanos before_closing(Random& random) override {
    const std::uint64_t how = random.below(3);
    if (how == 0) return Nanos(0);
    if (how == 1) {
      ambush_.lose_denied_takes(random, 500ms);
      return random.between(1ms, 500ms);
    }
    const Nanos stall = random.between(20ms, 600ms);
    servers_.primary().stall_disk(stall);
    return random.between(stall / 2, stall);
  }
  void closed(const Process& process, Nanos took) override {
    const std::optional<Verdict> verdict = orphaned_grants_.closed(process, took);
    if (verdict && !plan_.steps) judge->blame(verdict->promise, verdict->words);
  }
  // The server has said so.
  [[nodiscard]] bool expects(const std::error_code& error) const override {
    return error == mortise::Errc::denied && servers_.has_refused();
  }
  std::function<void()> use(mortise::Lock& lock, mortise::Owner owner, Random& random) override {
    if (!ties_ || !random.chance(0.2)) return {};
    outlast(lock, owner, random);
    return tie_transaction(
        lock, owner, random,
        {.url = "postgresql://shop@" + servers_.address() + ":5432/orders?sslmode=disable",
         .longest = std::max<Nanos>(plan_.longest_hold, 1ms),
         .calm = calm_,
         .closing = [this,
                     &process =
                         World::running()->process()] { return orphaned_grants_.gone(process); },
         .over = [this, its = std::string(lock.name())] { free_again(its); },
         .wrong = wrong_});
  }
  // A fail-over that loses what was told loses records, too.
  [[nodiscard]] bool remembers() const override { return !plan_.forgets; }
  [[nodiscard]] bool holds_came_back() const override { return servers_.crashed(); }
  // A release tells who waits. But whoever has met the row locked, by a grant on its way to the
  // disk, has nothing written, is in no queue, and looks again after as long at most (next_look()).
  // Who is told waits for the notifications of others, behind those of its own client that are
  // under way (Bell); at the longest until it looks by itself, a second after it did last.
  [[nodiscard]] Nanos hand_over() const override {
    // As long as the flushes of others allow, which lock it anew all the time; then its own grant.
    constexpr Nanos look = 100ms;
    constexpr Nanos fallback = 1s;  // see L2
    // So has who hears of nothing.
    const bool locked =
        pooled_ || servers_.primary().since_locked() < 4 * mortise::postgres::longest_look;
    const Nanos longest = mortise::postgres::longest_look + 6 * options_.flush;
    // Where the first in line has given up before it looked, the next one does so in its own time.
    const bool passed_on = pooled_ && servers_.primary().since_passed_on() < longest;
    const Nanos in_vain = passed_on ? fallback : locked ? longest : look;
    if (neighbours_ == Neighbours::quiet) return in_vain;
    // In that line each client of ours may have one, too; and flushes differ by a half.
    // Before its own flush each waits for the one that is under way, of somebody's grant: as long
    // as the line has been seen to be.
    const Nanos expected = turn() + options_.flush * (static_cast<int>(plan_.clients) + 1);
    const Nanos line = std::max(expected * 9 / 8, servers_.primary().longest_in_line());
    // What a call was granted as it gave up is given back first: the grant, the cancel that finds
    // it and the release each wait for the flush that is under way, and for their own.
    const Nanos given_back = 6 * options_.flush;
    // Where there is a queue only the first one is told. If that one gives up while it is being
    // told, its own client tells the next one: in line once more, and behind its own as well.
    const auto within = [&](int lines) {
      return std::max(in_vain, look + given_back + std::min<Nanos>(lines * line, 1s));
    };
    const Nanos twice = within(4);
    return servers_.primary().since_passed_on() < twice ? twice : within(2);
  }
  [[nodiscard]] std::uint64_t work() const override { return servers_.statements(); }
  // What clients send: sessions of another database work here, too.
  [[nodiscard]] std::uint64_t requests() const override { return servers_.requests(); }
  void last_trial() override {
    trials_.emplace(room_, *judge, options_.flush, mistake_, plan_.seed).come();
  }
  [[nodiscard]] std::string complaint(std::size_t clients) override {
    if (const std::string broken = servers_.broken(); !broken.empty()) return broken;
    if (!wrong_.empty()) return wrong_;
    // `mortise.connections` for statements, one that listens, and one that is being replaced.
    const std::size_t most = clients * (10 + (ties_ ? plan_.threads : 0));
    const std::size_t now = servers_.processes();
    return now <= most ? std::string()
                       : std::to_string(now) + " server processes for " + std::to_string(clients) +
                             " clients";
  }
  [[nodiscard]] std::string leftovers(const std::vector<std::string>& /*names*/) override {
    const postgres::PostgresModel& server = servers_.primary();
    if (server.ticket_count() > 0) return std::to_string(server.ticket_count()) + " tickets";
    return {};
  }

 private:
  /// How long a notification waits for those of others, when all is well.
  [[nodiscard]] Nanos turn() const {
    switch (neighbours_) {
      case Neighbours::quiet: break;
      // Longer than the server waits for a row's lock; or than a client waits for an answer.
      case Neighbours::busy: return 90ms;
      case Neighbours::crowd: return mortise::core::command_timeout(plan_.lease) * 3 / 2;
    }
    return 0ms;
  }
  bool lose_the_standby(Random& random, Nanos length) {
    if (!servers_.has_standby()) return false;
    servers_.primary().set_standby_gone(true);
    // For as long as there is time, often: what a client does each second adds up. Or for as long
    // as it takes until a client no longer waits for the answer; and then it works again.
    const Nanos patience = mortise::postgres::Call::patience_for(plan_.lease).usual;
    length = random.chance(0.3) ? length : patience + random.spread(1ms, 500ms);
    length = random.chance(0.3) ? plan_.storm : length;
    length = std::min(length, plan_.storm - room_.world.now());
    room_.world.after(length, [this] {
      if (servers_.has_standby()) servers_.primary().set_standby_gone(false);
    });
    return true;
  }
  // Where the lease has ended before, a transaction that is tied to the hold has kept the name.
  void free_again(const std::string& its) const {
    for (std::size_t i = 0; i < plan_.names; ++i) {
      if (lock_name(i) == its) judge->kept_no_longer(i);
    }
  }
  // The transaction that is to be tied to the hold waits for the row until that has lapsed.
  void outlast(mortise::Lock& lock, mortise::Owner owner, Random& random) {
    if (calm_ || !random.chance(0.2)) return;
    const auto holder = servers_.primary().holder(lock.name());
    const Nanos longest = std::min<Nanos>(3s, plan_.storm - room_.world.now());
    if (!holder || lock.valid_for(owner) <= 0ns || holder->left > longest) return;
    servers_.primary().lock_row(std::string(lock.name()), holder->left + random.spread(10us, 10ms));
  }
  bool may_fail_over() const {
    // Without commits that wait for the standby it loses what was told.
    return servers_.has_standby() && !room_.network.hosts().empty();
  }
  bool fail_over(Random& random, Nanos length) {
    if (!may_fail_over()) return false;
    return servers_.fail_over(random.spread(1ms, std::max<Nanos>(length, 2ms)),
                              random.between(0ms, plan_.lease));
  }
  // The standby is cut off; commits wait, until an administrator ends the waits; and then the
  // primary is lost as well.
  bool fail_over_in_doubt(Random& random, Nanos length) {
    if (!may_fail_over()) return false;
    servers_.primary().set_standby_gone(true);
    // Not longer than a client waits for the answer, or it asks elsewhere.
    const Nanos patience = random.spread(1ms, std::clamp<Nanos>(length, 2ms, 300ms));
    room_.world.after(
        patience, [this, then = random.spread(10us, 5ms), down = random.spread(1ms, 5ms),
                   back = random.between(0ms, plan_.lease)] {
          if (!servers_.has_standby()) return;
          servers_.primary().cancel_all();
          room_.world.after(then, [this, down, back] { servers_.fail_over(down, back); });
        });
    return true;
  }
  // The same, and the primary stays: again and again somebody ends the waits by hand, and the
  // standby is back soon after that.
  bool cancel_waits(Random& random, Nanos length) {
    if (!servers_.has_standby()) return false;
    // What is left behind shows where nothing else befalls anybody after it.
    const bool to_the_end = random.chance(0.5);
    // What is asked once more may not be done any more.
    const bool denies = random.chance(0.3);
    const Nanos end = to_the_end ? plan_.storm : std::min(room_.world.now() + length, plan_.storm);
    for (Nanos at = room_.world.now(); at < end;) {
      room_.world.at(at, [this] { servers_.primary().set_standby_gone(true); });
      at += random.spread(3ms, 300ms);
      room_.world.at(std::min(at, end), [this, denies] {
        if (denies) servers_.refuse_takes(true);
        servers_.primary().cancel_all();
      });
      at += random.spread(100us, 50ms);
      room_.world.at(std::min(at, end), [this, denies] {
        if (denies) servers_.refuse_takes(false);
        servers_.primary().set_standby_gone(false);
      });
      at += random.spread(1ms, 500ms);
    }
    return true;
  }

  Room& room_;
  const Plan& plan_;
  const std::string mistake_;
  Random random_;
  const std::uint64_t favourite_;  // of the specials; beyond them: none
  const Neighbours neighbours_;
  const bool fair_;
  const bool pooled_;  // clients rely on no session, and hear of nothing
  const bool standby_first_;
  const bool ties_;
  const std::size_t connections_;  // that a client may have for statements; 0: as many as usual
  const postgres::Options options_;
  PostgresServers servers_;
  PostgresAmbush ambush_;
  PostgresOrphanedGrants orphaned_grants_;
  std::optional<PostgresTrials> trials_;
  bool calm_ = false;
  std::string wrong_;
};

}  // namespace

std::unique_ptr<Stand> make_postgres_stand(const Plan& plan, Room& room, std::string_view mistake) {
  return std::make_unique<PostgresStand>(plan, room, mistake);
}

}  // namespace simulation
