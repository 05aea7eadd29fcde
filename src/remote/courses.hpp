// SPDX-License-Identifier: MIT
// The attempts of a client at its servers. AttemptCourse decides; this brings events about under
// one mutex, and finds the attempts about which something has to be done. It sends nothing.
#pragma once

#include <mortise/operation.hpp>

#include "base/farewell.hpp"
#include "base/mutant.hpp"
#include "remote/attempt_course.hpp"
#include "remote/course_lists.hpp"
#include "remote/course_news.hpp"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <type_traits>
#include <utility>
#include <vector>

namespace mortise::remote {

/// @return true if the client still tries to take the attempt back, or to give its hold back.
template <class More>
[[nodiscard]] bool is_undoing(const CourseEntry<More>& entry, Instant now) {
  return !entry.course.was_tried_enough(entry.kept->request().lease, now);
}

/// @thread_safety every member may be called concurrently, but for those "under the mutex"
template <class More>
class Courses {
 public:
  using Entry = CourseEntry<More>;
  using Operation = std::shared_ptr<Acquisition>;
  using Operations = std::vector<Operation>;

  /// @param mutex outlives it; a store may guard with it what it notes together with an attempt
  /// @param news what readers note of attempts; null = nothing. Outlives it
  explicit Courses(std::mutex& mutex, NewsBoard* news = nullptr) : mutex_(mutex), lists_(news) {}

  /// Has the mutex, and has brought about what readers have noted.
  class Lock {
   public:
    explicit Lock(const Courses& courses) : lock_(courses.mutex_) { courses.lists_.learn(); }

   private:
    const std::lock_guard<std::mutex> lock_;
  };

  // Under the mutex.

  /// A request for it takes its place among those under way. @return as AttemptCourse::ask()
  bool asked(const Operation& operation, std::uint64_t connection, bool once = false) {
    lists_.learn();
    if (operation->done()) return false;
    const Place place = wanted_locked(*operation);
    if (!place->course.ask(connection, once)) return false;
    place->operation = operation;
    lists_.file(place);
    return true;
  }
  /// It was granted a hold. Call this before its operation is completed, because the answer to the
  /// release may come right afterwards.
  /// @return the number of its hold; another one if a message was quicker
  std::uint64_t held(const AttemptId& attempt, std::uint64_t number, Instant now, Instant until) {
    const Place place = lists_.place_of(attempt);
    place->course.grant(number, until);
    const std::uint64_t its = place->course.number();
    lists_.file(place);
    lists_.forget_some(now);
    return its;
  }
  /// The server answered the release of that hold. @return as AttemptCourse::release()
  bool released(const AttemptId& attempt, std::uint64_t number) {
    return on_locked(attempt, [&](Entry& entry) { return entry.course.release(number); });
  }
  /// As LostRequests::executed(). It rarely has something to note.
  bool executed(const AttemptId& attempt, ServerTime at, std::uint64_t clock, Instant now) {
    if (lists_.looks().size() == 0) return false;
    return on_locked(attempt,
                     [&](Entry& entry) { return entry.course.lost().executed(at, clock, now); });
  }

  // Any time.

