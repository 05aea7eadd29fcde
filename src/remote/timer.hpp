// SPDX-License-Identifier: MIT
// What is to be done at a moment: one moment, and things in the order of theirs. Whoever polls asks
// for the next one without a mutex.
#pragma once

#include <mortise/clock.hpp>

#include <atomic>
#include <cstddef>
#include <iterator>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace mortise::remote {

/// A moment, or never.
/// @thread_safety every member may be called concurrently.
class Moment {
 public:
  [[nodiscard]] Instant get() const noexcept { return Instant(Instant::duration(at_.load())); }
  /// @return whether it is earlier than before: whoever sleeps until then has to be told
  bool set(Instant when) noexcept {
    return at_.exchange(when.time_since_epoch().count()) > when.time_since_epoch().count();
  }
  /// The same under a mutex of the caller's, which all who set it hold, and where nobody has to be
  /// told: it is seen in order with what they do afterwards.
  void put(Instant when) noexcept {
    at_.store(when.time_since_epoch().count(), std::memory_order_release);
  }
  /// The earlier one of the two. @return whether it is another one than before
  bool bring_forward(Instant when) noexcept {
    const Instant::rep wanted = when.time_since_epoch().count();
    Instant::rep before = at_.load();
    while (wanted < before) {
      if (at_.compare_exchange_weak(before, wanted)) return true;
    }
    return false;
  }
  /// Only where it was never. @return whether it was
  bool set_if_never(Instant when) noexcept {
    Instant::rep none = never.time_since_epoch().count();
    return at_.compare_exchange_strong(none, when.time_since_epoch().count());
  }
  /// @return whether it has come; it is never, then.
  bool take(Instant now) noexcept {
    Instant::rep before = at_.load();
    while (before <= now.time_since_epoch().count()) {
      if (at_.compare_exchange_weak(before, never.time_since_epoch().count())) return true;
    }
    return false;
  }

 private:
  std::atomic<Instant::rep> at_{never.time_since_epoch().count()};
};

/// Things in the order of their moments.
/// @thread_safety for one thread at a time, but for `next()`.
template <class Thing>
class Timer {
  using Things = std::multimap<Instant, Thing>;

 public:
  /// Where a thing stands, until it is taken or removed.
  using Place = typename Things::iterator;

  Place add(Instant when, Thing thing) {
    const auto place = things_.emplace(when, std::move(thing));
    note_next();
    return place;
  }
  /// Needs no memory. @return its place from now on
  Place move(Place place, Instant when) noexcept {
    if (place->first == when) return place;
    auto node = things_.extract(place);
    node.key() = when;
    place = things_.insert(std::move(node));
    note_next();
    return place;
  }
  void remove(Place place) noexcept {
    things_.erase(place);
    note_next();
  }
  /// @return whether it is the next one of all: whoever sleeps until then has to be told.
  [[nodiscard]] bool is_next(Place place) { return place == things_.begin(); }
  /// @return the next one of all; nothing = there is none.
  [[nodiscard]] std::optional<Place> first() noexcept {
    if (things_.empty()) return std::nullopt;
    return things_.begin();
  }
  [[nodiscard]] std::size_t size() const noexcept { return things_.size(); }
  /// Pairs of a moment and a thing, in the order of the moments.
  [[nodiscard]] auto begin() const noexcept { return things_.begin(); }
  [[nodiscard]] auto end() const noexcept { return things_.end(); }
  /// @return when the first is due.
  [[nodiscard]] Instant next() const noexcept { return next_.get(); }
  /// @return those that are due, the earliest first, once.
  [[nodiscard]] std::vector<Thing> take(Instant now) {
    const auto end = things_.upper_bound(now);
    std::vector<Thing> due;
    due.reserve(static_cast<std::size_t>(std::distance(things_.begin(), end)));  // or none is lost
    for (auto each = things_.begin(); each != end; ++each) due.push_back(std::move(each->second));
    things_.erase(things_.begin(), end);
    note_next();
    return due;
  }

 private:
  void note_next() noexcept { next_.set(things_.empty() ? never : things_.begin()->first); }

  Things things_;
  Moment next_;
};

}  // namespace mortise::remote
