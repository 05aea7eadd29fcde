// SPDX-License-Identifier: MIT
// The order of permits, by the numbers that the server puts behind their names.
#include "zookeeper/lease_place.hpp"

#include "base/mutant.hpp"
#include "zookeeper/lock_path.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

namespace mortise::zookeeper {
namespace {

constexpr std::string_view semaphores = "/%permits";  // no escape begins like that
constexpr std::string_view marker = "lease-";

std::optional<std::int64_t> number_of(std::string_view node) {
  const std::size_t at = node.rfind(marker);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view digits = node.substr(at + marker.size());
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error != std::errc{} || end != digits.data() + digits.size()) return std::nullopt;
  return number;
}

/// Of ours: Curator's say nothing of it.
std::optional<std::uint32_t> permits_of(std::string_view node) {
  if (node.size() <= guid_size || node[guid_size] != '-' || node.starts_with("_c_")) return {};
  const std::string_view rest = node.substr(guid_size + 1);
  std::uint32_t permits = 0;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), permits);
  const std::string_view behind(end, static_cast<std::size_t>(rest.data() + rest.size() - end));
  if (error != std::errc{} || !behind.starts_with("-lease-")) return {};
  return permits;
}

}  // namespace

GatePlace GatePlace::of(std::string_view root, std::string_view name) {
  const std::string path = lock_path(semaphores_path(root), name);
  return {.name = path, .leases = leases_below(path), .locks = path + "/locks"};
}

std::string semaphores_path(std::string_view root) { return std::string(root).append(semaphores); }

std::string leases_below(std::string_view semaphore) {
  return std::string(semaphore).append("/leases");
}

std::string lease_prefix(const AttemptId& attempt, std::uint32_t round, std::uint32_t permits) {
  return node_prefix(attempt, round).substr(0, guid_size) + '-' + std::to_string(permits) +
         "-lease-";
}

LeasePlace LeasePlace::of(const Children& children, std::string_view own, std::uint32_t permits) {
  LeasePlace place;
  const std::optional<std::int64_t> mine = number_of(own);
  std::int64_t first = 0;
  std::int64_t nearest = 0;
  if (mine) place.number = *mine;
  for (const std::string_view child : children) {
    const std::optional<std::int64_t> number = number_of(child);
    // Curator counts whatever is there.
    ++place.count;
    if (number && (place.first.empty() || *number < first)) {
      place.first = child;
      first = *number;
    }
    place.there = place.there || child == own;
    // Where two have one number the counter has come to its end.
    const bool itself = child == own && !base::mutant("zookeeper.permit_counted_twice");
    if (itself || (mine && number && *number > *mine)) continue;
    ++place.ahead;
    const std::optional<std::uint32_t> theirs = permits_of(child);
    if (theirs && *theirs != permits && (!place.other_number || *number > nearest)) {
      place.other_number = theirs;
      nearest = *number;
    }
  }
  return place;
}

Children permits_held(const Children& leases) {
  std::vector<std::pair<std::int64_t, std::string_view>> in_order;
  for (const std::string_view node : leases) {
    if (const auto number = number_of(node)) in_order.emplace_back(*number, node);
  }
  std::sort(in_order.begin(), in_order.end());
  std::optional<std::uint32_t> most;
  Children held;
  for (const auto& [number, node] : in_order) {
    if (!most) most = permits_of(node);
    held.push_back(node);
  }
  if (most && held.size() > *most) held.resize(*most);
  return held;
}

}  // namespace mortise::zookeeper
