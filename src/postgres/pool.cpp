// SPDX-License-Identifier: MIT
// What is under way for one name goes by one connection: the server executes it in order.
#include "postgres/pool.hpp"

#include "base/mutant.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

namespace mortise::postgres {
namespace {

// So many calls under way on each are worth one more process of the server's.
constexpr std::size_t crowd = 64;

}  // namespace

Pool::Pool(Host& host, std::size_t most, Make make)
    : host_(host), most_(most), make_(std::move(make)) {}

Connection& Pool::open_locked() {
  std::unique_ptr<Connection> one = make_();
  all_.reserve(all_.size() + 1);  // first: the library polls none that is not among them
  host_.attach(*one);
  return *all_.emplace_back(std::move(one));
}

// A flush keeps a connection busy for a while, and what needs none does not wait for it: the even
// ones are for takes and renewals, the odd ones for everything else, where there are enough.
Connection* Pool::least_busy_locked(const Call& call) {
  const bool flushes = call.kind == Call::Kind::acquire || call.kind == Call::Kind::renew ||
                       call.kind == Call::Kind::conclude;
  Connection* best = nullptr;
  Connection* other = nullptr;
  Connection* spare = nullptr;
  bool coming = false;
  for (std::size_t i = 0; i < all_.size(); ++i) {
    Connection* const each = all_[i].get();
    if (each->stuck()) continue;
    const bool fits = (i % 2 == 0) == flushes;
    if (each->up()) {
      Connection*& least = fits ? best : other;
      // What tells waits for all others of the server that do: nobody else shall wait behind it.
      const auto burden = [&](const Connection* one) {
        return one->shown().load + (one == ringing_ ? crowd : 0);
      };
      if (least == nullptr || burden(each) < burden(least)) least = each;
    } else if (each->wanted()) {
      coming = true;
    } else if (spare == nullptr || fits) {
      spare = each;
    }
  }
  Connection* const chosen = best == ringing_ && other != nullptr ? other
                             : best != nullptr                    ? best
                                                                  : other;
  if (chosen == nullptr || coming || closed_) return chosen;
  // One more for next time, one after the other. What tells counts as soon as it has chosen its
  // connection, and not when it was sent: whoever comes in between is behind it all the same.
  if (chosen == ringing_ || chosen->shown().load >= (chosen == best ? crowd : 1)) {
    if (spare == nullptr && all_.size() < most_) spare = &open_locked();
    if (spare != nullptr) spare->want();
  }
  return chosen;
}

Pool::Choice Pool::choose(Flight& call) {
  const std::string* const name = call.name();
  const std::lock_guard lock(mutex_);
  if (name == nullptr) {
    Connection* const best = least_busy_locked(call);
    if (call.kind == Call::Kind::wake) ringing_ = best;
    call.is_counted = best != nullptr;
    const bool tells = best == ringing_;
    return {.connection = best, .tells = tells, .only_one = tells && !another_is_up_locked()};
  }
  Way& way = ways_[way_of(*name)];
  if (way.calls == 0 || !way.connection->up()) {
    Connection* const best = least_busy_locked(call);
    if (best == nullptr) return {};
    way.connection = best;
  }
  ++way.calls;
  call.is_counted = true;
  const bool tells = way.connection == ringing_;
  return {.connection = way.connection,
          .tells = tells,
          .only_one = tells && !another_is_up_locked(),
          .done = way.done};
}

bool Pool::may_go_elsewhere(const Call& call, const Choice& chosen) const {
  if (call.kind == Call::Kind::wake) return false;
  const std::string* const name = call.name();
  const std::lock_guard lock(mutex_);
  if (chosen.connection != ringing_) return false;
  const bool another_came = chosen.only_one && another_is_up_locked() &&
                            !base::mutant("postgres.came_too_late_to_be_relieved");
  return !chosen.tells || another_came ||
         (name != nullptr && ways_[way_of(*name)].done != chosen.done);
}

std::size_t Pool::way_of(const std::string& name) const {
  return std::hash<std::string>{}(name) % ways_.size();
}

/// @return whether one is up beside the one that tells.
bool Pool::another_is_up_locked() const {
  return std::any_of(all_.begin(), all_.end(),
                     [&](const auto& each) { return each.get() != ringing_ && each->up(); });
}

Flights Pool::relieve() {
  const std::lock_guard lock(mutex_);
  if (ringing_ != nullptr && another_is_up_locked()) return ringing_->take_waiting();
  // Whoever waits there has chosen it before it began to tell, and nobody has opened another one.
  if (ringing_ != nullptr && ringing_->shown().load > 1) add_one_locked();
  return {};
}

bool Pool::delays_close() const {
  const std::lock_guard lock(mutex_);
  return std::any_of(all_.begin(), all_.end(),
                     [](const auto& each) { return each->delays_close(); });
}

void Pool::add_one_locked() {
  if (closed_ || base::mutant("postgres.wait_on_the_only_connection")) return;
  Connection* spare = nullptr;
  for (const auto& each : all_) {
    if (each->up() || each->stuck()) continue;
    if (each->wanted()) return;
    if (spare == nullptr) spare = each.get();
  }
  if (spare == nullptr && all_.size() < most_) spare = &open_locked();
  if (spare != nullptr) spare->want();
}

void Pool::done(Flight& call) {
  if (!std::exchange(call.is_counted, false)) return;
  const std::string* const name = call.name();
  const std::lock_guard lock(mutex_);
  if (call.kind == Call::Kind::wake) ringing_ = nullptr;
  if (name == nullptr) return;
  Way& way = ways_[way_of(*name)];
  assert(way.calls > 0);
  --way.calls;
  ++way.done;
}

Failure Pool::want(bool now) {
  const std::lock_guard lock(mutex_);
  if (closed_) return {};
  for (const auto& each : all_) {
    if (each->up()) return {};
  }
  Connection* one = nullptr;
  for (const auto& each : all_) {
    if (each->stuck()) continue;
    if (one == nullptr || (each->wanted() && !one->wanted())) one = each.get();
  }
  if (one == nullptr && all_.size() < most_) one = &open_locked();
  if (one != nullptr) one->want(now);
  return why_down_.get();
}

bool Pool::all_stuck() const {
  const std::lock_guard lock(mutex_);
  return all_.size() >= most_ &&
         std::all_of(all_.begin(), all_.end(), [](const auto& each) { return each->stuck(); });
}

std::vector<std::int64_t> Pool::stuck_processes() const {
  std::vector<std::int64_t> processes;
  const std::lock_guard lock(mutex_);
  for (const auto& each : all_) {
    if (each->stuck() && !each->shown().is_pooled)
      processes.push_back(each->shown().server_process);
  }
  return processes;
}

void Pool::keep_stuck(const std::vector<std::int64_t>& asked_for,
                      const std::vector<std::int64_t>& living) {
  const auto among = [](const std::vector<std::int64_t>& list, std::int64_t process) {
    return std::find(list.begin(), list.end(), process) != list.end();
  };
  const std::lock_guard lock(mutex_);
  for (const auto& each : all_) {
    const std::int64_t process = each->shown().server_process;
    if (each->stuck() && among(asked_for, process) && !among(living, process)) {
      each->request(Connection::Request::forsake);
    }
  }
}

bool Pool::up() const {
  const std::lock_guard lock(mutex_);
  return std::any_of(all_.begin(), all_.end(), [](const auto& each) { return each->up(); });
}

bool Pool::stands() const {
  const std::lock_guard lock(mutex_);
  return std::any_of(all_.begin(), all_.end(),
                     [](const auto& each) { return each->up() || each->stuck(); });
}

bool Pool::has(const Connection& connection) const {
  const std::lock_guard lock(mutex_);
  return std::any_of(all_.begin(), all_.end(),
                     [&](const auto& each) { return each.get() == &connection; });
}

bool Pool::tidy() {
  const std::lock_guard lock(mutex_);
  std::size_t up = 0;
  bool stuck = false;
  for (const auto& each : all_) {
    up += each->up() ? 1U : 0U;
    stuck = stuck || each->stuck();
  }
  // The last ones first: the others are those that are chosen.
  for (auto each = all_.rbegin(); each != all_.rend() && up > 1; ++each) {
    const Connection::Shown& shown = (*each)->shown();
    if (!(*each)->up() || shown.load > 0 || shown.was_used.exchange(false)) continue;
    (*each)->request(Connection::Request::retire);
    --up;
  }
  return up > 1 || stuck;
}

void Pool::request(Connection::Request request) noexcept {
  const std::lock_guard lock(mutex_);
  for (const auto& each : all_) {
    // A connection that is stuck may go on, unless the client has moved to another server.
    const bool forsakes =
        request == Connection::Request::forsake || request == Connection::Request::if_outdated;
    if (each->up() || (forsakes && each->stuck())) each->request(request);
  }
}

std::vector<Source*> Pool::sources() const {
  std::vector<Source*> sources;
  const std::lock_guard lock(mutex_);
  for (const auto& each : all_) sources.push_back(each.get());
  return sources;
}

Flights Pool::close() noexcept {
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;  // none is added any more
  }
  Flights unanswered;
  for (const auto& each : all_) {
    host_.detach(*each);
    unanswered.splice(unanswered.end(), each->close());
  }
  return unanswered;
}

}  // namespace mortise::postgres
