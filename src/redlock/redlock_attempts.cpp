// SPDX-License-Identifier: MIT
// The rounds of an attempt: how one begins, what becomes of it, and when the next one comes. Parts
// of RedlockBackend.
#include "base/mutant.hpp"
#include "core/figures.hpp"
#include "redlock/redlock_backend.hpp"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

namespace mortise::redlock {
namespace {

constexpr std::size_t fewest_bids_to_sweep = 256;
// An attempt that does not wait tries again so often where nobody has won.
constexpr int most_splits = 4;

}  // namespace

std::shared_ptr<Bid> RedlockBackend::bid_of(const std::shared_ptr<Acquisition>& operation,
                                            bool make) {
  const std::lock_guard lock(mutex_);
  const auto found = bids_.find(operation->request().attempt);
  if (found != bids_.end()) return found->second;
  if (!make || stopped_.load() || operation->done()) return nullptr;
  if (bids_.size() >= sweep_at_) {
    // Cancelled, and given up by the library before enough servers were there to hear of it.
    std::erase_if(bids_, [](const auto& bid) { return bid.second->operation.use_count() == 1; });
    sweep_at_ = std::max(fewest_bids_to_sweep, bids_.size() * 2);
  }
  return bids_[operation->request().attempt] = std::make_shared<Bid>(operation, quorum_);
}

std::vector<std::shared_ptr<Bid>> RedlockBackend::bids() {
  std::vector<std::shared_ptr<Bid>> all;
  const std::lock_guard lock(mutex_);
  all.reserve(bids_.size());
  for (const auto& [attempt, bid] : bids_) all.push_back(bid);
  return all;
}

void RedlockBackend::forget(const Bid& bid) {
  std::shared_ptr<Bid> last;  // destroyed outside of the mutex
  const std::lock_guard lock(mutex_);
  const auto found = bids_.find(bid.request().attempt);
  if (found == bids_.end() || found->second.get() != &bid) return;
  last = std::move(found->second);
  bids_.erase(found);
}

std::uint64_t RedlockBackend::propose() noexcept {
  const auto wall = std::chrono::system_clock::now().time_since_epoch();
  const auto micros = std::chrono::duration_cast<std::chrono::microseconds>(wall).count();
  const std::uint64_t now = micros > 0 ? static_cast<std::uint64_t>(micros) : 0;
  return std::min(std::max(last_number_.load() + 1, now), core::grant_number_limit - 1);
}

void RedlockBackend::ask(const std::shared_ptr<Bid>& bid) {
  const Instant now = clock_->now();
  settle_doubts(now);
  NodeSet nodes = usable();
  want_missing(nodes, !bid->operation->in_trouble());
  Lock lock(bid->mutex);
  switch (bid->phase) {
    case Bid::Phase::won:
    case Bid::Phase::cancelled:
    case Bid::Phase::over: return;
    case Bid::Phase::asking:
    case Bid::Phase::settling:
      if (now < bid->asked + node_timeout(bid->request().lease)) return;
      for (const auto& node : nodes_) bid->ballot.silent(node->index());
      return lose(bid, std::move(lock));
    case Bid::Phase::parked:
    case Bid::Phase::waiting: break;
  }
  if (bid->operation->done()) return;
  begin(bid->roll);
  nodes = usable();  // only now: which of these connections are up
  if (count(nodes) < quorum_.majority() || !whereabouts_.clear()) {
    bid->phase = Bid::Phase::parked;
    lock.unlock();
    // What has come up in between has looked for parked ones too early.
    if (count(usable()) >= quorum_.majority() && whereabouts_.clear()) return ask(bid);
    return tell_unreachable(bid);
  }
  bid->phase = Bid::Phase::asking;
  bid->asked = now;
  bid->hinted = 0;
  bid->late = 0;
  bid->spoke.clear();
  bid->hears = 0;
  bid->next = never;
  bid->proposal.store(propose());
  std::fill(bid->failures.begin(), bid->failures.end(), Failure{});
  bid->ballot.begin();
  bid->awaited.begin(awaited_);
  const std::uint32_t step = bid->step.fetch_add(1) + 1;
  for (const auto& node : nodes_) {
    if ((nodes & only(node->index())) != 0) bid->ballot.asked(node->index());
  }
  lock.unlock();
  ask_nodes(bid, nodes, step);
}

// The same bytes for most servers, as a rule.
void RedlockBackend::ask_nodes(const std::shared_ptr<Bid>& bid, NodeSet nodes, std::uint32_t step) {
  const Acquisition::Request& request = bid->request();
  thread_local std::string bytes;
  std::optional<Passage> written;
  bool written_interested = false;
  const Instant now = clock_->now();
  const redis::Call call{.tag = tag_of(Ask::take, step),
                         .operation = bid,
                         .asked = now,
                         .deadline = now + node_timeout(request.lease)};
  for (const auto& node : nodes_) {
    if ((nodes & only(node->index())) == 0) continue;
    const std::uint64_t epoch = node->epoch();
    // Only now: of a connection that broke the copies are noted before the next one is up.
    if (!node->usable()) {
      no_vote(*node, call, node->why());
      continue;
    }
    const std::uint64_t server = node->server();
    const std::uint8_t script = script_of(Ask::take);
    const Passage passage{.step = step,
                          .copies = strays_.has(server, request.attempt),
                          .whole = !node->loaded().has(script, epoch)};
    const bool interested = request.wait && node->listens();
    bool fresh = false;
    {
      // Before it is sent: whoever takes it back then knows of it, and an inbox that breaks and
      // comes back afterwards takes away what was heard.
      const Lock lock(bid->mutex);
      if (bid->step.load() != step) return;
      fresh = bid->maybe.add({.server = server,
                              .node = node->index(),
                              .since = now,
                              .asked = now,
                              .ways = only(node->index())});
      if (interested) bid->hears |= only(node->index());
    }
    if (written != passage || written_interested != interested) {
      bytes.clear();
      write_take(bytes, passage, *bid, interested);
      written = passage;
      written_interested = interested;
    }
    redis::Call mine = call;
    mine.epoch = epoch;
    mine.copies = passage.copies;
    mine.script = script;
    mine.whole = passage.whole;
    mine.server = server;
    mine.node = node->index();
    mine.since = now;
    if (node->send(std::move(mine), bytes)) {
      bid->operation->sent(now);
    } else {
      if (fresh) not_asked(bid, server, now);
      no_vote(*node, call, node->why());
    }
  }
}

// Not a byte has left. Nobody else knows of it: who cancels at this moment believes what `maybe`
// says, and not that nothing was sent yet. This thread may have stood still meanwhile, and a later
// round has asked the server.
void RedlockBackend::not_asked(const std::shared_ptr<Bid>& bid, std::uint64_t server,
                               Instant asked) {
  Lock lock(bid->mutex);
  bid->maybe.not_asked(server, asked);
  finish_cancel(bid, std::move(lock));
}

// A server that came up during a round is asked for the hold that may come of it: see Roll.
void RedlockBackend::join(const std::shared_ptr<Bid>& bid, Node& node) {
  std::uint32_t step = 0;
  {
    const Lock lock(bid->mutex);
    if (bid->phase != Bid::Phase::asking) return;
    const NodeSet decided = bid->ballot.open() | bid->ballot.votes() | bid->ballot.against();
    if ((decided & only(node.index())) != 0) return;
    bid->late |= only(node.index());
    step = bid->step.load();
  }
  ask_nodes(bid, only(node.index()), step);
}

void RedlockBackend::judge(const std::shared_ptr<Bid>& bid, Lock lock) {
  if (bid->phase != Bid::Phase::asking && bid->phase != Bid::Phase::settling) return;
  switch (bid->ballot.outcome()) {
    case Ballot::Outcome::open: return;
    case Ballot::Outcome::settle: return settle(bid, std::move(lock));
    case Ballot::Outcome::won: return win(bid, std::move(lock));
    case Ballot::Outcome::lost: return lose(bid, std::move(lock));
  }
}

void RedlockBackend::settle(const std::shared_ptr<Bid>& bid, Lock lock) {
  bid->phase = Bid::Phase::settling;
  const NodeSet nodes = bid->ballot.settle();
  bid->number.store(bid->ballot.number());
  const Instant now = clock_->now();
  const redis::Call call{.tag = tag_of(Ask::settle, bid->step.load()),
                         .operation = bid,
                         .asked = now,
                         .deadline = now + node_timeout(bid->request().lease)};
  lock.unlock();
  for (const auto& node : nodes_) {
    if ((nodes & only(node->index())) == 0 || send(*node, call)) continue;
    no_vote(*node, call, node->why());
  }
}

void RedlockBackend::win(const std::shared_ptr<Bid>& bid, Lock lock) {
  const Acquisition::Request& request = bid->request();
  const Grant grant{.number = bid->ballot.number(),
                    .counted_from = bid->ballot.counted_from(),
                    .lease = request.lease};
  const HoldId hold{.name = request.name, .attempt = request.attempt, .number = grant.number};
  Trail doubtful;
  for (const Trail::Stop& stop : bid->maybe) {
    if (strays_.has(stop.server, request.attempt)) static_cast<void>(doubtful.add(stop));
  }
  // Before a server that may have a vote yet is noted for a hold that nobody knows. What needs
  // memory comes first: a round that was won, and of which nobody is told, is never taken back.
  holds_.add(hold, end_of_hold(grant.counted_from, grant.lease), std::move(bid->maybe),
             grant.counted_from);
  bid->phase = Bid::Phase::won;
  bid->number.store(grant.number);
  bid->won_step = bid->step.fetch_add(1);  // what was not sent yet shall not be
  bid->awaited.end();
  const NodeSet late = bid->late;
  lock.unlock();
  std::uint64_t last = last_number_.load();
  while (last < grant.number && !last_number_.compare_exchange_weak(last, grant.number)) {
  }
  bid->operation->granted(grant);
  // Where another thread completes it at this moment, its result can be read only afterwards. Until
  // then it stays in the table, or whoever asks for it would begin anew.
  while (!bid->operation->done()) std::this_thread::yield();
  forget(*bid);
  if (bid->operation->grant().number != grant.number) {
    release(std::make_shared<Release>(hold));  // nobody wants it
    return;
  }
  for (const Trail::Stop& stop : doubtful) static_cast<void>(doubt(hold, stop));
  if (late != 0) relock(*bid, late);
}

void RedlockBackend::lose(const std::shared_ptr<Bid>& bid, Lock lock) {
  const Instant now = clock_->now();
  const bool wait = bid->request().wait;
  const bool contended = count(bid->ballot.votes() | bid->ballot.against()) >= quorum_.majority();
  const bool held = bid->ballot.held_elsewhere();
  // A release is over with a majority: who asks just then, and can not reach all, may meet servers
  // that have yet to hear of it.
  const bool proven = count(bid->ballot.holders_nodes()) >= quorum_.majority();
  const std::uint32_t step = bid->step.fetch_add(1) + 1;
  // But a server that stands still votes when it goes on, if nobody tells it otherwise by then.
  bid->maybe.forget_before(
      now - bid->request().lease - end_at_the_servers,
      [&](const Trail::Stop& stop) { return strays_.has(stop.server, bid->request().attempt); });
  const Trail servers = bid->maybe;
  bid->splits = (wait ? held : proven) ? 0 : bid->splits + 1;
  bid->polite.store(false);
  const std::optional<Holder> holder = bid->holder;
  Instant next = never;
  if (!contended && bid->late == 0) {
    bid->phase = Bid::Phase::parked;
  } else if (contended && !wait && (proven || bid->splits > most_splits)) {
    bid->phase = Bid::Phase::over;
  } else {
    bid->phase = Bid::Phase::waiting;
    next = bid->next = next_try(*bid, now);
  }
  const Bid::Phase phase = bid->phase;
  // Until the next round the answers to the undoing count: a server that has lost its scripts
  // undoes nothing before it is told them, and votes that stand keep everybody from a majority.
  if (phase != Bid::Phase::waiting || base::mutant("redlock.nobody_reads_what_is_undone")) {
    bid->awaited.end();
  }
  lock.unlock();
  undo(bid, servers, step);
  if (phase == Bid::Phase::parked) return tell_unreachable(bid);
  if (phase == Bid::Phase::over) {
    bid->operation->busy(holder);
    forget(*bid);
    return;
  }
  if (wait && contended) {
    bid->operation->queued(holder);
    for (const auto& node : nodes_) node->listen(requests_.inbox(bid->request().attempt));
  }
  if (next != never) alarm_.set(bid, next);
}

void RedlockBackend::undo(const std::shared_ptr<Bid>& bid, const Trail& servers,
                          std::uint32_t step) {
  if (base::mutant("redlock.lost_round_is_not_undone")) return;
  const Instant now = clock_->now();
  for (const Trail::Stop& stop : servers) {
    tell({.tag = tag_of(Ask::undo, step),
          .server = stop.server,
          .node = stop.node,
          .operation = bid,
          .asked = now,
          .since = stop.since,
          .deadline = now + patience});
  }
}

void RedlockBackend::cancel(const std::shared_ptr<Acquisition>& operation) {
  if (!open(*operation)) return;
  std::shared_ptr<Bid> bid = bid_of(operation, false);
  if (!bid && operation->progress() == Acquisition::Progress::unsent) {
    operation->busy(operation->holder());  // no server has ever heard of it
    return;
  }
  const bool unknown = !bid;
  if (unknown) bid = bid_of(operation, true);
  if (!bid) return;  // it has just been completed
  Lock lock(bid->mutex);
  if (bid->phase == Bid::Phase::won || bid->phase == Bid::Phase::over) return;
  if (bid->phase == Bid::Phase::cancelled) return;  // it is told to whoever has to hear it
  bid->phase = Bid::Phase::cancelled;
  bid->awaited.begin(awaited_);
  bid->leaves.store(true);
  if (unknown) {
    bid->step.store(step_of_hold - 1);  // whatever its steps were
    bid->maybe = everywhere();
  }
  const std::uint32_t step = bid->step.fetch_add(1) + 1;
  Trail servers = bid->maybe;
  servers.add(bid->listed);
  lock.unlock();
  undo(bid, servers, step);
  finish_cancel(bid, Lock(bid->mutex));
}

void RedlockBackend::finish_cancel(const std::shared_ptr<Bid>& bid, Lock lock) {
  if (bid->phase != Bid::Phase::cancelled) return;
  // Done is what cannot become a majority, or what all servers that answer at all have heard of: a
  // grant is made by this client alone, and the others are told when they are back. Where none has
  // said a word it stays in doubt.
  const bool heard = !bid->spoke.empty() && !bid->spoke.meets(bid->maybe);
  if (bid->maybe.size() >= quorum_.majority() && !heard) return;
  bid->phase = Bid::Phase::over;
  bid->awaited.end();
  lock.unlock();
  bid->operation->busy(bid->operation->holder());
  forget(*bid);
}

}  // namespace mortise::redlock
