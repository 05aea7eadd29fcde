// SPDX-License-Identifier: MIT
// A table that is out of date costs a redirection; one that no redirection mends, since its server
// is dead, costs its names until another server is asked. So whatever looks like a change has one
// asked soon, and again, ever more slowly, until all that is wanted can be reached.
#include "redis/cluster.hpp"

#include <algorithm>
#include <utility>

namespace mortise::redis {
namespace {

constexpr std::chrono::milliseconds shortest_pause{50};
constexpr std::chrono::milliseconds longest_pause{800};

}  // namespace

Cluster::Cluster(const Settings& settings, Make make)
    : settings_(settings), make_(std::move(make)), pause_(shortest_pause) {
  Server& first = at_locked(settings_.seeds.front());
  for (auto& slot : table_) slot.store(&first);
}

Cluster::~Cluster() = default;

Server& Cluster::at(const base::Address& address) {
  const std::lock_guard lock(mutex_);
  return at_locked(address);
}

Server& Cluster::at_locked(const base::Address& address) {
  const auto [at, added] = nodes_.try_emplace({address.host, address.port});
  Node& node = at->second;
  if (!added) return *node.server;
  try {
    node.settings = settings_;
    node.settings.address = address;
    node.server = make_(node.settings);
  } catch (...) {
    nodes_.erase(at);
    throw;
  }
  return *node.server;
}

Server* Cluster::nth(std::size_t number) const noexcept {
  const std::lock_guard lock(mutex_);
  if (number >= nodes_.size()) return nullptr;
  return std::next(nodes_.begin(), static_cast<std::ptrdiff_t>(number))->second.server.get();
}

std::vector<Server*> Cluster::servers() const {
  const std::lock_guard lock(mutex_);
  std::vector<Server*> all;
  all.reserve(nodes_.size());
  for (const auto& [where, node] : nodes_) all.push_back(node.server.get());
  return all;
}

std::vector<Server*> Cluster::masters() const {
  std::vector<Server*> all;
  for (const auto& slot : table_) {
    if (all.empty() || slot.load() != all.back()) all.push_back(slot.load());
  }
  std::sort(all.begin(), all.end(), std::less<>());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  std::sort(all.begin(), all.end(), [](const Server* a, const Server* b) {
    return a->address().text() < b->address().text();
  });
  return all;
}

bool Cluster::has_slots(const Server& server) const noexcept {
  return std::any_of(table_.begin(), table_.end(),
                     [&](const auto& slot) { return slot.load() == &server; });
}

bool Cluster::moved(std::uint16_t slot, Server& to) {
  if (table_[slot].exchange(&to) == &to) return false;
  version_.fetch_add(1);
  return true;
}

// What no range names keeps its server, which is the one to say that the cluster is down.
Cluster::Slots Cluster::learn(const std::vector<SlotRange>& ranges) {
  Slots changed;
  const std::lock_guard lock(mutex_);
  for (const SlotRange& range : ranges) {
    Server& master = at_locked(range.master);
    for (std::size_t slot = range.first; slot <= range.last; ++slot) {
      if (table_[slot].exchange(&master) != &master) changed.set(slot);
    }
  }
  if (!ranges.empty()) told_ = looked_;
  version_.fetch_add(1);
  return changed;
}

bool Cluster::is_told(Instant since) const {
  const std::lock_guard lock(mutex_);
  return told_ && *told_ >= since;
}

void Cluster::note_refusal(Failure why) {
  const std::lock_guard lock(mutex_);
  refusal_ = std::move(why);
}

Failure Cluster::refusal() const {
  const std::lock_guard lock(mutex_);
  return refusal_;
}

bool Cluster::pass_over(Server& server) {
  const std::lock_guard lock(mutex_);
  if (told_ || table_.front().load() != &server || settings_.seeds.size() < 2) return false;
  Server& next = at_locked(settings_.seeds[(seed_ + 1) % settings_.seeds.size()]);
  seed_ = (seed_ + 1) % settings_.seeds.size();
  for (auto& slot : table_) {
    Server* expected = &server;
    slot.compare_exchange_strong(expected, &next);
  }
  version_.fetch_add(1);
  return true;
}

bool Cluster::want_look(Instant now) {
  const std::lock_guard lock(mutex_);
  if (looking_) {
    again_ = true;
    return false;
  }
  return look_.bring_forward(std::max(now, looked_ + pause_));
}

bool Cluster::begins_look(Instant now) {
  const std::lock_guard lock(mutex_);
  if (looking_ || !look_.take(now)) return false;
  looking_ = true;
  again_ = false;
  looked_ = now;
  return true;
}

// Those that have left may be many, and are gone, as a rule: where each of them took its time to be
// silent, nobody would come to a seed any more by whose name there are others.
std::vector<Server*> Cluster::who_may_tell_locked() {
  // One that only the user has named is met here.
  std::vector<Server*> who;
  for (const base::Address& seed : settings_.seeds) who.push_back(&at_locked(seed));
  for (Server* const master : masters()) {
    if (std::find(who.begin(), who.end(), master) == who.end()) who.push_back(master);
  }
  return who;
}

Server& Cluster::whom_to_ask() {
  const std::lock_guard lock(mutex_);
  const std::vector<Server*> who = who_may_tell_locked();
  Server* next = nullptr;
  for (std::size_t i = 0; i < who.size(); ++i) {
    Server* const each = who[(turn_ + i) % who.size()];
    if (next == nullptr) next = each;
    if (!each->commands().up()) continue;
    next = each;
    break;
  }
  ++turn_;
  return *next;
}

void Cluster::end_look(bool settled, Instant now) {
  const std::lock_guard lock(mutex_);
  looking_ = false;
  if (settled) pause_ = shortest_pause;
  if (settled && !again_) return;
  if (!settled) pause_ = std::min(pause_ * 2, longest_pause);
  look_.bring_forward(now + pause_);
}

}  // namespace mortise::redis
