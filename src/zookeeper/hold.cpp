// SPDX-License-Identifier: MIT
#include "zookeeper/hold.hpp"

#include "base/mutant.hpp"
#include "core/figures.hpp"
#include "zookeeper/course.hpp"
#include "zookeeper/parts.hpp"

#include <memory>
#include <utility>

namespace mortise::zookeeper {
namespace {

constexpr int parts_of_progress = 24;  // of a session: the least gain of a renewal

}  // namespace

// The event and the list are true, but they prove nothing of the client's own session. It may have
// ended since its last proof, for example while the process stood still. A write that is committed
// proves it: see life.hpp.
void Hold::prove(std::int64_t number) {
  number_ = number;
  Session& session = course_.session();
  if (session.is_proven(course_.parts().now())) return grant();
  const std::string node = course_.node().path();
  course_.ask({.kind = Ask::set, .path = node, .version = Request::no_version},
              [this, node](const Reply& reply) { proved(node, reply); });
}

void Hold::proved(const std::string& node, const Reply& reply) {
  // An answer about an earlier node proves nothing of the present one.
  if (course_.is_leaving() || node != course_.node().path()) return course_.drive();
  // After two looks at the queue two of these may be under way. The first answer has granted.
  const bool is_granted = course_.is_held() || !course_.operation();
  if (is_granted && !base::mutant("zookeeper.second_proof_grants_again")) return course_.drive();
  if (reply.code == Code::no_node) {
    course_.forget_node();
  } else if (reply.code == Code::other_version) {
    const Session& session = course_.session();
    const Instant now = course_.parts().now();
    if (session.is_proven(now)) return grant();
    // The leader knows that the session lives, but not yet since when.
    course_.pause(now + session.life().report());
  }
  course_.drive();
}

void Hold::grant() {
  Parts& parts = course_.parts();
  if (base::mutant("zookeeper.sequence_is_token")) {
    number_ = 1 + sequence_of(course_.node().path()).value_or(0);
  }
  if (number_ <= 0 || number() >= core::grant_number_limit) {
    return course_.fail(
        parts.failure(Errc::protocol, "transaction number " + std::to_string(number_) +
                                          " is too large for a token (epoch above 2^21 - 1)"));
  }
  const Session& session = course_.session();
  course_.set_watching(false);
  course_.set_phase(Course::Phase::held);
  counted_ = base::mutant("zookeeper.grant_from_now") ? parts.now() : session.life().proven();
  lapse_ = counted_ + session.timeout();
  parts.look_by(lapse_);
  const Grant grant{.number = number(),
                    .counted_from = counted_,
                    .lease = session.timeout(),
                    .fixed = true,
                    .run = run};
  parts.then([operation = course_.take_operation(), grant] {
    operation->trouble(Failure{});
    operation->granted(grant);
  });
  course_.granted();
}

void Hold::renew(Instant from) {
  counted_ = from;
  lapse_ = from + course_.session().timeout();
}

Instant Hold::next_proof() const noexcept {
  return counted_ + course_.session().timeout() / parts_of_progress;
}

HoldId Hold::id() const {
  const Claim& claim = course_.claim();
  return {.name = claim.name, .attempt = claim.attempt, .number = number(), .mode = claim.mode};
}

void Hold::lose(const std::string& words) {
  course_.set_phase(Course::Phase::wanted);
  Parts& parts = course_.parts();
  parts.then([host = parts.host, words, hold = id()] {
    host->hold_lost(hold, {Errc::lost, hold.name + ": " + words});
  });
}

void Hold::lose_and_remove(const std::string& words) {
  lose(words);
  course_.set_phase(Course::Phase::standing);
  course_.parts().then_locked(
      [course = std::static_pointer_cast<Course>(course_.shared_from_this())] {
        if (course->phase() != Course::Phase::standing) return;
        course->set_phase(Course::Phase::leaving);
        course->drive();
      });
}

// With each renewal, so that a short hold costs no watch. A client that has come to hold many takes
// its watches back by the next renewal.
void Hold::watch(bool wanted) {
  Session& session = course_.session();
  if (watches_node_ == wanted || !session.up()) return;
  const std::string& node = course_.node().path();
  if (watches_node_) {
    forget_watch();
    return session.unwatch(node, course_);
  }
  const auto answer = [this, course = course_.shared_from_this()](const Reply& reply) {
    if (course->phase() != Course::Phase::over) watching(reply);
  };
  if (!session.ask({Ask::get_and_watch, node}, answer)) return;
  session.watches().add(node, course_.shared_from_this());
  watches_node_ = true;
  ++session.load.awaiting;
}

void Hold::forget_watch() noexcept {
  if (std::exchange(watches_node_, false)) --course_.session().load.awaiting;
}

void Hold::watching(const Reply& reply) {
  if (reply.code == Code::no_node) return course_.lose_node();
  if (reply.code != Code::ok) return forget_watch();
  const std::string& label = course_.claim().label;
  if (!course_.is_held() || reply.text != revoked || label == revoked) return;
  Parts& parts = course_.parts();
  parts.then([host = parts.host, hold = id()] { host->hold_wanted(hold); });
  // Other programs have to see the holder again, and the next revocation has to be seen.
  course_.session().ask({Ask::set, course_.node().path(), label}, {});
}

}  // namespace mortise::zookeeper
