// SPDX-License-Identifier: MIT
// A table that is out of date costs a redirection; one that no redirection mends, since its server
// is dead, costs its names until another server is asked. So whatever looks like a change has one
// asked soon, and again, ever more slowly, until all that is wanted can be reached.
#include "redis/cluster.hpp"

#include "remote/outbox.hpp"

#include <algorithm>
#include <utility>

namespace mortise::redis {
namespace {

constexpr std::chrono::milliseconds shortest_pause{50};
constexpr std::chrono::milliseconds longest_pause{800};

/// Enough of them to find them with CLUSTER NODES.
std::string words_of_nodes(const NodeIds& nodes) {
  constexpr std::size_t enough = 3;
  constexpr std::size_t digits = 8;
  std::string text = nodes.size() == 1 ? "node" : "nodes";
  std::size_t named = 0;
  for (const std::string& id : nodes) {
    if (named++ == enough) return text + " ...";
    text += " " + id.substr(0, digits);
  }
  return text;
}

std::vector<std::string> texts_of(const std::vector<base::Address>& addresses) {
  std::vector<std::string> texts;
  for (const base::Address& each : addresses) texts.push_back(each.text());
  std::sort(texts.begin(), texts.end());
  texts.erase(std::unique(texts.begin(), texts.end()), texts.end());
  return texts;
}

}  // namespace

Cluster::Cluster(const Settings& settings, Make make)
    : settings_(settings),
      make_(std::move(make)),
      membership_(texts_of(settings.seeds)),
      pause_(shortest_pause) {
  Server& first = at_locked(settings_.seeds.front());
  for (auto& slot : table_) slot.store(&first);
}

Cluster::~Cluster() = default;

Server& Cluster::at(const base::Address& address) {
  const std::lock_guard lock(mutex_);
  return at_locked(address);
}

Server& Cluster::at_locked(const base::Address& address) {
  const auto known = nodes_.find({address.host, address.port});
  if (known != nodes_.end()) return *known->second.server;
  decltype(nodes_) one;  // the server refers to its settings, which stay where they are
  Node& node = one[{address.host, address.port}];
  node.settings = settings_;
  node.settings.address = address;
  if (met_.size() == met_.capacity()) met_.reserve(2 * met_.size() + 1);
  node.server = make_(node.settings);  // behind this nothing fails
  met_.push_back(node.server.get());
  nodes_.merge(one);
  return *node.server;
}

Server* Cluster::nth(std::size_t number) const noexcept {
  const std::lock_guard lock(mutex_);
  return number < met_.size() ? met_[number] : nullptr;
}

std::vector<Server*> Cluster::masters() const {
  std::vector<Server*> all;
  for (const auto& slot : table_) {
    if (all.empty() || slot.load() != all.back()) all.push_back(slot.load());
  }
  std::sort(all.begin(), all.end(), std::less<>());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  std::sort(all.begin(), all.end(), [](const Server* a, const Server* b) {
    return a->identity().address().text() < b->identity().address().text();
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
  return refusal_ || !remote::is_final(verdict_) ? refusal_ : verdict_;
}

void Cluster::note_unusable(const Failure& why) {
  const std::lock_guard lock(mutex_);
  why_none_ = why;
}

Cluster::Verdict Cluster::judge(const Server& server, SlotTable table) {
  const std::lock_guard lock(mutex_);
  knows_nothing_ = table.nodes.empty() ? &server : nullptr;
  const auto kind = membership_.answered(server.identity().address().text(), table.nodes,
                                         table.masters, texts_locked());
  return verdict_locked(kind, server, std::move(table));
}

Cluster::Verdict Cluster::judge_silence(const Server& server) {
  const std::lock_guard lock(mutex_);
  return verdict_locked(membership_.silent(server.identity().address().text(), texts_locked()),
                        server, {});
}

// Nobody is asked by this, so it decides nothing as long as there is no agreement.
Failure Cluster::refuses(const Server& server, const SlotTable& table) {
  const std::lock_guard lock(mutex_);
  if (!membership_.is_agreed()) return {};
  const auto kind = membership_.answered(server.identity().address().text(), table.nodes,
                                         table.masters, texts_locked());
  return verdict_locked(kind, server, table).why;
}

Cluster::Verdict Cluster::verdict_locked(Membership::Verdict kind, const Server& server,
                                         SlotTable table) {
  Verdict verdict{.kind = kind};
  switch (kind) {
    case Membership::Verdict::ours: verdict.table = std::move(table); break;
    case Membership::Verdict::undecided:
      if (!membership_.is_agreed()) said_[server.identity().address().text()] = std::move(table);
      break;
    case Membership::Verdict::none: verdict.why = verdict_ = why_none_; break;
    case Membership::Verdict::foreign: verdict.why = foreign_locked(server, table.nodes); break;
    case Membership::Verdict::split: verdict.why = verdict_ = split_locked(); break;
    case Membership::Verdict::agreed: {
      said_[server.identity().address().text()] = std::move(table);
      verdict.table = std::move(said_[membership_.chosen()]);
      said_.clear();
      // What no range names is asked for at a server of this cluster, too.
      const auto chosen =
          std::find_if(settings_.seeds.begin(), settings_.seeds.end(),
                       [&](const auto& seed) { return seed.text() == membership_.chosen(); });
      Server& its = at_locked(*chosen);
      for (auto& slot : table_) slot.store(&its);
      verdict_ = {};
    }
  }
  agreed_.store(membership_.is_agreed());
  return verdict;
}

// A master whose address was given to somebody else is replaced, as a rule; an address in the URL
// stays wrong. Unless it names a master that this client knows: then it may be the others that were
// replaced.
Failure Cluster::foreign_locked(const Server& server, const NodeIds& nodes) const {
  const bool named = std::any_of(
      settings_.seeds.begin(), settings_.seeds.end(),
      [&](const base::Address& seed) { return seed.text() == server.identity().address().text(); });
  const bool wrong = named && !membership_.knows_a_master_of(nodes);
  return {wrong ? Errc::misconfigured : Errc::unavailable,
          server.where() + ": the server belongs to another cluster (" + words_of_nodes(nodes) +
              "); this client uses the cluster of " + words_of_nodes(membership_.members()) +
              (wrong ? "; correct this address in the URL" : "")};
}

Failure Cluster::split_locked() const {
  std::string text = "the servers in the URL belong to several clusters";
  char separator = ':';
  for (const auto& [server, nodes] : membership_.others()) {
    text += separator;
    text += " redis " + server + " (" + words_of_nodes(nodes) + ")";
    separator = ',';
  }
  text += "; name servers of one cluster only";
  return {Errc::misconfigured, std::move(text)};
}

Failure Cluster::stranger() const {
  const std::lock_guard lock(mutex_);
  if (!membership_.is_agreed()) return {};
  for (const base::Address& seed : settings_.seeds) {
    const auto found = membership_.others().find(seed.text());
    if (found == membership_.others().end()) continue;
    return {Errc::misconfigured, "redis " + seed.text() +
                                     ": the server belongs to another cluster (" +
                                     words_of_nodes(found->second) +
                                     ") than the other servers in the URL; correct this address"};
  }
  return {};
}

bool Cluster::want_look(Instant now) {
  const std::lock_guard lock(mutex_);
  if (looking_ > 0) {
    again_ = true;
    return false;
  }
  return look_.bring_forward(std::max(now, looked_ + pause_));
}

std::vector<Server*> Cluster::begin_look(Instant now) {
  const std::lock_guard lock(mutex_);
  if (looking_ > 0 || !look_.take(now)) return {};
  std::vector<Server*> whom;
  if (membership_.is_agreed()) {
    whom.push_back(&whom_to_ask_locked());
  } else {
    membership_.begin_round();
    said_.clear();
    why_none_ = {};
    for (const base::Address& seed : settings_.seeds) {
      Server* const its = &at_locked(seed);
      if (std::find(whom.begin(), whom.end(), its) == whom.end()) whom.push_back(its);
    }
  }
  looking_ = whom.size();
  settled_ = false;
  again_ = false;
  looked_ = now;
  return whom;
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

std::vector<std::string> Cluster::texts_locked() {
  std::vector<std::string> texts;
  for (const Server* const each : who_may_tell_locked())
    texts.push_back(each->identity().address().text());
  return texts;
}

// A server that is up, if there is one; each in its turn. If the only one knows nothing, the others
// are asked as well.
Server& Cluster::whom_to_ask_locked() {
  const std::vector<Server*> who = who_may_tell_locked();
  Server* next = nullptr;
  for (std::size_t i = 0; i < who.size(); ++i) {
    Server* const each = who[(turn_ + i) % who.size()];
    if (next == nullptr) next = each;
    if (!each->commands().up() || each == knows_nothing_) continue;
    next = each;
    break;
  }
  ++turn_;
  return *next;
}

void Cluster::end_look(bool settled, Instant now) {
  const std::lock_guard lock(mutex_);
  settled_ = settled_ || settled;
  if (--looking_ > 0) return;
  if (settled_) pause_ = shortest_pause;
  if (settled_ && !again_) return;
  // Without an agreement every call waits for it.
  const auto longest = membership_.is_agreed() ? longest_pause : longest_pause / 2;
  if (!settled_) pause_ = std::min(pause_ * 2, longest);
  look_.bring_forward(now + pause_);
}

}  // namespace mortise::redis