  /// Brings an event about: calls it with the entry of the attempt. @return what that returns; a
  /// value of its type if the attempt is not known
  template <class Event>
  auto on(const AttemptId& attempt, Event event) {
    const Lock lock(*this);
    return on_locked(attempt, std::move(event));
  }
  /// It is to be asked for as soon as there is a connection.
  void wanted(const Operation& operation) {
    const Lock lock(*this);
    if (operation->done()) return;
    const Place place = wanted_locked(*operation);
    if (place->course.is_undecided()) place->operation = operation;
    lists_.file(place);
  }
  /// Its caller takes it back. @return false: the server was never asked
  bool cancelled(const Operation& operation) {
    return take_back(*operation, [](Entry& entry) { return entry.course.cancel(); });
  }
  /// Its caller has an error, and will not take it back. @return as `cancelled()`
  bool abandoned(const Operation& operation, Instant now) {
    return take_back(*operation, [&](Entry& entry) {
      const bool is_known = entry.course.abandon(now);
      if (entry.course.is_to_be_undone()) entry.kept = operation;
      return is_known;
    });
  }
  /// It has nothing at the server. Call this after its operation was completed, or it could be
  /// asked for again in between.
  void over(const AttemptId& attempt) {
    on(attempt, [](Entry& entry) { entry.course.finish(); });
  }
  /// Renewals were answered.
  void renewed(const std::vector<Renewal::Item>& items) {
    const Lock lock(*this);
    for (const Renewal::Item& item : items) {
      if (item.answer != Renewal::Answer::renewed) continue;
      on_locked(item.hold.attempt, [&](Entry& entry) {
        entry.course.renew(item.hold.number, item.counted_from + item.granted);
      });
    }
  }
  /// A connection broke before it answered a request for the attempt.
  /// @param due a look at the server before this moment would show nothing
  void request_lost(const Operation& operation, const VoidMoment& moment, Instant due) noexcept {
    const Lock lock(*this);
    // Without memory, the client does not note the request. A hold that the request takes ends with
    // its lease.
    base::without_memory([&] {
      const bool is_new = !lists_.find(operation->request().attempt);
      const Place place = lists_.place_of(operation->request().attempt);
      if (is_new) place->course.finish();
      lists_.make_look(place);
      place->kept = operation;
      place->course.lost().add(moment, due);
      lists_.file(place);
      lists_.forget_some(moment.noted);  // without an answer there is no grant that does
    });
  }
  /// The same of a request to release that hold. If its answer was read, and there was no memory to
  /// pass the answer on, the hold is not known any more.
  void release_lost(const HoldId& hold, Instant now) noexcept {
    const Lock lock(*this);
    base::without_memory([&] {
      const bool is_new = !lists_.find(hold.attempt);
      const Place place = lists_.place_of(hold.attempt);
      if (is_new || place->course.state() == AttemptCourse::State::gone) {
        place->course.grant(hold.number, now);
      }
      place->course.lose_release(hold.number);
      lists_.file(place);
    });
  }

  /// @return true if no request may ask for it any more.
  [[nodiscard]] bool is_withdrawn(const AttemptId& attempt) const {
    const Lock lock(*this);
    const AttemptCourse* const course = lists_.course_of(attempt);
    return course == nullptr || course->is_withdrawn();
  }
  /// @param question a function of a course, or one of its members
  /// @return what that returns of the course of the attempt, or of one that has not begun.
  template <class Question>
  [[nodiscard]] auto ask(const AttemptId& attempt, Question question) const {
    const Lock lock(*this);
    const AttemptCourse* const course = lists_.course_of(attempt);
    return std::invoke(question, course == nullptr ? AttemptCourse{} : *course);
  }
  /// @return the operation of an attempt that is not decided; null = none.
  [[nodiscard]] Operation find(const AttemptId& attempt) const {
    const Lock lock(*this);
    const auto place = lists_.find(attempt);
    if (!place || !(*place)->course.is_undecided()) return nullptr;
    return (*place)->operation.lock();
  }
  /// @param newest those that were asked for on this connection are left out; 0 = none
  /// @return the attempts that wait, in the order in which they were made.
  [[nodiscard]] Operations undecided(std::uint64_t newest = 0) const {
    Operations operations;
    {
      const Lock lock(*this);
      for (const Entry& entry : lists_.waiting()) {
        if (newest != 0 && entry.course.connection() == newest) continue;
        Operation operation = entry.operation.lock();
        if (operation && !operation->done()) operations.push_back(std::move(operation));
      }
    }
    std::sort(operations.begin(), operations.end(), [](const Operation& a, const Operation& b) {
      return a->request().attempt < b->request().attempt;
    });
    return operations;
  }
  /// @return those that the next connection has to undo: they may be held for no caller.
  [[nodiscard]] Operations to_undo(Instant now) {
    Operations operations;
    Operations enough;  // destroyed when the mutex is free
    const Lock lock(*this);
    for (Place next = lists_.ending().begin(); next != lists_.ending().end();) {
      const Place place = next++;
      if (!place->course.is_to_be_undone()) continue;
      if (is_undoing(*place, now)) {
        operations.push_back(place->kept);
        continue;
      }
      enough.push_back(place->kept);
      place->course.settle();
      lists_.file(place);
    }
    return operations;
  }

