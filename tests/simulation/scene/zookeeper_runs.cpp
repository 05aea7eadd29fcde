// SPDX-License-Identifier: MIT
#include "simulation/scene/zookeeper_runs.hpp"

#include "zookeeper/kept.hpp"
#include "zookeeper/lock_path.hpp"

namespace simulation {
namespace {

using mortise::zookeeper::Kept;
using mortise::zookeeper::KeyPlace;

constexpr std::size_t keys_of_trials = 2;

KeyPlace place_of(std::size_t key) { return KeyPlace::of("/locks", "key/" + std::to_string(key)); }

}  // namespace

std::optional<ZooKeeperRuns::Run> ZooKeeperRuns::of_key(std::size_t key) const {
  const KeyPlace place = place_of(key);
  const zookeeper::Node* const node = ensemble_.committed().find(place.kept);
  if (node == nullptr || !node->data) return std::nullopt;
  const std::optional<Kept> kept = Kept::read(*node->data);
  if (!kept || kept->record.state != mortise::KeyState::pending) return std::nullopt;
  for (const zookeeper::Holder& each : ensemble_.queue(place.queue)) {
    if (!each.node.starts_with(kept->runner)) continue;
    return Run{.key = key,
               .session = each.session,
               .node = place.queue + "/" + each.node,
               .grant = static_cast<std::uint64_t>(node->stat.mzxid)};
  }
  return std::nullopt;
}

std::optional<ZooKeeperRuns::Run> ZooKeeperRuns::any() const {
  for (std::size_t key = 0; key < keys_; ++key) {
    if (std::optional<Run> run = of_key(key)) return run;
  }
  return std::nullopt;
}

std::vector<ZooKeeperRuns::Run> ZooKeeperRuns::of(std::int64_t session) const {
  std::vector<Run> out;
  for (std::size_t key = 0; key < keys_; ++key) {
    const std::optional<Run> run = of_key(key);
    if (run && run->session == session) out.push_back(*run);
    const KeyPlace place = place_of(key);
    std::vector<zookeeper::Holder> nodes = ensemble_.queue(place.queue);
    const std::vector<zookeeper::Holder> coming = ensemble_.coming(place.queue);
    nodes.insert(nodes.end(), coming.begin(), coming.end());
    for (const std::int64_t begun : ensemble_.coming_writes(place.kept)) {
      for (const zookeeper::Holder& each : nodes) {
        if (each.session != session) continue;
        out.push_back({.key = key,
                       .session = session,
                       .node = place.queue + "/" + each.node,
                       .grant = static_cast<std::uint64_t>(begun)});
      }
    }
  }
  return out;
}

std::string ZooKeeperRuns::leftovers() const {
  for (std::size_t key = 0; key < keys_; ++key) {
    const KeyPlace place = place_of(key);
    const std::size_t waiting = ensemble_.children(place.queue);
    if (waiting > 0) return place.queue + " has " + std::to_string(waiting) + " nodes";
    const std::size_t kept = ensemble_.children(place.shelf);
    if (kept > keys_ + keys_of_trials)
      return place.shelf + " has " + std::to_string(kept) + " nodes";
  }
  return {};
}

}  // namespace simulation
