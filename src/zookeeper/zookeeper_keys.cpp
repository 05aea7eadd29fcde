// SPDX-License-Identifier: MIT
// The way of an attempt for a key of `Once`: first it is asked what is kept, which ends most
// attempts. Whoever is to run makes a node in the queue, as for a lock; but what gives it the key
// is that it writes itself into what is kept, for the version that it has read: at that version
// nobody ran it, and nobody can begin without a new one. In the same transaction its own node is
// looked at, so that no session begins a run that has ended; and the shelf, whose data is written
// by each removal there: a node that was made anew since has the versions of the one before it.
#include "base/mutant.hpp"
#include "core/figures.hpp"
#include "core/verdict.hpp"
#include "zookeeper/zookeeper_backend.hpp"

#include <algorithm>
#include <utility>

namespace mortise::zookeeper {
namespace {

/// Before a write is repeated that the server has not carried out.
constexpr std::chrono::milliseconds refused_pause{100};

std::string_view guid_of(const Contender& contender) {
  return std::string_view(contender.prefix).substr(contender.path.size() + 1, guid_size);
}

Kept begun_record(const Contender& contender, std::uint64_t run) {
  const Memory& memory = *contender.key->memory;
  return {.record = {.state = KeyState::pending, .run = run, .fingerprint = memory.fingerprint},
          .keep = memory.keep,
          .runner = std::string(guid_of(contender)),
          .attempt = contender.attempt.text(),
          .label = contender.label,
          .name = std::string(name_to_keep(contender.name))};
}

}  // namespace

LeadersTime ZooKeeperBackend::time_of(const Contender& contender) const {
  return contender.session->leaders_time(clock_->now());
}

void ZooKeeperBackend::replied_about_key(const ContenderPtr& contender, const Call& call,
                                         const Reply& reply) {
  switch (call.step) {
    case Step::shelf: return learn_of_shelf(contender, reply);
    case Step::recall: return recalled(contender, reply);
    // The list behind it goes on.
    case Step::kept: return static_cast<void>(learn(contender, reply));
    case Step::kept_watch:
    case Step::kept_again: return kept_told(contender, call, reply);
    case Step::begin: return began(contender, reply);
    case Step::begin_new: return began_at_once(contender, reply);
    case Step::begun: return begun(contender, reply);
    case Step::conclude: return concluded(contender, reply);
    default: return found_concluded(contender, reply);
  }
}

// Its node is not there, nor asked for.
void ZooKeeperBackend::take_key(const ContenderPtr& contender) {
  KeyTurn& key = *contender->key;
  Session& session = *contender->session;
  if (!key.recalled) {
    ask_for_time(session, key.needs_time);
    if (session.get_in_sync(key.place.kept, {.step = Step::recall, .contender = contender})) {
      ++contender->flight;
    }
    return;
  }
  if (!key.memo.there) return begin_at_once(contender);
  if (!contender->wait && !contender->peeked && key.memo.pending()) {
    if (session.list(contender->path, {.step = Step::peek, .contender = contender})) {
      ++contender->flight;
    }
    return;
  }
  make_own_node(contender);
}

// How late it is by the clock that times are kept by tells a write that changes nothing. One is
// enough for minutes, but for what may be over just now.
void ZooKeeperBackend::ask_for_time(Session& session, bool precisely) {
  if (!precisely && !session.is_leaders_time_old(clock_->now())) return;
  static_cast<void>(session.set(keys_path(settings_.root), {}, Call{}));
}

// Before what is kept is read, in the same flight; there is none as long as nothing is kept.
void ZooKeeperBackend::look_at_shelf(const ContenderPtr& contender) {
  if (contender->session->exists(contender->key->place.shelf,
                                 {.step = Step::shelf, .contender = contender})) {
    ++contender->flight;
  }
}

void ZooKeeperBackend::learn_of_shelf(const ContenderPtr& contender, const Reply& reply) {
  std::int32_t& removals = contender->key->memo.removals;
  if (reply.code == Code::ok) removals = reply.version;
  if (reply.code == Code::no_node) removals = 0;
}

bool ZooKeeperBackend::learn(const ContenderPtr& contender, const Reply& reply) {
  KeyTurn& key = *contender->key;
  const std::int32_t removals = key.memo.removals;
  switch (reply.code) {
    case Code::ok: break;
    case Code::no_node: key.memo = Memo{.removals = removals}; return true;
    case Code::unknown:
    case Code::ended:
    case Code::not_done: return false;  // once more with the next connection, or the next tick
    default: fail(contender, failure_of(reply, key.place.kept)); return false;
  }
  std::optional<Memo> memo = Memo::read(reply);
  if (!memo || !memo->is_of(contender->name)) {
    fail(contender, not_of_that_key(key.place.kept, memo.has_value()));
    return false;
  }
  key.memo = *std::move(memo);
  key.memo.removals = removals;
  return true;
}

// @return whether that was the end of it
bool ZooKeeperBackend::told(const ContenderPtr& contender, bool held) {
  const KeyTurn& key = *contender->key;
  Record record = key.memo.record(held, time_of(*contender));
  if (base::mutant("zookeeper.another_request_is_answered")) {
    record.fingerprint = key.memory->fingerprint;
  }
  const core::Verdict verdict = core::judge(*key.memory, record);
  if (verdict != core::Verdict::replay && verdict != core::Verdict::mismatch) return false;
  // Not the bytes: they are another's.
  if (verdict == core::Verdict::mismatch) record.bytes.clear();
  if (const auto operation = std::exchange(contender->operation, nullptr)) {
    then([operation, record = std::make_shared<const Record>(std::move(record))] {
      operation->trouble(Failure{});
      operation->recorded(record);
    });
  }
  leave(contender);
  return true;
}

std::optional<Holder> ZooKeeperBackend::runner_of(const Contender& contender) const {
  const KeyTurn& key = *contender.key;
  if (!key.memo.pending()) return std::nullopt;
  return Holder{.label = key.memo.kept.label.substr(0, core::longest_label),
                .token = Token(key.memo.kept.record.number * core::tokens_in_a_grant),
                .expires_in = {},
                .waiters = contender.waiters};
}

void ZooKeeperBackend::leave_key_busy(const ContenderPtr& contender) {
  if (const auto operation = std::exchange(contender->operation, nullptr)) {
    then([operation, holder = runner_of(*contender)] { operation->busy(holder); });
  }
  leave(contender);
}

void ZooKeeperBackend::leave(const ContenderPtr& contender) {
  contender->leaving = true;
  contender->withdrawn = false;
  drive(contender);
}

void ZooKeeperBackend::recalled(const ContenderPtr& contender, const Reply& reply) {
  if (contender->leaving) return drive(contender);
  if (!learn(contender, reply)) return;
  KeyTurn& key = *contender->key;
  if (!key.needs_time && key.memo.may_be_over(time_of(*contender))) {
    key.needs_time = true;
    return drive(contender);
  }
  key.recalled = true;
  // Who runs it, or whether anybody does, is not known yet.
  const bool may_run = key.memo.pending() && !key.memo.is_over(time_of(*contender));
  if (!told(contender, may_run)) drive(contender);
}

void ZooKeeperBackend::peeked_at_key(const ContenderPtr& contender, const Children& children) {
  const KeyTurn& key = *contender->key;
  if (contender->leaving || find_prefix(children, key.memo.kept.runner).empty()) {
    return drive(contender);
  }
  contender->waiters = marked(children, key.place.mark).size() - 1;
  leave_key_busy(contender);
}

// Nothing is remembered: so nobody runs it, and who has seen that at once with us makes ours fail.
void ZooKeeperBackend::begin_at_once(const ContenderPtr& contender) {
  Session& session = *contender->session;
  contender->operation->sent(clock_->now());
  make_parents(contender, clock_->now());
  std::vector<Write> writes{
      {.kind = Write::Kind::create_ephemeral, .path = contender->prefix, .data = contender->label}};
  writes.push_back(beginning(*contender));
  if (!session.write(std::move(writes), {.step = Step::begin_new, .contender = contender})) return;
  contender->unsure = true;
  ++contender->flight;
  look_at_beginning(contender);
}

void ZooKeeperBackend::begin(const ContenderPtr& contender) {
  const KeyTurn& key = *contender->key;
  if (!key.memo.there) make_parents(contender, clock_->now());
  std::vector<Write> writes{{.kind = Write::Kind::check, .path = contender->node}};
  if (key.memo.there) {
    writes.push_back(
        {.kind = Write::Kind::check, .path = key.place.shelf, .version = key.memo.removals});
  }
  writes.push_back(beginning(*contender));
  if (!contender->session->write(std::move(writes),
                                 {.step = Step::begin, .contender = contender})) {
    return;
  }
  ++contender->flight;
  look_at_beginning(contender);
}

Write ZooKeeperBackend::beginning(const Contender& contender) const {
  const KeyTurn& key = *contender.key;
  const std::uint64_t run = key.memo.record(false, time_of(contender)).run + 1;
  return {.kind = key.memo.there ? Write::Kind::set : Write::Kind::create,
          .path = key.place.kept,
          .data = begun_record(contender, run).bytes(),
          .version = key.memo.version};
}

// Behind what has begun it. Its version, and the transaction, are to be known, too.
void ZooKeeperBackend::look_at_beginning(const ContenderPtr& contender) {
  contender->key->begins = true;
  if (contender->session->get(contender->key->place.kept, false,
                              {.step = Step::begun, .contender = contender})) {
    ++contender->flight;
  }
  tidy(*contender->session);
}

void ZooKeeperBackend::began_at_once(const ContenderPtr& contender, const Reply& reply) {
  KeyTurn& key = *contender->key;
  switch (reply.code) {
    case Code::unknown:
    case Code::ended: return drive(contender);  // to be settled
    case Code::ok: contender->node = reply.text; break;
    case Code::no_node:
      // The parents, as `created()` has it; or what was kept has been forgotten.
      if (contender->parent_failure) {
        contender->unsure = false;
        return fail(contender, contender->parent_failure);
      }
      contender->parents_missing = true;
      key.recalled = false;
      break;
    case Code::exists:
    case Code::other_version: key.recalled = false; break;
    case Code::not_done:
      if (contender->operation) contender->operation->trouble(failure_of(reply, key.place.kept));
      contender->again = clock_->now() + refused_pause;
      next_look_ = std::min(next_look_, contender->again);
      break;
    default: contender->unsure = false; return fail(contender, failure_of(reply, key.place.kept));
  }
  contender->unsure = false;
  drive(contender);
}

void ZooKeeperBackend::began(const ContenderPtr& contender, const Reply& reply) {
  switch (reply.code) {
    case Code::ok:
    case Code::exists:
    case Code::other_version:
    case Code::unknown:
    case Code::ended: break;  // what is kept tells
    case Code::no_node:
      if (contender->parent_failure) return fail(contender, contender->parent_failure);
      contender->parents_missing = true;
      break;
    case Code::not_done:
      contender->again = clock_->now() + refused_pause;
      next_look_ = std::min(next_look_, contender->again);
      break;
    default: return fail(contender, failure_of(reply, contender->key->place.kept));
  }
  drive(contender);
}

void ZooKeeperBackend::begun(const ContenderPtr& contender, const Reply& reply) {
  contender->key->begins = false;
  if (contender->leaving || contender->withdrawn || contender->held) return drive(contender);
  if (!learn(contender, reply)) return drive(contender);
  if (!contender->node.empty() && runs(*contender)) return run(contender);
  drive(contender);
}

bool ZooKeeperBackend::runs(const Contender& contender) {
  const Memo& memo = contender.key->memo;
  return memo.pending() && memo.kept.runner == guid_of(contender);
}

void ZooKeeperBackend::run(const ContenderPtr& contender) {
  KeyTurn& key = *contender->key;
  remember_queue(contender->path);
  remember_queue(key.place.shelf);
  contender->number = static_cast<std::int64_t>(key.memo.kept.record.number);
  key.run = key.memo.kept.record.run;
  key.version = key.memo.version;
  believe(contender);
}

// The list came behind what is kept, so whoever runs it by that is in it, if it still does.
void ZooKeeperBackend::place_key(const ContenderPtr& contender, const Children& children) {
  KeyTurn& key = *contender->key;
  const Children mine = marked(children, key.place.mark);
  const std::string_view own = std::string_view(contender->node).substr(contender->path.size() + 1);
  const bool there = std::find(mine.begin(), mine.end(), own) != mine.end();
  if (there && runs(*contender)) return run(contender);
  key.runner.clear();
  if (key.memo.pending() && !base::mutant("zookeeper.two_runners")) {
    const std::string_view runner = find_prefix(children, key.memo.kept.runner);
    if (!runner.empty()) key.runner.assign(contender->path).append(1, '/').append(runner);
  }
  if (told(contender, !key.runner.empty())) return;
  stand(contender, mine);
}

// The node before it has gone, and nobody else is: is it the runner's, by what is kept now?
bool ZooKeeperBackend::runner_has_gone(const Contender& contender) {
  const KeyTurn& key = *contender.key;
  return contender.ahead <= 1 && key.watching && key.memo.pending() &&
         contender.predecessor == key.runner &&
         std::string_view(key.runner)
             .substr(contender.path.size() + 1)
             .starts_with(key.memo.kept.runner);
}

// It is the first of those who want the key.
void ZooKeeperBackend::key_in_turn(const ContenderPtr& contender, const Place& place) {
  const std::string& runner = contender->key->runner;
  if (runner.empty()) return begin(contender);
  // Who found nothing kept has begun at once, and stands behind us.
  if (!contender->wait) return leave_key_busy(contender);
  Place behind = place;
  behind.predecessor = runner.substr(contender->path.size() + 1);
  behind.ahead = 1;
  wait_behind(contender, behind);
}

// Who runs it whatever it came to waits as for a lock: no outcome is an answer to it.
void ZooKeeperBackend::watch_kept(const ContenderPtr& contender) {
  KeyTurn& key = *contender->key;
  const bool answers = key.memory->repeat != Repeat::always;
  if (key.watching || !answers) return;
  if (!contender->session->get(key.place.kept, true,
                               {.step = Step::kept_watch, .contender = contender})) {
    return;
  }
  ++contender->flight;
  contender->session->watch(key.place.kept, contender);
  key.watching = true;
}

void ZooKeeperBackend::kept_changed(const ContenderPtr& contender) {
  KeyTurn& key = *contender->key;
  key.watching = false;
  if (!contender->operation || contender->leaving || contender->withdrawn || key.begins) return;
  // It has failed, and now somebody has begun: who waits goes on watching. Of an outcome there is
  // as a rule nothing to be watched any more.
  if (!key.memo.pending()) return watch_kept(contender);
  if (contender->session->get(key.place.kept, false,
                              {.step = Step::kept_again, .contender = contender})) {
    ++contender->flight;
  }
}

void ZooKeeperBackend::kept_told(const ContenderPtr& contender, const Call& call,
                                 const Reply& reply) {
  KeyTurn& key = *contender->key;
  const bool watches = call.step == Step::kept_watch;
  if (watches && reply.code != Code::ok && key.watching) {
    // Of what is not there nobody is told. It is looked at again with the queue.
    key.watching = false;
    static_cast<void>(contender->session->unwatch(key.place.kept));
  }
  if (contender->leaving || contender->withdrawn || contender->held) return drive(contender);
  if (!learn(contender, reply)) return;
  const bool may_run = key.memo.pending();
  if (told(contender, may_run)) return;
  if (!watches && contender->watching && !contender->hurry) watch_kept(contender);
  drive(contender);
}

}  // namespace mortise::zookeeper
