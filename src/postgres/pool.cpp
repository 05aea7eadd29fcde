// SPDX-License-Identifier: MIT
#include "postgres/pool.hpp"

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
  all_.push_back(make_());
  host_.attach(*all_.back());
  return *all_.back();
}

// A flush keeps a connection busy for a while, and what needs none does not wait for it: the even
// ones are for takes and renewals, the odd ones for everything else, where there are enough.
Connection* Pool::least_busy_locked(const Call& call) {
  const bool flushes = call.kind == Call::Kind::acquire || call.kind == Call::Kind::renew;
  Connection* best = nullptr;
  Connection* other = nullptr;
  Connection* spare = nullptr;
  bool coming = false;
  for (std::size_t i = 0; i < all_.size(); ++i) {
    Connection* const each = all_[i].get();
    const bool fits = (i % 2 == 0) == flushes;
    if (each->up()) {
      Connection*& least = fits ? best : other;
      if (least == nullptr || each->load() < least->load()) least = each;
    } else if (each->wanted()) {
      coming = true;
    } else if (spare == nullptr || fits) {
      spare = each;
    }
  }
  Connection* const chosen = best != nullptr ? best : other;
  if (chosen == nullptr || coming || closed_) return chosen;
  // One more for next time, one after the other.
  if (chosen->load() >= (chosen == best ? crowd : 1)) {
    if (spare == nullptr && all_.size() < most_) spare = &open_locked();
    if (spare != nullptr) spare->want();
  }
  return chosen;
}

Connection* Pool::choose(const Call& call) {
  const std::string* const name = call.name();
  const std::lock_guard lock(mutex_);
  if (name == nullptr) return least_busy_locked(call);
  Way& way = way_locked(*name);
  if (way.calls == 0 || !way.connection->up()) {
    Connection* const best = least_busy_locked(call);
    if (best == nullptr) return nullptr;
    // What was under way on a connection that broke is counted until it is told of.
    way.connection = best;
  }
  ++way.calls;
  return way.connection;
}

Pool::Way& Pool::way_locked(const std::string& name) {
  return ways_[std::hash<std::string>{}(name) % ways_.size()];
}

void Pool::done(const Call& call) {
  const std::string* const name = call.name();
  if (name == nullptr) return;
  const std::lock_guard lock(mutex_);
  Way& way = way_locked(*name);
  assert(way.calls > 0);
  --way.calls;
}

void Pool::want(bool now) {
  const std::lock_guard lock(mutex_);
  if (closed_) return;
  for (const auto& each : all_) {
    if (each->up()) return;
  }
  const auto coming =
      std::find_if(all_.begin(), all_.end(), [](const auto& each) { return each->wanted(); });
  Connection& one = coming != all_.end() ? **coming : all_.empty() ? open_locked() : *all_.front();
  one.want(now);
}

bool Pool::up() const {
  const std::lock_guard lock(mutex_);
  return std::any_of(all_.begin(), all_.end(), [](const auto& each) { return each->up(); });
}

bool Pool::has(const Connection& connection) const {
  const std::lock_guard lock(mutex_);
  return std::any_of(all_.begin(), all_.end(),
                     [&](const auto& each) { return each.get() == &connection; });
}

bool Pool::tidy() {
  const std::lock_guard lock(mutex_);
  std::size_t up = 0;
  for (const auto& each : all_) up += each->up() ? 1U : 0U;
  // The last ones first: the others are those that are chosen.
  for (auto each = all_.rbegin(); each != all_.rend() && up > 1; ++each) {
    if (!(*each)->up() || (*each)->load() > 0 || (*each)->was_used()) continue;
    (*each)->retire();
    --up;
  }
  return up > 1;
}

void Pool::suspect() {
  const std::lock_guard lock(mutex_);
  for (const auto& each : all_) {
    if (each->up()) each->suspect();
  }
}

std::deque<Call> Pool::close() {
  std::vector<Connection*> all;
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    for (const auto& each : all_) all.push_back(each.get());
  }
  std::deque<Call> open;
  for (Connection* const each : all) {
    host_.detach(*each);
    for (Call& call : each->close()) open.push_back(std::move(call));
  }
  return open;
}

}  // namespace mortise::postgres
