// SPDX-License-Identifier: MIT
#include "simulation/scene/postgres_ambush.hpp"

#include "postgres/parts.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace simulation {
namespace {

using postgres::Point;
using postgres::Statement;

bool is(PostgresAmbush::Whom whom, Statement statement) {
  switch (statement) {
    case Statement::look:
    case Statement::take:
    case Statement::take_key:
    case Statement::take_permit: return whom == PostgresAmbush::Whom::takes;
    case Statement::renew:
    case Statement::renew_all: return whom == PostgresAmbush::Whom::renewals;
    case Statement::release:
    case Statement::release_key:
    case Statement::release_permit:
    case Statement::conclude_key: return whom == PostgresAmbush::Whom::releases;
    case Statement::cancel:
    case Statement::cancel_permit:
    case Statement::cancel_key: return whom == PostgresAmbush::Whom::cancels;
    case Statement::wake: return whom == PostgresAmbush::Whom::wakes;
    default: return false;
  }
}

}  // namespace

PostgresAmbush::PostgresAmbush(Room& room, PostgresServers& servers, Nanos lease, Nanos end)
    : room_(room),
      servers_(servers),
      patience_(mortise::postgres::Call::patience_for(lease).usual),
      end_(end) {
  servers_.each([this](postgres::PostgresModel& model) {
    model.watch_points([this](ConnectionId connection, Statement statement, Point point) {
      return troubles_.empty() ? Nanos(0) : meets(connection, statement, point);
    });
  });
}

PostgresAmbush::Trouble PostgresAmbush::draw(std::uint64_t special, Random& random) {
  constexpr std::array<double, 4> often{0.1, 0.3, 1.0, 1.0};
  Trouble trouble{.whom = special < kinds ? static_cast<Whom>(special) : Whom::takes,
                  .what = static_cast<What>(random.below(5)),
                  .point = static_cast<Point>(random.below(3)),
                  .often = often.at(random.below(often.size())),
                  .left = 1 + random.below(most_victims)};
  switch (special) {
    case kinds: trouble.what = What::outlived; break;
    case kinds + 1: trouble.what = What::revoked; break;
    case kinds + 2: trouble.what = What::slow; break;
    case kinds + 3:
      // What comes next finds the row locked by what it repeats.
      trouble.what = What::lost;
      trouble.point = Point::commits;
      break;
    case kinds + 4: trouble.what = What::spoilt; break;
    case kinds + 5: trouble.what = What::revoked_and_lost; break;
    default: break;
  }
  switch (trouble.what) {
    case What::outlived:
      trouble.whom = Whom::renewals;
      trouble.point = Point::begins;
      break;
    case What::slow:
      trouble.whom = Whom::all;
      trouble.point = Point::begins;
      trouble.often = 1;
      trouble.left = 4 + random.below(10);
      trouble.behind_release = random.chance(0.7);
      break;
    case What::revoked:
    case What::revoked_and_lost: trouble.point = Point::commits; break;
    case What::spoilt:
      trouble.whom = Whom::wakes;
      trouble.point = Point::begins;
      trouble.often = 1;
      trouble.left = 1;
      break;
    case What::cancelled: trouble.point = Point::begins; break;
    default: break;
  }
  return trouble;
}

std::string PostgresAmbush::lie(std::uint64_t special, Random& random, Nanos length) {
  constexpr std::array<std::string_view, specials> names{"takes",
                                                         "renewals",
                                                         "releases",
                                                         "cancels",
                                                         "wakes",
                                                         "statements",
                                                         "renewals that come too late",
                                                         "rights that are revoked",
                                                         "a slow process",
                                                         "takes whose answers are lost",
                                                         "what tells on the only connection",
                                                         "takes that are lost, and denied anew"};
  Trouble trouble = draw(special, random);
  trouble.until = trouble.what == What::spoilt ? end_ : std::min(room_.world.now() + length, end_);
  luck_ = Random(random.next());
  troubles_.push_back(trouble);
  return "trouble with " + std::string(names.at(special));
}

void PostgresAmbush::lose_denied_takes(Random& random, Nanos length) {
  luck_ = Random(random.next());
  troubles_.push_back({.whom = Whom::takes,
                       .what = What::revoked_and_lost,
                       .point = Point::commits,
                       .until = std::min(room_.world.now() + length, end_),
                       .often = 1,
                       .left = most_victims});
}

Nanos PostgresAmbush::meets(ConnectionId connection, Statement statement, Point point) {
  const Nanos now = room_.world.now();
  std::erase_if(troubles_, [now](const Trouble& trouble) {
    return trouble.until <= now || trouble.left == 0;
  });
  Connection* const from = room_.network.find(connection);
  if (from == nullptr || !from->held()) return Nanos(0);
  for (Trouble& trouble : troubles_) {
    if (trouble.point != point) continue;
    if (trouble.whom != Whom::all && !is(trouble.whom, statement)) continue;
    if (trouble.connection != 0 && trouble.connection != connection) continue;
    if (!luck_.chance(trouble.often)) continue;
    --trouble.left;
    if (trouble.what == What::slow) trouble.connection = connection;
    return befall(trouble, *from, statement);
  }
  return Nanos(0);
}

