// SPDX-License-Identifier: MIT
#include "zookeeper/claim.hpp"

#include "core/figures.hpp"
#include "zookeeper/lease_place.hpp"

namespace mortise::zookeeper {
namespace {

/// No attempt of the library has this bit.
constexpr std::uint64_t of_a_gate = std::uint64_t{1} << 63U;

}  // namespace

Claim Claim::of(const Settings& settings, const Acquisition::Request& request) {
  Claim claim{.attempt = request.attempt,
              .name = request.name,
              .mode = request.mode,
              .label = request.label.substr(0, core::longest_label),
              .lease = request.lease,
              .wait = request.wait};
  if (request.mode == Mode::once) {
    claim.key = KeyPlace::of(settings.root, request.name);
    claim.queue = claim.key.queue;
  } else if (request.mode == Mode::permit) {
    const GatePlace gate = GatePlace::of(settings.root, request.name);
    claim.permits = request.permits;
    claim.queue = gate.leases;
    claim.name_node = gate.name;
  } else {
    claim.queue = claim.name_node = lock_path(settings.root, request.name);
    claim.naming = settings.naming;
  }
  if (name_to_keep(request.name).empty()) claim.name_node.clear();
  return claim;
}

Claim Claim::at_gate(const Settings& settings) const {
  Claim gate{.attempt = attempt,
             .name = name,
             .label = label,
             .lease = lease,
             .wait = true,
             .queue = GatePlace::of(settings.root, name).locks,
             .name_node = name_node,
             .is_gate = true};
  gate.attempt.sequence |= of_a_gate;
  return gate;
}

std::string Claim::prefix(std::uint32_t round) const {
  if (permits > 0) return path_below(queue, lease_prefix(attempt, round, permits));
  return path_below(queue, node_prefix(attempt, round, key.mark, mode == Mode::shared, naming));
}

Paths Claim::paths(bool may_be_marked) const {
  constexpr std::size_t digits = 11;         // of a node, behind its prefix
  constexpr std::size_t marked_digits = 17;  // of the grant of its owner
  constexpr std::size_t length = 4;          // of a path, on the wire
  std::size_t node = prefix(0).size() + digits + length;
  if (may_be_marked) node += marked_digits;
  if (permits > 0) node *= 2;  // its gate's
  Paths paths{.owned = node};
  // The path of the node before its own is as long.
  if (wait) paths.watched = node;
  if (wait && mode == Mode::once) paths.watched += key.kept.size() + length;
  return paths;
}

}  // namespace mortise::zookeeper
