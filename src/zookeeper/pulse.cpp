// SPDX-License-Identifier: MIT
#include "zookeeper/pulse.hpp"

#include "base/mutant.hpp"
#include "base/piecemeal_renewal.hpp"
#include "core/figures.hpp"
#include "zookeeper/attempts.hpp"
#include "zookeeper/sessions.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace mortise::zookeeper {
namespace {

/// The time between two pulses of a session that holds something. A pulse proves that the session
/// lived one pulse ago. The library asks for more a quarter of a session after that, or a little
/// later. By then the next proof is there, or nearly.
std::chrono::nanoseconds period(const Session& session) {
  const std::chrono::nanoseconds timeout = session.timeout();
  return std::max(timeout / 100 * 15, session.life().report());
}

}  // namespace

void Pulse::connected() {
  last_ = parts_.now() - session_.life().report();
  is_under_way_ = is_wanted_ = false;
  last_written_ = {};
}

Instant Pulse::due() const {
  if (!session_.up() || is_under_way_) return never;
  // Earlier than this it would prove nothing.
  const Instant ripe = last_ + session_.life().report();
  if (is_wanted_) return ripe;
  // A session that is idle or waits can be granted a lock without a further question.
  if (session_.load.holding == 0) return std::max(ripe, last_ + session_.timeout() / 4);
  return std::max(ripe, session_.life().proven() + 2 * period(session_));
}

void Pulse::want(Instant soon) {
  if (!is_under_way_ && due() > soon) is_wanted_ = true;
}

void Pulse::beat(Instant now) {
  if (now < due()) return;
  last_ = now;
  const bool reads = base::mutant("zookeeper.read_renews");
  is_under_way_ = session_.ask(
      {reads ? Ask::exists : Ask::sync, parts_.settings.root},
      [=, this](const Reply& reply) { reads ? written(nullptr, {}, reply) : synced(reply); });
}

void Pulse::synced(const Reply& reply) {
  const bool proves = session_.load.holding + session_.load.awaiting > 0 || is_wanted_;
  if (reply.code != Code::ok || !proves || base::mutant("zookeeper.sync_renews")) {
    return written(nullptr, {}, reply);
  }
  last_ = parts_.now();
  write();
}

// All nodes in turn, so that the client finds each one that another program has deleted.
void Pulse::write() {
  const std::shared_ptr<Course> course = parts_.attempts->next_with_node(session_, last_written_);
  if (course) last_written_ = course->claim().attempt;
  const std::string node = course ? course->node().path() : parts_.settings.root;
  is_under_way_ =
      session_.ask({.kind = Ask::set, .path = node, .version = Request::no_version},
                   [this, course, node](const Reply& reply) { written(course, node, reply); });
}

void Pulse::written(const std::shared_ptr<Course>& course, const std::string& node,
                    const Reply& reply) {
  is_under_way_ = false;
  last_ = parts_.now();
  // An answer about an earlier node proves nothing of the next one, which may be under way already.
  const bool is_present = course && course->phase() != Course::Phase::over &&
                          (node == course->node().path() ||
                           base::mutant("zookeeper.word_of_an_old_node_ends_the_next"));
  if (is_present && reply.code == Code::no_node) course->lose_node();
  is_wanted_ = false;
  parts_.renewals->settle();
}

namespace {

// A renewal waits this long for the pulse that comes anyway. If each hold of thousands that are
// renewed at different times caused one more pulse, they would cost the servers three times as much
// as one hold.
constexpr int parts_of_patience = 10;
// A renewal that received nothing for this long is reported as failed. By then at least three parts
// of ten of the hold are left.
constexpr int parts_of_unheard = 4;  // of a session

/// Half of the time after which a renewal counts as lost on a fast link.
std::chrono::nanoseconds patience(const Session& session) {
  const std::chrono::nanoseconds timeout = session.timeout();
  return std::min(timeout / parts_of_patience, core::command_timeout(timeout) / 2);
}

void tell_early(Renewal& renewal, const std::vector<std::size_t>& items) {
  for (const std::size_t item : items) base::tell_early(renewal, item);
}

}  // namespace

void Renewals::add(const std::shared_ptr<Renewal>& operation) {
  std::vector<Part> parts;
  std::vector<std::size_t> lost;
  std::vector<Renewal::Item>& items = operation->items();
  const Instant now = parts_.now();
  for (std::size_t i = 0; i < items.size(); ++i) {
    const std::shared_ptr<Course> course = parts_.attempts->hold(items[i].hold);
    if (!course) {
      items[i].answer = Renewal::Answer::lost;
      lost.push_back(i);
      continue;
    }
    course->hold().watch(parts_.attempts->watches_holds());
    const bool looks = course->ask_who_waits(now);
    note(parts, *course, i);
    if (looks && items.size() == 1) parts.front().looks = now;
  }
  if (parts.empty()) return parts_.then([operation] { operation->answered(); });
  if (!lost.empty()) {
    parts_.then([operation, lost = std::move(lost)] { tell_early(*operation, lost); });
  }
  await(operation, std::move(parts));
}