Nanos PostgresAmbush::befall(Trouble& trouble, Connection& from, Statement statement) {
  World& world = room_.world;
  const Nanos now = world.now();
  const Nanos time = luck_.spread(50us, std::max<Nanos>(trouble.until - now, 100us));
  switch (trouble.what) {
    case What::late: return time;
    case What::lost:
    case What::lost_for_good:
      cut(from.process(), from.id(), trouble.what == What::lost_for_good);
      if (trouble.what == What::lost_for_good) refuse_logins(luck_.spread(1ms, 2s));
      return std::min(time, longest_orphan);
    case What::cancelled:
      world.after(luck_.spread(1us, 3ms),
                  [this, id = from.id()] { servers_.primary().cancel(id); });
      return Nanos(0);
    case What::spoilt: return spoil(trouble, from);
    case What::stopped: world.pause(from.process(), now + time); return Nanos(0);
    case What::outlived:
      return std::min(until_a_hold_lapses() + luck_.spread(1us, 3ms), end_ - now);
    case What::slow: return slow_down(trouble, statement);
    case What::revoked_and_lost: {
      // Whoever asks anew is refused, and what it repeats comes to something all the same.
      const Nanos orphaned = std::min(luck_.spread(50ms, longest_orphan), end_ - now);
      cut(from.process(), from.id(), false);
      refuse_takes(Nanos(0), orphaned * 4 / 5);
      return orphaned;
    }
    case What::revoked: {
      const Nanos late = patience_ + luck_.spread(1ms, 500ms);
      if (now + late >= end_) return Nanos(0);
      refuse_takes(patience_ * 9 / 10, late - patience_ * 9 / 10 - 500us);
      return late;
    }
  }
  return Nanos(0);
}

Nanos PostgresAmbush::slow_down(Trouble& trouble, Statement statement) {
  const bool due = !trouble.behind_release || (trouble.released && !is(Whom::releases, statement) &&
                                               !is(Whom::wakes, statement));
  trouble.released = is(Whom::releases, statement);
  if (trouble.left == 0 && due) {
    const auto patience = std::max<Nanos>(patience_, mortise::postgres::Call::usual_patience);
    return std::min(patience + luck_.spread(1ms, 500ms), end_ - room_.world.now());
  }
  if (trouble.left == 0) ++trouble.left;  // not yet
  return luck_.spread(300us, 20ms);
}

// What tells stands still on the only connection that its client has left, until what waits behind
// it was sent all the same, and was given up; and then it is cancelled. At the end of the storm: a
// connection that breaks afterwards would have the client tell once more.
Nanos PostgresAmbush::spoil(Trouble& trouble, const Connection& from) {
  const Nanos late = 500ms + patience_ + luck_.spread(1ms, 500ms);
  const Nanos over = room_.world.now() + late;
  if (over + 300ms >= end_) return Nanos(0);
  if (over + 2s < end_) {
    ++trouble.left;  // not yet
    return Nanos(0);
  }
  refuse_logins(late);
  room_.world.after(Nanos(0), [this, &process = from.process(), only = from.id()] {
    const auto connections = room_.network.connections();  // a copy: they forget themselves
    for (const auto& [id, each] : connections) {
      if (id != only && &each->process() == &process && each->held()) each->cut(true);
    }
  });
  room_.world.after(late, [this, id = from.id()] { servers_.primary().cancel(id); });
  return late + 10ms;
}

void PostgresAmbush::cut(const Process& process, ConnectionId one, bool all) {
  // Not now: the server is in the middle of it.
  room_.world.after(Nanos(0), [this, &process, one, all] {
    const auto connections = room_.network.connections();  // a copy: they forget themselves
    for (const auto& [id, each] : connections) {
      if (id == one || (all && &each->process() == &process && each->held())) each->cut(true);
    }
  });
}

Nanos PostgresAmbush::until_a_hold_lapses() const {
  Nanos soonest = 0ns;
  for (const auto& [name, row] : servers_.primary().rows()) {
    const auto holder = servers_.primary().holder(name);
    if (holder && (soonest == 0ns || holder->left < soonest)) soonest = holder->left;
  }
  return soonest;
}

void PostgresAmbush::refuse_logins(Nanos time) {
  servers_.refuse_logins(true);
  // Whoever was refused last is told of it before the storm is over.
  const Nanos until = std::min(room_.world.now() + time, std::max(end_ - 300ms, Nanos(0)));
  room_.world.at(std::max(until, room_.world.now()), [this, id = ++refusals_] {
    if (id == refusals_) servers_.refuse_logins(false);
  });
}

void PostgresAmbush::refuse_takes(Nanos from, Nanos time) {
  room_.world.after(from, [this] { servers_.refuse_takes(true); });
  room_.world.after(from + time, [this] { servers_.refuse_takes(false); });
}

}  // namespace simulation
