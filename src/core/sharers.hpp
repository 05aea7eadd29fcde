// SPDX-License-Identifier: MIT
// The shared hold of one client and name, and its parts: which of the client's readers may join
// without a request to the server, and when the client asks the server whether a writer waits.
#pragma once

#include "core/hold.hpp"
#include "core/owner_list.hpp"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>

namespace mortise::core {

/// How long one client may pass a name among its own threads, or have them join its shared hold,
/// before it looks whether others wait.
struct TurnLimits {
  Nanos time = std::chrono::milliseconds(5);
  std::uint32_t passes = longest_turn;
};

/// One owner's part in a shared hold.
struct Sharer {
  Owner owner;
  std::size_t depth = 1;  ///< how often it has yet to unlock
  Instant since{};
  std::shared_ptr<const Terms> terms{};
  std::unique_ptr<LossNotice> notice{};  ///< null until the owner asks for the token
  std::uint32_t guards = 0;  ///< how many of those unlocks a `Guard` owes, on whichever thread
  Instant until = never;     ///< its part is lost then, because its thread has ended
  OwnerPlace<Sharer> place{};
};

/// @return what that owner had, as a hold of its own, which reports no loss.
[[nodiscard]] Hold part_of(const Hold& shared, const Sharer& sharer);

/// The parts of a shared hold, in order of arrival. To add, remove or find a part takes the same
/// time for any number of them.
class Parts {
 public:
  Parts() = default;
  Parts(Parts&&) noexcept = default;
  Parts& operator=(Parts&&) noexcept = default;
  ~Parts() {
    while (!list_.empty()) static_cast<void>(take(*list_.front()));
  }
  /// @throws std::bad_alloc; the first part needs no memory
  void add(std::unique_ptr<Sharer> part) {
    list_.push_back(*part);
    static_cast<void>(part.release());  // the list keeps it
  }
  [[nodiscard]] std::unique_ptr<Sharer> take(Sharer& part) noexcept {
    list_.remove(part);
    return std::unique_ptr<Sharer>(&part);
  }
  [[nodiscard]] const OwnerList<Sharer>& list() const noexcept { return list_; }
  [[nodiscard]] Sharer* find(Owner owner) const noexcept {
    return list_.find(owner, [](const Sharer&) { return true; });
  }

 private:
  OwnerList<Sharer> list_;
};

/// A live shared hold. The server knows neither the owners that have a part in it nor their number.
///
/// A writer at the server waits for the last part, so readers must not come indefinitely. The
/// answer to a renewal reports such a writer. If the last report is older than a turn, a newcomer
/// has a renewal sent, unless one is under way. So newcomers keep a writer waiting for at most a
/// turn and two round trips. If a round trip takes longer than a turn, the limit is three round
/// trips.
///
/// A renewal may keep other clients out: PostgreSQL's row is locked until its flush. If each
/// renewal followed the one before it at once, a reader of another client could not even give up
/// its part.
class Sharers {
 public:
  /// Has room for a hold with one owner: that needs no memory then.
  Sharers() : first_(std::make_unique<Sharer>()) {}
  /// @param hold its owner is the first one
  void begin(Hold&& hold) noexcept;

  [[nodiscard]] Hold& hold() noexcept { return hold_; }
  [[nodiscard]] const Hold& hold() const noexcept { return hold_; }
  [[nodiscard]] Sharer* find(Owner owner) const noexcept { return parts_.find(owner); }
  [[nodiscard]] const OwnerList<Sharer>& all() const noexcept { return parts_.list(); }
  /// That part is over. @return the part
  std::unique_ptr<Sharer> leave(Sharer& part) noexcept;
  /// The hold is over. @return all parts
  [[nodiscard]] Parts take_parts() noexcept { return std::move(parts_); }

  /// @return whether an owner that comes now may join, under its own terms.
  [[nodiscard]] bool open_to(const Terms& terms, Instant now,
                             const TurnLimits& turn) const noexcept;
  /// @throws std::bad_alloc; the owner has then not joined
  void join(Owner owner, const std::shared_ptr<const Terms>& terms, Instant now);
  /// An owner has joined, or would join. @return whether a renewal must be sent for news.
  bool wants_news(Instant now, const TurnLimits& turn) noexcept;
  /// Other callers of this client wait until they may join. @return whether a renewal must be sent
  /// for news: a writer may have left the server's queue, and the server does not report that.
  bool wants_news_for_waiters(Instant now) noexcept;
  /// @return when to look after these waiters next, unless news comes before that.
  [[nodiscard]] Instant next_look(Instant now) const noexcept;
  /// The server has reported, in the answer to a renewal or unasked, whether a writer waits.
  /// @param as_of not later than the report
  void told(bool wanted, Instant as_of) noexcept;
  /// A renewal has come back, with or without news: none is under way any more.
  void answered(Instant now) noexcept;
  /// The name stays reserved until then, after the exclusive hold next to this one: no owner joins.
  void kept_until(Instant until) noexcept { opens_ = until; }
  /// A part without an owner that can unlock it ends when the hold would have ended without the
  /// renewals for the other parts. If all parts are such parts, the hold is not renewed.
  template <class Ownerless>
  void disown(Instant now, Ownerless ownerless) noexcept {
    bool all = true;
    for (Sharer* const sharer : parts_.list()) {
      const bool disowned = ownerless(*sharer);
      if (disowned) sharer->until = std::min(sharer->until, hold_.lease.end_unrenewed(now));
      next_end_ = std::min(next_end_, sharer->until);
      all = all && disowned;
    }
    if (all) hold_.lease.disown(now);
  }
  /// @return when the first of such parts ends.
  [[nodiscard]] Instant next_end() const noexcept { return next_end_; }

 private:
  /// @return whether the hold ends at a fixed time, with or without renewals.
  [[nodiscard]] bool ends_by_itself() const noexcept {
    return !hold_.terms->renew || hold_.terms->max_hold != Nanos::max();
  }

  Hold hold_;
  Parts parts_;
  std::unique_ptr<Sharer> first_;  // until the hold begins
  Instant next_end_ = never;
  bool wanted_ = false;      // a writer waits at the server
  Instant news_{};           // of the last report about that
  Instant asked_{};          // a renewal was sent for it
  bool under_way_ = false;   // that one
  Nanos took_{};             // one before, from there to its answer
  std::uint32_t joins_ = 0;  // since then
  Instant opens_{};          // no owner joins before that
};

}  // namespace mortise::core