  /// @return when the next look is due for what lost requests took; `never` = none is.
  [[nodiscard]] Instant next_look() const noexcept { return lists_.looks().next(); }
  /// Begins the looks that are due. @param connected also those that failed without a connection
  /// @return the operations of their attempts
  [[nodiscard]] Operations begin_looks(Instant now, bool connected) {
    Operations operations;
    const Lock lock(*this);
    std::vector<Place> due;
    for (const auto& [when, place] : lists_.looks()) {
      if (when > now && !connected) break;
      due.push_back(place);
    }
    operations.reserve(due.size());  // or one would begin that is not returned
    for (const Place place : due) {
      if (Operation operation = begin_look_locked(*place, now)) {
        operations.push_back(std::move(operation));
      }
      lists_.file(place);
    }
    return operations;
  }
  /// Begins the look at this attempt, if it is due. @return its operation; null = it is not
  [[nodiscard]] Operation begin_look(const AttemptId& attempt, Instant now) {
    return on(attempt, [&](Entry& entry) { return begin_look_locked(entry, now); });
  }
  /// The client closes: all looks are due, even if the lost requests may still arrive.
  void hurry(Instant now) {
    const Lock lock(*this);
    std::vector<Place> all;
    for (const auto& [when, place] : lists_.looks()) all.push_back(place);
    for (const Place place : all) {
      place->course.lost().hurry(now);
      lists_.file(place);
    }
  }
  /// @return false: no attempt is being undone or looked at, and no look is planned. It takes
  /// constant time, and may return true although all of that is over.
  [[nodiscard]] bool may_any_be_pending(Instant now) {
    const Lock lock(*this);
    lists_.forget_some(now);
    return lists_.pending() != 0;
  }
  /// @return true if an attempt is being undone, or a look is under way or due before `until`.
  [[nodiscard]] bool is_any_pending(Instant now, Instant until = never) const {
    const Lock lock(*this);
    for (const auto& [when, place] : lists_.looks()) {
      const AttemptCourse& course = place->course;
      if (!course.is_undecided() && course.lost().is_pending(now, until)) return true;
    }
    return std::any_of(lists_.ending().begin(), lists_.ending().end(), [now](const Entry& entry) {
      if (entry.course.is_to_be_undone()) return is_undoing(entry, now);
      const Operation operation = entry.operation.lock();
      return operation && operation->done();
    });
  }
  /// @return true if there is an undecided attempt whose entry that is true of.
  template <class Which>
  [[nodiscard]] bool is_any_undecided(Which which) const {
    const Lock lock(*this);
    const auto fits = [&](const Entry& entry) {
      return entry.course.is_undecided() && which(entry);
    };
    return std::any_of(lists_.waiting().begin(), lists_.waiting().end(), fits) ||
           std::any_of(lists_.ending().begin(), lists_.ending().end(), fits);
  }
  /// @return how many attempts are remembered.
  [[nodiscard]] std::size_t size() const {
    const Lock lock(*this);
    return lists_.size();
  }

 private:
  using Place = typename CourseLists<More>::Place;

  /// @param operation not done
  [[nodiscard]] Place wanted_locked(const Acquisition& operation) {
    const Place place = lists_.place_of(operation.request().attempt);
    place->course.reopen();
    return place;
  }
  template <class Event>
  auto on_locked(const AttemptId& attempt, Event event) {
    using Result = std::invoke_result_t<Event&, Entry&>;
    const auto found = lists_.find(attempt);
    if (!found) return Result();
    const Place place = *found;
    if constexpr (std::is_void_v<Result>) {
      event(*place);
      lists_.file(place);
    } else {
      Result result = event(*place);
      lists_.file(place);
      return result;
    }
  }
  template <class Event>
  bool take_back(const Acquisition& operation, Event event) {
    const Lock lock(*this);
    const AttemptId& attempt = operation.request().attempt;
    const AttemptCourse* const course = lists_.course_of(attempt);
    if (course == nullptr || course->state() == AttemptCourse::State::gone) {
      return operation.progress() != Acquisition::Progress::unsent;
    }
    return on_locked(attempt, std::move(event));
  }
  [[nodiscard]] static Operation begin_look_locked(Entry& entry, Instant now) {
    if (base::mutant("redis.leave_what_a_copy_has_taken") ||
        base::mutant("postgres.leave_what_a_copy_has_taken")) {
      return nullptr;
    }
    AttemptCourse& course = entry.course;
    return !course.is_undecided() && course.lost().begin_look(now) ? entry.kept : nullptr;
  }

  std::mutex& mutex_;
  mutable CourseLists<More> lists_;  // each lock has it learn
};

}  // namespace mortise::remote
