// SPDX-License-Identifier: MIT
// The attempts of a client. Each is in one of three lists: it waits, it is being taken back, or it
// is a hold. So no step looks at attempts that it does not concern.
#pragma once

#include <mortise/operation.hpp>

#include "remote/attempt_course.hpp"
#include "remote/course_news.hpp"
#include "remote/timer.hpp"

#include <algorithm>
#include <cstddef>
#include <list>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

namespace mortise::remote {

/// One attempt of a client.
/// @tparam More what the store adds while the attempt is undecided
template <class More>
struct CourseEntry {
  using List = std::list<CourseEntry>;
  using Looks = Timer<typename List::iterator>;

  AttemptId attempt{};
  AttemptCourse course{};
  std::unique_ptr<More> more{};            ///< null = the store has added nothing
  std::weak_ptr<Acquisition> operation{};  ///< while the attempt is undecided
  std::shared_ptr<Acquisition> kept{};     ///< while it is unresolved
  List* list = nullptr;                    ///< the one that it is in
  bool has_look = false;                   ///< a request for it was lost
  bool is_pending = false;                 ///< see CourseLists::pending()
  typename Looks::Place look{};

  /// @return that part; it is made if there is none. A hold has none, because a client may have
  /// thousands of holds.
  [[nodiscard]] More& part_of_store() {
    if (!more) more = std::make_unique<More>();
    return *more;
  }
};

/// @thread_safety one thread at a time
template <class More>
class CourseLists {
 public:
  using Entry = CourseEntry<More>;
  using List = typename Entry::List;
  using Looks = typename Entry::Looks;
  /// Of an attempt, until it is erased.
  using Place = typename List::iterator;

  /// @param news null = there are none; outlives it
  explicit CourseLists(NewsBoard* news) : news_(news) { spare_nodes_.reserve(most_spare); }

  /// Brings about what readers have noted.
  void learn() noexcept {
    if (news_ == nullptr) return;
    std::size_t grants = 0;
    Instant now{};
    news_->learn([&](const CourseNews::Item& item) {
      learn(item);
      if (!item.is_grant) return;
      ++grants;
      now = std::max(now, item.now);
    });
    // Not before: an attempt that is granted by a later item would be taken for one without a
    // caller.
    for (; grants > 0; --grants) forget_some(now);
  }

  /// @return its place; nothing = the attempt is not known.
  [[nodiscard]] std::optional<Place> find(const AttemptId& attempt) const {
    const auto found = entries_.find(attempt);
    return found == entries_.end() ? std::nullopt : std::optional(found->second);
  }
  /// @return null = the attempt is not known.
  [[nodiscard]] const AttemptCourse* course_of(const AttemptId& attempt) const {
    const auto found = entries_.find(attempt);
    return found == entries_.end() ? nullptr : &found->second->course;
  }
  /// @return its place; it is made if there is none.
  [[nodiscard]] Place place_of(const AttemptId& attempt) {
    const auto found = entries_.find(attempt);
    if (found != entries_.end()) return found->second;
    if (spare_.empty()) spare_.emplace_back();
    const Place place = spare_.begin();
    if (spare_nodes_.empty()) {
      entries_.emplace(attempt, place);
    } else {
      typename Entries::node_type node = std::move(spare_nodes_.back());
      spare_nodes_.pop_back();
      node.key() = attempt;
      node.mapped() = place;
      entries_.insert(std::move(node));
    }
    place->attempt = attempt;
    place->list = &waiting_;
    waiting_.splice(waiting_.end(), spare_, place);
    return place;
  }
  /// It has a moment at which it is looked at, from now on.
  void make_look(Place place) {
    if (place->has_look) return;
    place->look = looks_.add(never, place);
    place->has_look = true;
    note_looks();
  }
  /// Puts it into the list of its state. It may be erased afterwards.
  void file(Place place) noexcept {
    Entry& entry = *place;
    AttemptCourse& course = entry.course;
    if (course.state() == AttemptCourse::State::gone && !course.lost().any()) return erase(place);
    if (!course.is_unresolved()) entry.kept.reset();
    if (entry.has_look && !course.lost().any()) forget_look(entry);
    // While the attempt is undecided, its own next request shows what a lost one took.
    const bool is_decided = !course.is_undecided();
    if (entry.has_look) {
      entry.look = looks_.move(entry.look, is_decided ? course.lost().due() : never);
    }
    count(entry, course.is_to_be_undone() || (entry.has_look && is_decided));
    List& list = list_of(course);
    if (entry.list == &list) return;
    // The operation of a hold is not needed here. A weak reference would keep its memory, which is
    // in one piece with the count of its references.
    if (!course.is_undecided()) {
      entry.operation.reset();
      entry.more.reset();
    }
    list.splice(list.end(), *entry.list, place);
    entry.list = &list;
  }
  /// Forgets what is over of the next two in each list. The library does not
  /// report the end of a hold that it did not release. So there are never many more than are in
  /// use.
  void forget_some(Instant now) noexcept {
    for (List* const list : {&waiting_, &ending_, &holds_}) forget_some(*list, now);
  }

