// SPDX-License-Identifier: MIT
#include "zookeeper/attempts.hpp"

#include "base/mutant.hpp"
#include "base/one_by_one.hpp"
#include "zookeeper/sessions.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

namespace mortise::zookeeper {
namespace {

/// A client with more holds than this watches none of their nodes. The watches would cost the
/// servers, and the next connection, more than they are worth.
constexpr std::size_t most_watched_holds = 32;

[[nodiscard]] bool is_supported(const Acquisition::Request& request) {
  switch (request.mode) {
    case Mode::permit: return request.permits > 0;
    case Mode::once: return request.memory != nullptr;
    case Mode::exclusive:
    case Mode::shared: break;
  }
  return true;
}

/// @return the function that makes an attempt of that mode.
auto maker_of(Mode mode) {
  switch (mode) {
    case Mode::permit: return permit_course;
    case Mode::once: return key_course;
    case Mode::shared: return reader_course;
    case Mode::exclusive: break;
  }
  return queue_course;
}

}  // namespace

void Attempts::acquire(const std::shared_ptr<Acquisition>& operation) {
  const Acquisition::Request& request = operation->request();
  if (!is_supported(request)) {
    return parts_.fail(operation, {Errc::unsupported, parts_.describe() + ": mode"});
  }
  if (const CoursePtr known = find(request.attempt)) return known->ask_again();
  Claim claim = Claim::of(parts_.settings, request);
  // If the session of the owner's hold ends, the hold as a reader has to end as well.
  const auto& beside = request.beside;
  Course* const its_owner =
      request.mode == Mode::shared && beside ? owner(*beside, claim.queue) : nullptr;
  Session& session = its_owner != nullptr
                         ? its_owner->session()
                         : parts_.sessions->with_room(claim.paths(beside.has_value()));
  const CoursePtr course =
      maker_of(request.mode)(NewAttempt{parts_, session, std::move(claim), operation});
  add(course);
  if (session.up()) return course->drive();
  session.urge(parts_.now());
  if (session.trouble()) operation->trouble(session.trouble());
}

void Attempts::cancel(const std::shared_ptr<Acquisition>& operation) {
  if (operation->done()) return;
  if (const CoursePtr course = find(operation->request().attempt)) return course->cancel();
  parts_.then([operation] { operation->busy(operation->holder()); });
}

bool Attempts::release(const std::shared_ptr<Release>& operation) {
  CoursePtr course = find(operation->hold().attempt);
  const bool is_repeated = course && course->releases().has(*operation);
  if (!is_repeated) course = hold(operation->hold());
  if (course) course->release(operation);
  // Once: a successor that has left since must not ask again.
  const std::shared_ptr<Acquisition>& successor = operation->successor();
  if (successor && !is_repeated && !successor->done()) acquire(successor);
  return course != nullptr;
}

std::vector<Attempts::CoursePtr> Attempts::all_of(const Session& session) const {
  std::vector<CoursePtr> all;
  for (const auto& [attempt, course] : courses_) {
    if (&course->session() == &session) all.push_back(course);
  }
  return all;
}

// A server grants each connection a time-out by limits of its own, and from then on the leader
// counts that one. If it is shorter, a hold was promised more time than its session may last
// without a sign of life; and no renewal takes back what an earlier one has promised.
void Attempts::connected(const Session& session) {
  const Instant least = session.life().proven() + session.timeout();
  for (const CoursePtr& course : all_of(session)) {
    if (course->operation()) course->operation()->trouble(Failure{});
    if (course->is_held() && !course->claim().is_gate && course->hold().lapse() > least &&
        !base::mutant("zookeeper.shorter_session_keeps_its_holds")) {
      course->hold().lose_and_remove("the servers shortened its session");
    }
    course->drive();
  }
}

void Attempts::disconnected(const Session& session) {
  base::OneByOne each_of;  // each has to know it, even if there is no memory to report it
  for (const auto& [attempt, course] : courses_) {
    if (&course->session() == &session) each_of([&, &its = *course] { its.disconnected(); });
  }
  each_of.finish();
}

// Each has to know it, as above. An attempt ends others with it: a gate is over with the attempt
// that it opened for.
void Attempts::ended(const Session& session, const Failure& why, bool at_server, bool final) {
  base::OneByOne each_of;
  for (auto next = courses_.begin(); next != courses_.end();) {
    const CoursePtr course = next->second;
    if (&course->session() == &session) each_of([&] { course->ended(why, at_server, final); });
    next = courses_.upper_bound(course->claim().attempt);
  }
  each_of.finish();
}

void Attempts::tick(Instant now) {
  std::vector<CoursePtr> due;
  parts_.next_look = never;
  for (const auto& [attempt, course] : courses_) {
    if (course->is_held() && base::mutant("zookeeper.lapse_ignored")) continue;
    const bool is_next = course->is_held() ? course->hold().lapse() <= now
                                           : !course->is_asking() && !course->is_watching();
    const Instant again = course->is_held() ? course->hold().lapse() : course->again();
    if (is_next) due.push_back(course);
    if (again > now) parts_.look_by(again);
  }
  for (const CoursePtr& course : due) {
    if (course->is_held()) course->hold().lose_and_remove("it was not renewed in time");
    course->drive();
  }
}

std::vector<std::shared_ptr<Operation>> Attempts::operations() {
  std::vector<std::shared_ptr<Operation>> all;
  for (const auto& [attempt, course] : courses_) {
    if (course->operation()) all.push_back(course->operation());
    for (const auto& release : course->releases().take()) all.push_back(release);
  }
  return all;
}

void Attempts::add(std::shared_ptr<Course> course) {
  const AttemptId attempt = course->claim().attempt;
  courses_.emplace(attempt, std::move(course));
}

Attempts::CoursePtr Attempts::find(const AttemptId& attempt) const {
  const auto found = courses_.find(attempt);
  return found == courses_.end() ? nullptr : found->second;
}

std::shared_ptr<Course> Attempts::hold(const HoldId& hold) const {
  CoursePtr course = find(hold.attempt);
  const bool is_it = course && course->is_held() && course->claim().name == hold.name &&
                     course->hold().number() == hold.number;
  return is_it ? course : nullptr;
}

Course* Attempts::owner(const AttemptId& attempt, const std::string& queue) const {
  const CoursePtr course = find(attempt);
  const bool holds =
      course && course->is_held() && course->node().is_there() && course->claim().queue == queue;
  return holds ? course.get() : nullptr;
}

bool Attempts::is_known(const std::string& node) const {
  return std::any_of(courses_.begin(), courses_.end(), [&](const auto& each) {
    return node.starts_with(each.second->node().prefix());
  });
}

std::shared_ptr<Course> Attempts::next_with_node(const Session& session,
                                                 const AttemptId& behind) const {
  auto next = courses_.upper_bound(behind);
  for (std::size_t i = 0; i < courses_.size(); ++i, ++next) {
    if (next == courses_.end()) next = courses_.begin();
    Course& course = *next->second;
    const bool is_written =
        &course.session() == &session && course.node().is_there() && !course.is_leaving();
    if (is_written) return next->second;
  }
  return nullptr;
}

bool Attempts::watches_holds() const { return parts_.sessions->holds() <= most_watched_holds; }

}  // namespace mortise::zookeeper