// The last of a session's holds that are renewed together decides for all of them.
void Renewals::note(std::vector<Part>& parts, Course& course, std::size_t item) const {
  auto part = std::find_if(parts.begin(), parts.end(),
                           [&](const Part& each) { return each.session == &course.session(); });
  if (part == parts.end()) {
    part = parts.insert(part, Part());
    part->session = &course.session();
  }
  part->from = std::max(part->from, course.hold().next_proof());
  part->items.push_back(item);
}

void Renewals::await(const std::shared_ptr<Renewal>& operation, std::vector<Part> parts) {
  const Instant now = parts_.now();
  const auto left = std::make_shared<std::size_t>(parts.size());
  waiting_.reserve(waiting_.size() + parts.size());
  for (Part& part : parts) {
    part.operation = operation;
    part.asked = now;
    part.left = left;
    const bool others_wait = std::any_of(waiting_.begin(), waiting_.end(), [&](const Part& other) {
      return other.session == part.session;
    });
    Instant& since = silences_[part.session].since;
    if (!others_wait || since == never) since = now;
    waiting_.push_back(std::move(part));
  }
  settle();
}

bool Renewals::is_decided(const Part& part, Instant now) const {
  Session& session = *part.session;
  if (!session.up() || session.life().proven() >= part.from) return true;
  pulses_.of(session).want(now + patience(session));
  return base::mutant("zookeeper.renewal_unasked");
}

// A renewal that follows while nothing was received waits for the same silence to end: little is
// left of the hold, and its observer has to know.
Instant Renewals::end_of_patience(const Part& part) const {
  if (base::mutant("zookeeper.unheard_renewal_is_awaited")) return never;
  const Session& session = *part.session;
  return std::min(part.asked, silences_.at(&session).since) + session.timeout() / parts_of_unheard;
}

// A proof for a session is valid for everything that it holds, and waits for no other session. If
// no proof comes in time, the observer must be notified while the hold still stands: the library
// asks again.
void Renewals::settle() {
  const Instant now = parts_.now();
  for (const auto& session : *parts_.sessions) {
    const Instant proven = session->life().proven();
    Silence& silence = silences_[session.get()];
    if (std::exchange(silence.proven, proven) != proven) silence.since = never;
  }
  for (auto part = waiting_.begin(); part != waiting_.end();) {
    // A proof of the meantime answers it. But first the client must know whether another client
    // waits. News of an earlier renewal must not count.
    const bool is_known = is_decided(*part, now);
    const bool looks = part->looks != Instant{} && part->session->up();
    if ((!is_known || looks) && now < end_of_patience(*part)) {
      parts_.look_by(end_of_patience(*part));
      ++part;
      continue;
    }
    answer(*part);  // if there is no memory for it, it is done once more
    part = waiting_.erase(part);
  }
}

// Readers that never pause send a renewal every few milliseconds to learn whether a client waits,
// and send the next one after its answer. While the hold need not be renewed yet, the answer need
// not wait for a pulse: the present proof is valid for the hold.
void Renewals::settle_news(const Course& course, Instant asked) {
  const Session& session = course.session();
  const Instant now = parts_.now();
  const bool is_due =
      now >= session.life().proven() + session.timeout() / core::renewals_in_a_lease;
  const auto is_asked_for = [&](const Part& part) {
    if (part.looks == Instant{} || part.looks > asked) return false;
    return part.operation->items()[part.items.front()].hold.attempt == course.claim().attempt;
  };
  for (auto part = waiting_.begin(); part != waiting_.end();) {
    if (!is_asked_for(*part)) {
      ++part;
      continue;
    }
    part->looks = Instant{};
    if (!is_due) part->from = session.life().proven();
    if (!is_decided(*part, now)) {
      ++part;
      continue;
    }
    answer(*part);
    part = waiting_.erase(part);
  }
}

void Renewals::answer(const Part& part) {
  const Session& session = *part.session;
  if (!session.up() && session.trouble()) part.operation->trouble(session.trouble());
  std::vector<Renewal::Item>& items = part.operation->items();
  for (const std::size_t i : part.items) {
    Renewal::Item& item = items[i];
    const std::shared_ptr<Course> course = parts_.attempts->hold(item.hold);
    if (!course) {
      item.answer = Renewal::Answer::lost;
      continue;
    }
    if (!session.up()) continue;
    // Perhaps by another renewal of it, before or behind this one.
    Hold& hold = course->hold();
    const bool is_unasked = base::mutant("zookeeper.renewal_unasked");
    if (session.life().proven() < std::min(part.from, hold.next_proof()) && !is_unasked) continue;
    item.answer = Renewal::Answer::renewed;
    item.counted_from = is_unasked ? parts_.now() : session.life().proven();
    item.granted = session.timeout();
    item.wanted = hold.news.is_wanted;
    item.wanted_as_of = hold.news.as_of;
    hold.renew(item.counted_from);
  }
  if (*part.left == 1) {
    parts_.then([operation = part.operation] { operation->answered(); });
  } else {
    parts_.then(
        [operation = part.operation, which = part.items] { tell_early(*operation, which); });
  }
  --*part.left;
}

std::vector<std::shared_ptr<Operation>> Renewals::close() {
  std::vector<std::shared_ptr<Operation>> operations;
  for (const Part& part : std::exchange(waiting_, {})) operations.push_back(part.operation);
  return operations;
}

}  // namespace mortise::zookeeper
