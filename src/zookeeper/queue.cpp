// SPDX-License-Identifier: MIT
// Which nodes stand in the queue, and in which order, whatever library has made them.
#include "zookeeper/queue.hpp"

#include "base/mutant.hpp"
#include "base/random_id.hpp"
#include "zookeeper/lock_path.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>

namespace mortise::zookeeper {
namespace {

// Curator's and Go's names end "lock-<number>", .NET's and ours too; kazoo's "__lock__<number>".
constexpr std::array<std::string_view, 2> markers{"lock-", "__lock__"};
// Of Curator's and kazoo's read and write locks, whose order is another one.
constexpr std::array<std::string_view, 3> shared_markers{"__READ__", "__WRIT__", "__rlock__"};

bool contains_any(std::string_view node, const auto& words) {
  return std::any_of(words.begin(), words.end(), [&](std::string_view word) {
    return node.find(word) != std::string_view::npos;
  });
}

}  // namespace

std::string node_prefix(const AttemptId& attempt, std::uint32_t round) {
  base::SplitMix high(attempt.client_high);
  base::SplitMix low(attempt.client_low ^ high.next());
  base::SplitMix sequence(attempt.sequence ^ low.next());
  base::SplitMix mixed(round ^ sequence.next());
  return hexadecimal(mixed.next()) + "-lock-";
}

std::string node_prefix(const AttemptId& attempt, std::uint32_t round, std::string_view mark) {
  return node_prefix(attempt, round).insert(guid_size, mark).insert(guid_size, 1, '-');
}

Children marked(const Children& children, std::string_view mark) {
  Children out;
  std::copy_if(children.begin(), children.end(), std::back_inserter(out),
               [&](std::string_view child) {
                 return child.size() > guid_size && child.substr(guid_size + 1).starts_with(mark);
               });
  return out;
}

std::optional<std::int64_t> sequence_of(std::string_view node) {
  for (const std::string_view marker : markers) {
    const std::size_t at = node.rfind(marker);
    if (at == std::string_view::npos) continue;
    const std::string_view digits = node.substr(at + marker.size());
    std::int64_t number = 0;
    // Past 2^31 - 1 some servers go on with negative numbers: larger ones would come before them.
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (error == std::errc{} && end == digits.data() + digits.size()) return number;
  }
  return std::nullopt;
}

std::string_view find_prefix(const Children& children, std::string_view prefix) {
  const auto found = std::find_if(children.begin(), children.end(), [&](std::string_view child) {
    return child.starts_with(prefix);
  });
  return found == children.end() ? std::string_view() : *found;
}

Place Place::of(const Children& children, std::string_view own) {
  const std::optional<std::int64_t> mine = sequence_of(own);
  Place place;
  std::string_view head;
  std::string_view predecessor;
  std::int64_t head_number = 0;
  std::int64_t predecessor_number = 0;
  bool there = false;
  bool tie = false;
  bool foreign = false;
  for (const std::string_view child : children) {
    foreign = foreign || contains_any(child, shared_markers);
    const std::optional<std::int64_t> number = sequence_of(child);
    if (!number) continue;
    ++place.count;
    if (head.empty() || *number < head_number) {
      head = child;
      head_number = *number;
    }
    if (child == own) {
      there = true;
      continue;
    }
    if (!mine) continue;
    const bool after = base::mutant("zookeeper.string_order") ? child > own : *number > *mine;
    if (after) continue;
    tie = tie || *number == *mine;
    ++place.ahead;
    if (predecessor.empty() || *number > predecessor_number) {
      predecessor = child;
      predecessor_number = *number;
    }
  }
  place.head = head;
  place.predecessor = predecessor;
  if (foreign) {
    place.kind = Kind::foreign;
  } else if (!there) {
    place.kind = Kind::missing;
  } else if (tie) {
    place.kind = Kind::tied;
  } else {
    place.kind = place.ahead == 0 ? Kind::first : Kind::behind;
  }
  return place;
}

}  // namespace mortise::zookeeper
