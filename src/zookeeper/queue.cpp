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

struct Marker {
  std::string_view text;
  bool shared;
  Naming naming;
};

// Curator's and Go's names end "lock-<number>", .NET's and ours too; those of Curator's read and
// write locks, and kazoo's, as here.
constexpr std::array<Marker, 5> markers{{{"lock-", false, Naming::mutex},
                                         {"__lock__", false, Naming::kazoo},
                                         {"__WRIT__", false, Naming::read_write},
                                         {"__READ__", true, Naming::read_write},
                                         {"__rlock__", true, Naming::kazoo}}};
// Of ours. Curator's mutex, Go and kazoo with its pattern see a "lock-", and wait.
constexpr std::string_view reader_of_ours = "-rlock-";

struct Names {
  std::string_view exclusive;
  std::string_view shared;
};
constexpr std::array<Names, 3> names_of_ours{
    {{"-lock-", reader_of_ours}, {"-__WRIT__", "-__READ__"}, {"__lock__", "__rlock__"}}};

// Curator's and Go's begin "_c_", kazoo's with 32 digits.
bool is_ours(std::string_view node) noexcept {
  if (node.size() <= guid_size) return false;
  const std::string_view rest = node.substr(guid_size);
  if (rest.front() != '-' && !rest.starts_with("__")) return false;
  return node.substr(0, guid_size).find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

struct Seen {
  std::string_view node;
  Standing standing;
};

std::vector<Seen> seen_in(const Children& children) {
  std::vector<Seen> all;
  all.reserve(children.size());
  for (const std::string_view child : children) {
    if (const auto standing = Standing::of(child)) all.push_back({child, *standing});
  }
  return all;
}

/// Whether it has the lock, where `alone` is the first who wants it alone.
bool has_it(const Standing& each, const Seen* head, const Standing* alone) noexcept {
  if (alone == nullptr) return true;
  // Its owner, and whoever went on from that as a reader.
  if (!head->standing.shared) return each.number == head->standing.number;
  // Of one number, and only one: see keeps_out().
  return each.shared && each.number <= alone->number;
}

/// Who keeps `other` from the lock.
bool keeps_out(const Standing& each, const Standing& other, const Seen* head) noexcept {
  if (!other.shared && base::mutant("zookeeper.writer_beside_readers") && each.shared) return false;
  if (other.shared && each.shared) return false;
  if (other.shared && base::mutant("zookeeper.reader_overtakes_a_writer") &&
      each.number != head->standing.number) {
    return false;
  }
  // A reader with the number of an owner is that owner.
  return each.number < other.number;
}

}  // namespace

std::optional<Standing> Standing::of(std::string_view node) {
  for (const Marker& marker : markers) {
    const std::size_t at = node.rfind(marker.text);
    if (at == std::string_view::npos) continue;
    const std::string_view digits = node.substr(at + marker.text.size());
    std::int64_t number = 0;
    // Past 2^31 - 1 some servers go on with negative numbers: larger ones would come before them.
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (error != std::errc{} || end != digits.data() + digits.size()) continue;
    const bool ours = is_ours(node);
    const std::string_view all = node.substr(0, at + marker.text.size());
    return Standing{.number = number,
                    .shared = marker.shared || (ours && all.ends_with(reader_of_ours)),
                    .ours = ours,
                    .naming = marker.naming};
  }
  return std::nullopt;
}

std::string node_prefix(const AttemptId& attempt, std::uint32_t round, std::string_view mark,
                        bool shared, Naming naming) {
  base::SplitMix high(attempt.client_high);
  base::SplitMix low(attempt.client_low ^ high.next());
  base::SplitMix sequence(attempt.sequence ^ low.next());
  base::SplitMix mixed(round ^ sequence.next());
  std::string prefix = hexadecimal(mixed.next());
  if (!mark.empty()) prefix.append(1, '-').append(mark);
  const Names& names = names_of_ours.at(static_cast<std::size_t>(naming));
  return prefix.append(shared ? names.shared : names.exclusive);
}

std::string_view mark_in(std::string_view node) noexcept {
  constexpr std::size_t size = 16;
  if (!is_ours(node) || node.size() <= guid_size + 1 + size) return {};
  const std::string_view mark = node.substr(guid_size + 1, size);
  const bool digits = mark.find_first_not_of("0123456789abcdef") == std::string_view::npos;
  return digits ? mark : std::string_view();
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
  const std::optional<Standing> standing = Standing::of(node);
  return standing ? std::optional(standing->number) : std::nullopt;
}

std::string_view find_prefix(const Children& children, std::string_view prefix) {
  if (prefix.empty()) return {};
  const auto found = std::find_if(children.begin(), children.end(), [&](std::string_view child) {
    return child.starts_with(prefix);
  });
  return found == children.end() ? std::string_view() : *found;
}

namespace {

struct Front {
  const Seen* head = nullptr;       ///< null: there is nobody
  const Standing* alone = nullptr;  ///< the first who wants it alone; null: nobody does
};

Front front_of(const std::vector<Seen>& all) noexcept {
  Front front;
  for (const Seen& each : all) {
    if (front.head == nullptr || each.standing.is_before(front.head->standing)) front.head = &each;
    if (each.standing.shared) continue;
    if (front.alone == nullptr || each.standing.number < front.alone->number) {
      front.alone = &each.standing;
    }
  }
  return front;
}

}  // namespace

Children holders_of(const Children& children) {
  std::vector<Seen> all = seen_in(children);
  std::sort(all.begin(), all.end(), [](const Seen& left, const Seen& right) {
    return left.standing.is_before(right.standing);
  });
  const Front front = front_of(all);
  Children holders;
  for (const Seen& each : all) {
    if (has_it(each.standing, front.head, front.alone)) holders.push_back(each.node);
  }
  return holders;
}

Place Place::of(const Children& children, std::string_view own, Naming naming) {
  const std::optional<Standing> mine = Standing::of(own);
  const std::vector<Seen> all = seen_in(children);
  const auto [head, alone] = front_of(all);
  Place place{.count = all.size()};
  const Seen* predecessor = nullptr;
  bool there = false;
  bool tie = false;
  bool foreign = false;
  for (const Seen& each : all) {
    const Standing& standing = each.standing;
    if (has_it(standing, head, alone)) ++place.holders;
    // Whoever does not see our name would have the lock beside us. (kazoo can be told to.)
    foreign = foreign ||
              (!standing.ours && standing.naming != naming && standing.naming != Naming::kazoo);
    if (each.node == own) there = true;
    if (each.node == own || !mine) continue;
    tie = tie || (!standing.shared && !mine->shared && standing.number == mine->number);
    place.wanted = place.wanted || keeps_out(*mine, standing, head);
    const bool before = base::mutant("zookeeper.string_order") && !mine->shared
                            ? each.node < own
                            : keeps_out(standing, *mine, head);
    if (!before) continue;
    ++place.ahead;
    if (predecessor == nullptr || predecessor->standing.is_before(standing)) predecessor = &each;
  }
  if (head != nullptr) place.head = head->node;
  place.head_is_shared = head != nullptr && head->standing.shared;
  if (predecessor != nullptr) place.predecessor = predecessor->node;
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
