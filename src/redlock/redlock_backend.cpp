// SPDX-License-Identifier: MIT
// What the library asks for, on its way to the servers. Attempts are in redlock_attempts.cpp, what
// the servers answer in redlock_replies.cpp.
#include "redlock/redlock_backend.hpp"

#include "base/farewell.hpp"
#include "base/mutant.hpp"
#include "base/scratch.hpp"
#include "core/figures.hpp"

#include <algorithm>
#include <new>
#include <utility>

namespace mortise::redlock {
namespace {

// A hold that was ended by force may be in the middle of a renewal.
constexpr std::chrono::minutes barred_at_least{1};

}  // namespace

RedlockBackend::RedlockBackend(Settings settings)
    : settings_(std::move(settings)),
      words_(settings_.text()),
      quorum_{.nodes = settings_.nodes.size()},
      tls_(settings_.nodes.front().tls
               ? std::make_unique<remote::Tls>(*settings_.nodes.front().tls, "redis")
               : nullptr),
      requests_(settings_.nodes.front().prefix),
      whereabouts_(settings_.nodes.size()),
      random_(base::random_bits()) {}

RedlockBackend::~RedlockBackend() = default;

Capabilities RedlockBackend::capabilities() const {
  return {.leases = Support::yes,
          .fencing = Support::yes,
          .fair = Support::no,
          .push_wakeup = Support::yes,
          .one_wake = Support::no,
          // Of a minority, or with persistence, or delayed by a lease; servers do not tell.
          .survives_restart = Support::unknown,
          // Of any minority.
          .survives_failover = Support::yes,
          .shared_mode = Support::yes,
          .min_hold = Support::yes,
          .forces = Support::yes};
}

void RedlockBackend::start(Host& host) {
  host_ = &host;
  clock_ = host.clock();
  Node::User& user = *this;
  for (const redis::Settings& node : settings_.nodes) {
    nodes_.push_back(std::make_unique<Node>(nodes_.size(), host, node, tls_.get(), user));
  }
}

void RedlockBackend::stop() noexcept {
  if (stopped_.load()) return;
  // Where there is no memory for that, what is left ends with its lease.
  base::without_memory([&] { give_back_the_rest(); });
  if (stopped_.exchange(true) || nodes_.empty()) return;
  decltype(attempts_) attempts;
  std::vector<std::shared_ptr<Looking>> lookings;
  Calls kept;
  {
    const std::lock_guard lock(mutex_);
    attempts.swap(attempts_);
    lookings.swap(lookings_);
    kept.swap(kept_);
  }
  // Whatever was attached, also where that failed halfway.
  for (const auto& node : nodes_) node->detach();
  host_->detach(alarm_);
  // Where there is no memory for it, whoever waits sees by itself that the client is closed.
  Failure closed(Errc::closed, std::string());
  base::without_memory([&] { closed.text = describe(); });
  const auto give_up = [&closed](const auto& calls) {
    for (const redis::Call& call : calls) {
      request_in<QuorumRequest>(call).give_up(closed);
    }
  };
  for (const auto& node : nodes_) base::without_memory([&] { give_up(node->close()); });
  base::without_memory([&] { give_up(kept); });
  base::without_memory([&] { give_up(outbox_.take_all()); });
  for (const auto& each : attempts) base::without_memory([&] { each.second->give_up(closed); });
  for (const auto& looking : lookings) base::without_memory([&] { looking->give_up(closed); });
}

bool RedlockBackend::open(Operation& operation) {
  if (operation.done()) return false;
  if (stopped_.load()) {
    operation.failed({Errc::closed, describe()});
    return false;
  }
  if (!attached_.load()) {
    const std::lock_guard lock(mutex_);
    if (!stopped_.load() && !attached_.load()) {
      for (const auto& node : nodes_) node->attach();
      host_->attach(alarm_);
      attached_.store(true);
    }
  }
  return true;
}

void RedlockBackend::acquire(const std::shared_ptr<Acquisition>& operation) {
  if (!open(*operation)) return;
  if (operation->request().mode == Mode::permit || operation->request().mode == Mode::once) {
    operation->failed(without(operation->request().mode));
    return;
  }
  if (const std::shared_ptr<QuorumAttempt> attempt = quorum_attempt_of(operation, true)) {
    ask(attempt);
  }
}

void RedlockBackend::recall(const std::shared_ptr<Recollection>& operation) {
  operation->failed(without(Mode::once));
}

// On several servers a release with its outcome is no single step: one that has reached a minority
// would be told by some majorities and not by others, and nothing decides which of them is right.
// And a server that votes for N at once has as many votes for more majorities than N: of three
// servers with two votes each three owners have a majority (see src/redlock/README.md).
std::string RedlockBackend::why_not(Mode mode) const {
  switch (mode) {
    case Mode::once: return "a quorum cannot write an outcome in one step";
    case Mode::permit: return "majority voting guarantees one holder, but not at most N";
    case Mode::exclusive:
    case Mode::shared: break;
  }
  return {};
}

Failure RedlockBackend::without(Mode mode) const {
  return {Errc::unsupported, describe() + ": " + why_not(mode)};
}

void RedlockBackend::renew(const std::shared_ptr<Renewal>& operation) {
  if (!open(*operation)) return;
  const auto renewing = std::make_shared<Renewing>(operation);
  begin(renewing->roll);
  const NodeSet nodes = usable();  // only now: which of these connections are up
  want_missing(nodes, true);       // the library paces renewals by their lease
  if (count(nodes) < quorum_.majority()) {
    tell_trouble(*operation);
    operation->answered();  // unknown: repeated inside the lease
    return;
  }
  core::Nanos shortest = core::longest_lease;
  for (const Renewal::Item& item : operation->items()) shortest = std::min(shortest, item.lease);
  const Instant now = clock_->now();
  {
    const Lock lock(renewing->mutex);
    renewing->asked = now;
    renewing->open = nodes;
    renewing->awaited.begin(awaited_);
  }
  const redis::Call call{.tag = tag_of(Ask::renew),
                         .operation = renewing,
                         .asked = now,
                         .deadline = now + node_timeout(shortest)};
  for (const auto& node : nodes_) {
    if ((nodes & only(node->index())) == 0 || send(*node, call)) continue;
    no_answer(*node, call, {});
  }
}

void RedlockBackend::release(const std::shared_ptr<Release>& operation) {
  if (!open(*operation)) return;
  const NodeSet reachable = usable();
  want_missing(reachable, !operation->in_trouble());
  const Holds::End end = end_of(operation);
  // Once more where there was no memory to tell them all. It is taken for done before it is: what
  // fails meanwhile says so.
  if (end.freeing->untold.exchange(false)) tell_all(end);
  if (count(reachable) < quorum_.majority()) tell_trouble(*operation);
  const std::shared_ptr<Acquisition>& next = operation->successor();
  if (!next || next->done()) return;
  const std::shared_ptr<QuorumAttempt> attempt = quorum_attempt_of(next, true);
  if (!attempt) return;
  attempt->polite.store(attempt->step.load() == 0);
  ask(attempt);
}

// A release by force ends the attempt at every server, whatever its number is there. From then on
// the server has no vote for it, and does not give the hold its vote again (see release.lua). So as
// soon as a majority has done this, no majority can renew the hold. A server that is not reachable
// gets the release when it comes back, as long as this client lives. Otherwise its vote, one of a
// minority, ends with its lease.
Holds::End RedlockBackend::end_of(const std::shared_ptr<Release>& release) {
  const FoundHold* const found = release->found();
  if (found == nullptr) return holds_.end(release);
  const Instant until = clock_->now() + found->holder.expires_in.value_or(core::longest_lease);
  return {.freeing = std::make_shared<Freeing>(release, true, until + end_at_the_servers),
          .maybe = everywhere(),
          .known = true};
}

void RedlockBackend::tell_all(const Holds::End& end) {
  {
    const Lock lock(end.freeing->mutex);
    if (end.fresh && end.known) end.freeing->tally.no = end.maybe.rest(quorum_);
    end.freeing->awaited.begin(awaited_);
  }
  try {
    const Trail maybe = end.known ? end.maybe : everywhere();
    for (const Trail::Stop& stop : maybe) tell(call_of(end.freeing, stop));
  } catch (const std::bad_alloc&) {
    end.freeing->untold.store(true);
    throw;
  }
}

void RedlockBackend::inspect(const std::shared_ptr<Inspection>& operation) {
  if (open(*operation)) look(std::make_shared<Looking>(operation));
}

void RedlockBackend::check(const std::shared_ptr<Check>& operation) {
  if (open(*operation)) look(std::make_shared<Looking>(operation));
}

bool RedlockBackend::send(Node& node, redis::Call call) {
  call.generation = node.generation();
  return send_on(node, std::move(call));
}

bool RedlockBackend::send_to(std::uint64_t server, Node& node, redis::Call call) {
  call.generation = node.generation();  // first: where it leads elsewhere by then, nothing is sent
  return node.usable() && node.server() == server && send_on(node, std::move(call));
}

bool RedlockBackend::send_on(Node& node, redis::Call call) {
  base::Scratch<struct RequestBytes> scratch;
  std::string& bytes = scratch.text();
  call.deadline = clock_->now() + time_of(call);
  // Only now: of a connection that broke the copies are noted before the next one is up.
  if (!node.usable()) return false;
  if (asks_for_a_vote(call)) {
    const Instant now = clock_->now();
    call.void_after =
        node.clock().at(now) + std::chrono::duration_cast<redis::ServerTime>(call.deadline - now);
  }
  call.script = script_of(call);
  call.whole = call.whole || !node.loaded().has(call.script, call.generation);
  write(bytes, call, node);
  return node.send(std::move(call), bytes) != redis::Connection::Sent::refused;
}

void RedlockBackend::write(std::string& bytes, const redis::Call& call, const Node& node) const {
  const Passage passage{.step = step_of(call), .whole = call.whole, .void_after = call.void_after};
  switch (ask_of(call)) {
    case Ask::take: {
      const auto& attempt = request_in<QuorumAttempt>(call);
      write_take(bytes, passage, attempt, attempt.request().wait && node.listens());
      return;
    }
    case Ask::settle: {
      const auto& attempt = request_in<QuorumAttempt>(call);
      requests_.settle(bytes, passage,
                       {.name = attempt.request().name,
                        .attempt = attempt.request().attempt,
                        .number = attempt.number.load()});
      return;
    }
    case Ask::undo: {
      const auto& attempt = request_in<QuorumAttempt>(call);
      requests_.undo(bytes, passage, attempt.request().name, attempt.request().attempt,
                     attempt.leaves.load());
      return;
    }
    case Ask::free: {
      const auto& freeing = request_in<Freeing>(call);
      const HoldId& hold = freeing.release->hold();
      // The hold may not get the vote again, whatever its own client has on its way.
      std::chrono::milliseconds barred{0};
      if (freeing.release->found() != nullptr) {
        barred = std::chrono::ceil<std::chrono::milliseconds>(
            std::max<core::Nanos>(freeing.until - clock_->now(), barred_at_least));
      }
      // A server that voted late may not have heard of the hold's number yet.
      if (freeing.known) {
        requests_.undo(bytes, passage, hold.name, hold.attempt, true, barred);
      } else {
        requests_.release(bytes, passage, hold, barred);
      }
      return;
    }
    case Ask::renew:
      requests_.renew(bytes, passage, request_in<Renewing>(call).renewal->items());
      return;
    case Ask::relock: {
      const auto& relocking = request_in<Relocking>(call);
      requests_.relock(bytes, passage, relocking.hold, relocking.lease);
      return;
    }
    case Ask::look: {
      const auto& looking = request_in<Looking>(call);
      if (looking.queue) return requests_.whose(bytes, passage, looking.queue->name());
      if (looking.check) return requests_.check(bytes, passage);
      requests_.inspect(bytes, passage, looking.inspection->name());
      return;
    }
  }
}

void RedlockBackend::write_take(std::string& bytes, const Passage& passage,
                                const QuorumAttempt& attempt, bool interested) const {
  Manners::StepsBack steps_back = Manners::StepsBack::for_readers;
  if (attempt.bold.load()) steps_back = Manners::StepsBack::not_at_all;
  if (attempt.polite.load()) steps_back = Manners::StepsBack::for_others;
  requests_.take(bytes, passage, attempt.request(),
                 {.interested = interested, .steps_back = steps_back}, attempt.proposal.load());
}

bool RedlockBackend::withdrawn(const redis::Call& call) const {
  switch (ask_of(call)) {
    case Ask::take: {
      const auto& attempt = request_in<QuorumAttempt>(call);
      return attempt.operation->done() || attempt.step.load() != step_of(call);
    }
    case Ask::undo: return request_in<QuorumAttempt>(call).step.load() != step_of(call);
    case Ask::relock: return !holds_.stands(request_in<Relocking>(call).hold, clock_->now());
    case Ask::look: return request_in<Looking>(call).abandoned();
    case Ask::settle:
    case Ask::free:
    case Ask::renew: break;
  }
  return false;
}

}  // namespace mortise::redlock
