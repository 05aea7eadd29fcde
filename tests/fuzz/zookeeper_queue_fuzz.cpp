// SPDX-License-Identifier: MIT
// Goal: whatever names a lock's children have, at most one of them has the lock, or readers
// together, and each of the others waits for another one that comes before it. Method: lines are
// the children; each is asked for its place, and no order of the list makes a difference.
#include "fuzz/fuzz.hpp"
#include "zookeeper/lock_path.hpp"
#include "zookeeper/queue.hpp"

#include <algorithm>
#include <string>
#include <vector>

namespace {

using namespace mortise::zookeeper;
using mortise::fuzz::expect;
using mortise::fuzz::Input;

void check(const Children& children, std::string_view own, const Place& place) {
  const auto mine = sequence_of(own);
  expect(place.count <= children.size() && place.ahead <= place.count, "so many there are");
  expect(place.head.empty() == (place.count == 0), "somebody has it, or nobody is there");
  switch (place.kind) {
    case Place::Kind::first:
      expect(place.ahead == 0 && mine, "the first has it", own);
      expect(place.head == own || Standing::of(own)->shared, "one, or readers", own);
      break;
    case Place::Kind::behind: {
      const auto theirs = sequence_of(place.predecessor);
      expect(mine && theirs && *theirs < *mine, "who waits, waits for one before it", own);
      expect(place.ahead > 0 && (place.head != own || Standing::of(own)->shared), "behind somebody",
             own);
      break;
    }
    case Place::Kind::missing:
    case Place::Kind::tied:
    case Place::Kind::foreign: break;
  }
}

void check(const Children& children) {
  Children backwards(children.rbegin(), children.rend());
  std::size_t owners = 0;
  std::size_t readers = 0;
  const Children having = holders_of(children);
  for (const std::string_view own : children) {
    const Place place = Place::of(children, own);
    check(children, own, place);
    // A place is only asked for with a name that the server gave us, which ends with a number.
    expect(place.kind != Place::Kind::missing || !sequence_of(own), "it is there", own);
    const bool has_it = place.kind == Place::Kind::first;
    const bool shared = has_it && Standing::of(own)->shared;
    owners += has_it && !shared ? 1U : 0U;
    // With the number of an owner it is that one, who goes on.
    readers += shared && sequence_of(own) != sequence_of(place.head) ? 1U : 0U;
    const bool listed = std::find(having.begin(), having.end(), own) != having.end();
    expect(!has_it || listed, "who has it is told", own);
    expect(place.holders == having.size(), "and so are all", own);
    const Place again = Place::of(backwards, own);
    expect(again.kind == place.kind && again.ahead == place.ahead, "in any order", own);
  }
  expect(owners <= 1, "at most one has the lock alone");
  expect(owners == 0 || readers == 0, "and no reader beside it");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::size_t enough = 32;
  Input input(data, size);
  Children children;
  while (!input.empty() && children.size() < enough) {
    const std::string_view child = input.line();
    // One folder has no two nodes of one name.
    if (std::find(children.begin(), children.end(), child) == children.end()) {
      children.push_back(child);
    }
  }
  check(children);
  if (children.empty()) return 0;
  const std::string_view first = children.front();
  expect(find_prefix(children, first).starts_with(first), "what begins like that", first);
  const std::string path = lock_path("/locks", first);
  expect(path.find('/', 7) == std::string::npos && path.size() <= 7 + 100, "one level", path);
  expect(levels_of(path).size() == 2 && levels_of(path).back() == path, "two levels", path);
  return 0;
}
