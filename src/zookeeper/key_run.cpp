// SPDX-License-Identifier: MIT
#include "zookeeper/key_run.hpp"

#include "base/mutant.hpp"
#include "zookeeper/questions.hpp"
#include "zookeeper/tidying.hpp"

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace mortise::zookeeper {
namespace {

/// Before a write is repeated that the server refused.
constexpr std::chrono::milliseconds refused_pause{100};

// A server that accepts no packet of this length hangs up on its sender, and on everything else
// that its session holds. So the outcome is not sent indefinitely.
constexpr int most_tries = 3;
constexpr int parts_of_trying = 3;  // of a session

Kept record_of(const HoldId& hold, const Conclusion& conclusion, const std::string& label) {
  return {.record = {.state = conclusion.state,
                     .bytes = conclusion.bytes,
                     .run = conclusion.run,
                     .number = hold.number,
                     .fingerprint = conclusion.memory->fingerprint},
          .keep = conclusion.memory->keep,
          .attempt = hold.attempt.text(),
          .label = label,
          .name = std::string(name_to_keep(hold.name))};
}

}  // namespace

bool RunCourse::read_record(const Reply& reply) {
  if (!is_answer(reply.code)) return false;  // again with the next connection, or after a while
  std::optional<Memo> memo;
  if (reply.code == Code::ok) {
    memo = Memo::read(reply);
    if (!memo || !memo->is_of(claim().name)) {
      fail(parts().other_record(claim().key.kept, memo.has_value()));
      return false;
    }
  } else if (reply.code == Code::no_node) {
    memo = Memo();
  } else {
    fail(parts().failure_of(reply, claim().key.kept));
    return false;
  }
  memo->removals = memo_.removals;
  memo_ = *std::move(memo);
  return true;
}

void RunBegin::make_both() {
  OwnNode& node = course_.node();
  course_.operation()->sent(course_.parts().now());
  node.make_parents();
  std::vector<Request> writes{{Ask::create_ephemeral, node.prefix(), course_.claim().label},
                              record()};
  const auto made = [this](const Reply& reply) { made_both(reply); };
  if (!course_.ask(Request::all(std::move(writes)), made)) return;
  node.asked();
  look_at_record();
}

void RunBegin::write() {
  OwnNode& node = course_.node();
  const Memo& memo = course_.memo();
  if (!memo.there) node.make_parents();
  std::vector<Request> writes{{Ask::check, node.path()}};
  if (memo.there) {
    writes.push_back(
        {.kind = Ask::check, .path = course_.claim().key.shelf, .version = memo.removals});
  }
  writes.push_back(record());
  const auto done = [this](const Reply& reply) { written(reply); };
  if (course_.ask(Request::all(std::move(writes)), done)) look_at_record();
}

Request RunBegin::record() const {
  const Claim& claim = course_.claim();
  const Memo& memo = course_.memo();
  const std::uint64_t run = memo.record(false, course_.leaders_time()).run + 1;
  const Kept kept{.record = {.state = KeyState::pending,
                             .run = run,
                             .fingerprint = course_.memory().fingerprint},
                  .keep = course_.memory().keep,
                  .runner = std::string(course_.guid()),
                  .attempt = claim.attempt.text(),
                  .label = claim.label,
                  .name = std::string(name_to_keep(claim.name))};
  return {.kind = memo.there ? Ask::set : Ask::create,
          .path = claim.key.kept,
          .data = kept.bytes(),
          .version = memo.version};
}

// Behind the write: the version of the record and its transaction have to be known as well.
void RunBegin::look_at_record() {
  is_under_way_ = true;
  const auto begun = [this](const Reply& reply) {
    is_under_way_ = false;
    course_.begun(reply);
  };
  course_.ask({Ask::get, course_.claim().key.kept}, begun);
  course_.parts().tidying->step(course_.session());
}

void RunBegin::made_both(const Reply& reply) {
  OwnNode& node = course_.node();
  switch (reply.code) {
    case Code::unknown:
    case Code::ended: return course_.drive();  // settles it
    case Code::ok: node.made(reply.text, reply.czxid); break;
    case Code::no_node:
      // A parent is missing, or the record was forgotten.
      if (!node.lacks_parents()) return;
      course_.recall_again();
      break;
    case Code::exists:
    case Code::other_version:
      node.not_made();
      course_.recall_again();
      break;
    case Code::not_done:
      node.not_made();
      course_.report(reply);
      pause();
      break;
    default:
      node.not_made();
      return course_.fail(course_.parts().failure_of(reply, course_.claim().key.kept));
  }
  course_.drive();
}

void RunBegin::written(const Reply& reply) {
  switch (reply.code) {
    case Code::ok:
    case Code::exists:
    case Code::other_version:
    case Code::unknown:
    case Code::ended: break;  // the record shows what has happened
    case Code::no_node:
      if (!course_.node().lacks_parents()) return;
      break;
    case Code::not_done: pause(); break;
    default: return course_.fail(course_.parts().failure_of(reply, course_.claim().key.kept));
  }
  course_.drive();
}

void RunBegin::pause() { course_.pause(course_.parts().now() + refused_pause); }

void OutcomeWriter::write() {
  OwnNode& node = course_.node();
  if (node.is_removing()) return;
  const Instant now = course_.parts().now();
  if (tries_ == 0) first_try_ = now;
  const bool takes_long = now - first_try_ >= course_.session().timeout() / parts_of_trying;
  if (tries_ >= most_tries && takes_long) return give_up();
  const Claim& claim = course_.claim();
  std::vector<Request> writes{
      {.kind = Ask::set,
       .path = claim.key.kept,
       .data = record_of(course_.hold().id(), *conclusion_, claim.label).bytes(),
       .version = version_}};
  if (base::mutant("zookeeper.record_after_the_loss")) {
    // Whether it still has the key or not.
    course_.session().ask({Ask::remove, node.path()}, {});
    writes.front().version = Request::any_version;
  } else {
    writes.push_back({Ask::remove, node.path()});
  }
  const auto done = [this](const Reply& reply) { written(reply); };
  if (!course_.ask(Request::all(std::move(writes)), done)) return;
  ++tries_;
  node.removing(true);
}

void OutcomeWriter::written(const Reply& reply) {
  course_.node().removing(false);
  switch (reply.code) {
    case Code::ok: return course_.gone(Released::released);
    case Code::unknown:
    case Code::ended: return course_.node().lost_removal();
    case Code::not_done: return course_.report(reply);
    // By an earlier request whose answer was lost, or not at all.
    case Code::no_node:
    case Code::other_version: return look();
    default: break;
  }
  course_.releases().fail(course_.parts().failure_of(reply, course_.claim().key.kept));
  drop();
}

void OutcomeWriter::look() {
  const auto looked = [this](const Reply& reply) { found(reply); };
  course_.node().removing(course_.ask_in_sync({Ask::get, course_.claim().key.kept}, looked));
}

void OutcomeWriter::found(const Reply& reply) {
  course_.node().removing(false);
  if (reply.code != Code::ok && reply.code != Code::no_node) return course_.drive();
  const Memo memo = Memo::found(reply);
  const HoldId hold = course_.hold().id();
  const bool is_ours = is_written_by(memo, hold);
  // If the record is as it was when the run began, nothing was written; and without its node
  // nothing will be.
  const bool is_sure = is_ours || !course_.node().may_be_removed() || is_as_begun(memo, hold);
  if (is_sure) {
    course_.releases().answer(is_ours ? Released::released : Released::was_lost);
  } else {
    course_.releases().fail(in_doubt(course_.parts(), hold.name));
  }
  drop();
}

// Its node goes, and with the node every later request to write the outcome fails.
void OutcomeWriter::give_up() {
  course_.releases().fail(course_.parts().failure(
      Errc::in_doubt, course_.claim().name + ": the connection broke " + std::to_string(tries_) +
                          " times while it sent an outcome of " +
                          std::to_string(conclusion_->bytes.size()) +
                          " bytes; jute.maxbuffer of the servers may be too small"));
  drop();
}

void OutcomeWriter::drop() {
  conclusion_ = nullptr;
  course_.drive();
}

}  // namespace mortise::zookeeper