  [[nodiscard]] Looks& looks() noexcept { return looks_; }
  [[nodiscard]] const Looks& looks() const noexcept { return looks_; }
  /// Attempts that wait for an answer.
  [[nodiscard]] const List& waiting() const noexcept { return waiting_; }
  /// Attempts that are taken back, or given back.
  [[nodiscard]] List& ending() noexcept { return ending_; }
  [[nodiscard]] const List& ending() const noexcept { return ending_; }
  [[nodiscard]] std::size_t size() const noexcept { return entries_.size(); }
  /// @return how many attempts are to be undone, or are decided and to be looked at.
  [[nodiscard]] std::size_t pending() const noexcept { return pending_; }

 private:
  struct Hash {
    std::size_t operator()(const AttemptId& id) const noexcept { return id.sequence; }
  };
  using Entries = std::unordered_map<AttemptId, Place, Hash>;
  static constexpr std::size_t most_spare = 32;

  [[nodiscard]] List& list_of(const AttemptCourse& course) noexcept {
    if (!course.is_withdrawn()) return waiting_;
    return course.is_undecided() || course.is_to_be_undone() ? ending_ : holds_;
  }

  void learn(const CourseNews::Item& item) noexcept {
    const std::optional<Place> place = find(item.attempt);
    if (!place) return;  // it was decided by another request, and is over
    if (item.is_grant) {
      (*place)->course.grant(item.number, item.until);
    } else {
      static_cast<void>((*place)->course.release(item.number));
    }
    file(*place);
  }
  void note_looks() noexcept {
    if (news_ != nullptr) news_->note_looks(looks_.size());
  }
  void count(Entry& entry, bool is_pending) noexcept {
    if (std::exchange(entry.is_pending, is_pending) == is_pending) return;
    is_pending ? ++pending_ : --pending_;
  }
  void erase(Place place) noexcept {
    forget_look(*place);
    count(*place, false);
    const auto found = entries_.find(place->attempt);
    if (spare_nodes_.size() == most_spare) {
      entries_.erase(found);
      place->list->erase(place);
      return;
    }
    spare_nodes_.push_back(entries_.extract(found));
    List& list = *place->list;
    *place = Entry{};
    spare_.splice(spare_.begin(), list, place);
  }
  void forget_look(Entry& entry) noexcept {
    if (!std::exchange(entry.has_look, false)) return;
    looks_.remove(entry.look);
    note_looks();
  }

  void forget_some(List& list, Instant now) noexcept {
    for (int i = 0; i < 2 && !list.empty(); ++i) {
      const Place place = list.begin();
      LostRequests& lost = place->course.lost();
      if (lost.any() && lost.is_forgotten(now)) lost.clear();
      const Acquisition* const kept = place->kept.get();
      if (kept != nullptr && place->course.was_tried_enough(kept->request().lease, now)) {
        place->course.settle();
      }
      // Or its caller has the grant, and that is not learned yet.
      const bool is_left = place->course.is_undecided() && place->operation.expired() &&
                           (news_ == nullptr || !news_->has_more());
      if (is_left || place->course.may_be_forgotten(now)) {
        erase(place);
        continue;
      }
      list.splice(list.end(), list, place);
      file(place);
    }
  }

  NewsBoard* const news_;
  Entries entries_;
  List waiting_;
  List ending_;
  List holds_;  // and attempts that are gone, but for a request that was lost
  List spare_;  // most attempts live for one request
  std::vector<typename Entries::node_type> spare_nodes_;
  Looks looks_;
  std::size_t pending_ = 0;
};

}  // namespace mortise::remote
