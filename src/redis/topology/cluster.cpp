// SPDX-License-Identifier: MIT
#include "redis/topology/cluster.hpp"

#include "remote/outbox.hpp"

#include <algorithm>
#include <utility>

namespace mortise::redis {

Cluster::Cluster(const Settings& settings, Make make)
    : settings_(settings), make_(std::move(make)), agreement_(settings.seeds) {
  slots_.fill(at_locked(settings_.seeds.front()));
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

// A slot that no range names keeps its server, which reports that the cluster is down.
Cluster::Slots Cluster::learn(const std::vector<SlotRange>& ranges) {
  Slots changed;
  const std::lock_guard lock(mutex_);
  for (const SlotRange& range : ranges) slots_.learn(range, at_locked(range.master), changed);
  if (!ranges.empty()) pace_.told();
  slots_.note();
  return changed;
}

bool Cluster::is_told(Instant since) const {
  const std::lock_guard lock(mutex_);
  return pace_.is_told(since);
}

void Cluster::note_refusal(Failure why) {
  const std::lock_guard lock(mutex_);
  refusal_ = std::move(why);
}

Failure Cluster::refusal() const {
  const std::lock_guard lock(mutex_);
  const Failure& none = agreement_.why_none();
  return refusal_ || !remote::is_final(none) ? refusal_ : none;
}

void Cluster::note_unusable(const Failure& why) {
  const std::lock_guard lock(mutex_);
  agreement_.note_unusable(why);
}

Cluster::Verdict Cluster::judge(const Server& server, SlotTable table) {
  const std::lock_guard lock(mutex_);
  knows_nothing_ = table.nodes.empty() ? &server : nullptr;
  Verdict verdict = agreement_.judge(server, std::move(table), texts_locked());
  note_agreement_locked();
  return verdict;
}

Cluster::Verdict Cluster::judge_silence(const Server& server) {
  const std::lock_guard lock(mutex_);
  Verdict verdict = agreement_.judge_silence(server, texts_locked());
  note_agreement_locked();
  return verdict;
}

// A slot that no range of the chosen answer names gets a server of that cluster as well. Calls may
// leave as soon as the agreement shows, so that is the last step.
void Cluster::note_agreement_locked() {
  const bool is_new = agreement_.is_reached() && !is_agreed();
  if (is_new) slots_.fill(at_locked(agreement_.chosen()));
  is_agreed_.store(agreement_.is_reached());
}

Failure Cluster::refuses(const Server& server, const SlotTable& table) {
  const std::lock_guard lock(mutex_);
  Failure why = agreement_.refuses(server, table, texts_locked());
  note_agreement_locked();
  return why;
}

Failure Cluster::stranger() const {
  const std::lock_guard lock(mutex_);
  return agreement_.stranger();
}

bool Cluster::want_look(Instant now) {
  const std::lock_guard lock(mutex_);
  return pace_.want(now);
}

std::vector<Server*> Cluster::begin_look(Instant now) {
  const std::lock_guard lock(mutex_);
  if (!pace_.take(now)) return {};
  std::vector<Server*> whom;
  if (is_agreed()) {
    whom.push_back(&whom_to_ask_locked());
  } else {
    agreement_.begin_round();
    for (const base::Address& seed : settings_.seeds) {
      Server* const its = &at_locked(seed);
      if (std::find(whom.begin(), whom.end(), its) == whom.end()) whom.push_back(its);
    }
  }
  pace_.begin(whom.size(), now);
  return whom;
}

// Servers without slots may be many, and are gone, as a rule. Each of them would take its time to
// be silent, and the turn would not come to a seed whose name leads to other servers by now.
std::vector<Server*> Cluster::who_may_tell_locked() {
  // A server that only the user has named is met here.
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
  pace_.end(settled, is_agreed(), now);
}

}  // namespace mortise::redis
