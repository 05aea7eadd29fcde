// SPDX-License-Identifier: MIT
// Which nodes are to be looked at, in what order, and what their answers come to.
#include "zookeeper/gathering.hpp"

#include "core/figures.hpp"
#include "core/first_names.hpp"
#include "zookeeper/lease_place.hpp"
#include "zookeeper/lock_path.hpp"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

namespace mortise::zookeeper {
namespace {

using From = Gathering::From;

// The server has so many requests of all its clients under way, and no more
// (globalOutstandingLimit, 1,000); holds are renewed meanwhile.
constexpr std::size_t looks_of_a_page = 200;

/// How long ago, by the clocks of this machine and of the leader, as far as they agree.
std::optional<std::chrono::milliseconds> age_since(std::int64_t created) {
  const auto now = std::chrono::duration_cast<std::chrono::milliseconds>(
      std::chrono::system_clock::now().time_since_epoch());
  const std::chrono::milliseconds age = now - std::chrono::milliseconds(created);
  return created > 0 && age.count() >= 0 ? std::optional(age) : std::nullopt;
}

void add(Gathering& gathering, From from, const std::string& where, const Children& nodes) {
  for (const std::string_view node : nodes) {
    gathering.parts.push_back(
        {.node = std::string(node), .path = path_below(where, node), .from = from});
  }
}

/// @return whether it is the node of who runs the key, by what was kept just before the list
bool runs(const Gathering& gathering, const Gathering::Part& part) {
  return part.from == From::runs && gathering.memo.is_run_by(part.node);
}

}  // namespace

void add_names(Gathering& gathering, const Listing& listing, const std::string& where,
               const Children& nodes, const std::string& behind) {
  core::FirstNames first(behind, std::min(listing.limit(), looks_of_a_page));
  for (const std::string_view node : nodes) {
    const std::optional<std::string> name = name_by(node);
    if (name && (name->empty() || name->starts_with(listing.prefix()))) first.see(node);
  }
  for (const std::string& node : first.take()) {
    gathering.parts.push_back(
        {.node = node, .path = path_below(where, node), .name = *name_by(node)});
  }
  if (!first.all()) gathering.cursor = gathering.parts.back().node;
}

void add_lock(Gathering& gathering, const std::string& where, const Children& children,
              std::size_t limit) {
  std::vector<std::pair<Standing, std::string_view>> nodes;
  for (const std::string_view node : children) {
    if (const auto standing = Standing::of(node)) nodes.emplace_back(*standing, node);
  }
  std::sort(nodes.begin(), nodes.end(),
            [](const auto& left, const auto& right) { return left.first.is_before(right.first); });
  gathering.in_all = nodes.size();
  gathering.holders = holders_of(children).size();
  Children wanted;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const std::size_t before = i < gathering.holders ? i : i - gathering.holders;
    if (before < limit) wanted.push_back(nodes[i].second);
  }
  add(gathering, From::lock, where, wanted);
}

void add_permits(Gathering& gathering, const std::string& where, const Children& children,
                 std::size_t limit) {
  Children held = permits_held(children);
  if (held.size() > limit) held.resize(limit);
  add(gathering, From::permits, where, held);
}

void add_waiters(Gathering& gathering, From from, const std::string& where,
                 const Children& children, std::size_t limit) {
  const std::string_view runner =
      gathering.memo.pending() ? find_prefix(children, gathering.memo.kept.runner) : "";
  std::vector<std::pair<std::int64_t, std::string_view>> nodes;
  for (const std::string_view node : children) {
    if (const auto number = sequence_of(node))
      nodes.emplace_back(node == runner ? -1 : *number, node);
  }
  std::sort(nodes.begin(), nodes.end());
  gathering.in_all = nodes.size();
  Children wanted;
  for (const auto& [number, node] : nodes) {
    if (wanted.size() < limit + (runner.empty() ? 0 : 1)) wanted.push_back(node);
  }
  add(gathering, from, where, wanted);
}

NamePage page_of(Gathering& gathering, std::string_view prefix) {
  NamePage page;
  for (Gathering::Part& part : gathering.parts) {
    // Of a name that its path does not tell the prefix is known by now only.
    const bool wanted = part.name.empty() || part.name.starts_with(prefix);
    if (!part.there || !wanted) continue;
    part.name.empty() ? void(++page.too_long) : page.names.push_back(std::move(part.name));
  }
  page.cursor = std::move(gathering.cursor);
  return page;
}

// Whoever has gone in the meantime stands in it no more; the first of the others have the lock.
NameQueue queue_of(const Gathering& gathering, std::size_t limit, std::vector<HoldMark>& marks) {
  NameQueue queue;
  Children there;  // at the lock
  for (const Gathering::Part& part : gathering.parts) {
    if (part.there && part.from == From::lock) there.push_back(part.node);
  }
  // Where not all of them were looked at, whoever stands behind those is left out as well.
  const bool all = gathering.holders <= limit;
  const std::size_t holders = all ? holders_of(there).size() : limit;
  std::size_t left = gathering.in_all;
  std::size_t hold = all ? holders : gathering.holders;  // of these
  for (const Gathering::Part& part : gathering.parts) {
    if (!part.there) {
      if (part.from != From::permits) --left;
      continue;
    }
    const std::optional<std::chrono::milliseconds> age = age_since(part.created);
    const bool has_lock = part.from == From::lock && queue.holders.size() < holders;
    if (has_lock || part.from == From::permits) {
      queue.holders.push_back({.label = part.holder.label,
                               .mode = part.holder.mode,
                               .token = part.holder.token,
                               .age = age});
      marks.push_back({.mark = part.path});
    } else if (runs(gathering, part)) {
      const Memo& memo = gathering.memo;
      queue.holders.push_back({.label = part.holder.label,
                               .token = Token(memo.kept.record.number * core::tokens_in_a_grant),
                               .age = age_since(memo.written)});
      marks.push_back({.mark = part.path});
      ++hold;
    } else if (queue.waiters.size() < limit) {
      queue.waiters.push_back({.label = part.holder.label, .mode = part.holder.mode, .age = age});
    }
  }
  queue.waiters_in_all = left - std::min(left, hold);
  return queue;
}

}  // namespace mortise::zookeeper
