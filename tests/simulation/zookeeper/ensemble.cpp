// SPDX-License-Identifier: MIT
#include "simulation/zookeeper/ensemble.hpp"

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

const Tree& Ensemble::committed() const {
  if (const auto leads = leader()) return peers_[*leads]->tree();
  const Tree* out = &peers_.front()->tree();
  for (const auto& peer : peers_) {
    if (peer->tree().last() > out->last()) out = &peer->tree();
  }
  return *out;
}

std::optional<Holder> Ensemble::who_holds(std::string_view path) const {
  const Tree& tree = committed();
  const Node* const queue = tree.find(path);
  if (queue == nullptr) return std::nullopt;
  const std::string* first = nullptr;
  std::uint64_t lowest = 0;
  for (const std::string& child : queue->children) {
    const auto number = number_of(child);
    if (!number || (first != nullptr && *number >= lowest)) continue;
    first = &child;
    lowest = *number;
  }
  if (first == nullptr) return std::nullopt;
  const Node* const node = tree.find(std::string(path).append("/").append(*first));
  return Holder{.node = *first, .session = node->stat.owner, .czxid = node->stat.czxid};
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

}  // namespace simulation::zookeeper
