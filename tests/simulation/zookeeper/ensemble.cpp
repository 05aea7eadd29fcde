// SPDX-License-Identifier: MIT
#include "simulation/zookeeper/ensemble.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace simulation::zookeeper {
namespace {

// The number that a name ends with; nothing: it ends with none.
std::optional<std::uint64_t> number_of(std::string_view name) {
  const std::size_t before = name.find_last_not_of("0123456789");
  const std::string_view digits = name.substr(before + 1);  // of npos: all
  if (digits.empty() || digits.size() > 10) return std::nullopt;
  std::uint64_t out = 0;
  for (const char digit : digits) out = 10 * out + static_cast<std::uint64_t>(digit - '0');
  return out;
}

}  // namespace

Ensemble::Ensemble(const std::vector<Site*>& sites, const Options& options)
    : options_(options), post_(sites, options_, [this](std::size_t to, Message message) {
        peers_[to]->deliver(std::move(message));
      }) {
  for (std::size_t i = 0; i < sites.size(); ++i) {
    peers_.push_back(std::make_unique<Peer>(i, sites.size(), *sites[i], post_, options_));
  }
  for (const auto& peer : peers_) peer->start();
}

// A leader that was replaced may not know it yet: its epoch is older.
std::optional<std::size_t> Ensemble::leader() const {
  std::optional<std::size_t> out;
  for (std::size_t i = 0; i < peers_.size(); ++i) {
    const Peer& peer = *peers_[i];
    if (peer.role() != Role::leading || !peer.serving()) continue;
    if (!out || peer.epoch() > peers_[*out]->epoch()) out = i;
  }
  return out;
}

bool Ensemble::end_session(std::int64_t session) {
  const auto leads = leader();
  if (leads) peers_[*leads]->end_session(session);
  return leads.has_value();
}

bool Ensemble::remove(std::string path) {
  const auto leads = leader();
  if (leads) peers_[*leads]->remove(std::move(path));
  return leads.has_value();
}

std::optional<ConnectionId> Ensemble::connection_of(std::int64_t session) const {
  for (const auto& peer : peers_) {
    if (const auto found = peer->connection_of(session)) return found;
  }
  return std::nullopt;
}

const Tree& Ensemble::committed() const {
  const Tree* out = &peers_.front()->tree();
  for (const auto& peer : peers_) {
    if (peer->tree().last() > out->last()) out = &peer->tree();
  }
  return *out;
}

std::vector<Holder> Ensemble::queue(std::string_view path) const {
  const Tree& tree = committed();
  const Node* const node = tree.find(path);
  if (node == nullptr) return {};
  // An owner that goes on as a reader has two nodes with one number.
  std::multimap<std::uint64_t, const std::string*> in_order;
  for (const std::string& child : node->children) {
    if (const auto number = number_of(child)) in_order.emplace(*number, &child);
  }
  std::vector<Holder> out;
  for (const auto& [number, child] : in_order) {
    const Node* const each = tree.find(std::string(path).append("/").append(*child));
    out.push_back({.node = *child, .session = each->stat.owner, .czxid = each->stat.czxid});
  }
  return out;
}

std::vector<Holder> Ensemble::coming(std::string_view path) const {
  std::vector<Holder> out;
  const auto leads = leader();
  if (!leads) return out;
  const std::string above = std::string(path) + "/";
  for (const TxnPtr& txn : peers_[*leads]->log()) {
    for (const Change& change : txn->changes) {
      if (!change.ephemeral || !change.path.starts_with(above)) continue;
      out.push_back(
          {.node = change.path.substr(above.size()), .session = txn->session, .czxid = txn->zxid});
    }
  }
  return out;
}

std::vector<std::int64_t> Ensemble::coming_writes(std::string_view path) const {
  std::vector<std::int64_t> out;
  const auto leads = leader();
  if (!leads) return out;
  for (const TxnPtr& txn : peers_[*leads]->log()) {
    for (const Change& change : txn->changes) {
      if (change.data && change.path == path) out.push_back(txn->zxid);
    }
  }
  return out;
}

std::optional<Holder> Ensemble::who_holds(std::string_view path) const {
  const std::vector<Holder> all = queue(path);
  return all.empty() ? std::nullopt : std::optional(all.front());
}

std::size_t Ensemble::children(std::string_view path) const {
  const Node* const node = committed().find(path);
  return node == nullptr ? 0 : node->children.size();
}

std::size_t Ensemble::watches() const {
  std::size_t out = 0;
  for (const auto& peer : peers_) out += peer->watches();
  return out;
}

bool Ensemble::watches_of(std::int64_t session) const {
  return std::any_of(peers_.begin(), peers_.end(),
                     [session](const auto& peer) { return peer->watches_of(session); });
}

}  // namespace simulation::zookeeper
