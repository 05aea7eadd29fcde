// SPDX-License-Identifier: MIT
// What servers are to take back, and who tells them. Parts of RedlockBackend.
#include "base/one_by_one.hpp"
#include "base/poll_sources.hpp"
#include "redlock/redlock_backend.hpp"

#include <algorithm>
#include <utility>

namespace mortise::redlock {
namespace {

// Addresses that lead to one server are tried again so often for what waits to be sent to others.
constexpr std::chrono::seconds astray_again{1};
// Where there was no memory to send what waits.
constexpr std::chrono::milliseconds out_of_memory_again{500};
// Of the time that close() may take.
constexpr std::chrono::milliseconds patience_at_the_end{750};
constexpr std::chrono::milliseconds a_look{5};

}  // namespace

// A release is over with the majority's answers. One of the others may answer that it does not know
// the script, and has to be told once more; and of a connection that is closed with an answer
// unread it may not even read the request. And what a copy may take yet is taken back once more.
void RedlockBackend::give_back_the_rest() {
  if (!attached_.load()) return;
  const Instant until = BootClock::now() + patience_at_the_end;
  const auto outbox_pending = [&] {
    return std::any_of(nodes_.begin(), nodes_.end(), [&](const auto& node) {
      if (!node->usable()) return false;
      return node->awaits(takes_back) || outbox_.next(node->server(), clock_->now()) < until;
    });
  };
  std::vector<Source*> sources;
  for (const auto& node : nodes_) node->add_sources(sources);
  while (outbox_pending() && BootClock::now() < until) {
    base::poll_sources(sources, *clock_, clock_->now() + a_look);
    for (const auto& node : nodes_) send_outbox(*node, false);
  }
}

Trail RedlockBackend::everywhere() const {
  Trail all;
  for (const auto& node : nodes_) {
    static_cast<void>(all.add({.server = node->server(), .node = node->index()}));
  }
  return all;
}

void RedlockBackend::tell(redis::Call call) {
  // By each address that leads there: what it takes back may be under way by any of them.
  bool told = false;
  for (const auto& node : nodes_) {
    told = send_to(call.server, *node, call) || told;
  }
  if (told) return;
  outbox_.put(call.server, call);
  want_missing(usable(), false);
  see_to_outbox(clock_->now());
  for (const auto& node : nodes_) {
    if (!node->usable()) continue;
    if (node->server() == call.server) {
      // It has come up in between, and may have looked into its outbox too early.
      send_outbox(*node, false);
    } else if (whereabouts_.met(node->server()) >= call.since) {
      static_cast<void>(send(*node, call));  // it may be that server, started anew
    }
  }
}

void RedlockBackend::send_outbox(Node& node, bool comes_up) {
  if (!outbox_.any()) return;
  const Instant now = clock_->now();
  const std::uint64_t generation = node.generation();
  if (!node.usable()) return;
  const std::uint64_t server = node.server();
  const Instant met = comes_up ? whereabouts_.met(server) : Instant::min();
  const auto look = [&](const redis::Call& entry) -> Outbox::Look {
    return {.over = now >= end_of_entry(entry),
            .told_to_all =
                withdrawn(entry) || (now > end_of_vote(entry) && entry.node == node.index())};
  };
  std::vector<Outbox::Due> due = outbox_.take(server, met, comes_up ? never : now, look);
  const Instant next = outbox_.next(server, now);
  if (next != never) alarm_.set_outbox_due(next);
  base::OneByOne each;
  for (Outbox::Due& one : due) {
    bool left = false;
    // And whole, where the server has said that it does not know the script.
    one.call.generation = generation;
    each([&] { left = send_on(node, one.call); });
    outbox_.sent(one, left);
  }
  if (each.failed()) alarm_.set_outbox_due(now + out_of_memory_again);
  each.finish();
}

// Nobody but the caller depends on the others, who asks again.
void RedlockBackend::keep(Calls alone) noexcept {
  const Ask ask = ask_of(alone.front());
  if (ask != Ask::take && ask != Ask::undo && ask != Ask::free) return;
  {
    const std::lock_guard lock(mutex_);
    kept_.splice(kept_.end(), alone);
  }
  alarm_.set_outbox_due(clock_->now() + out_of_memory_again);
}

void RedlockBackend::see_to_kept() {
  Calls kept;
  {
    const std::lock_guard lock(mutex_);
    kept.swap(kept_);
  }
  base::OneByOne each;
  while (!kept.empty()) {
    Calls alone;
    alone.splice(alone.begin(), kept, kept.begin());
    each([&] {
      try {
        // Also where that address can be asked again by now.
        no_answer(*nodes_[alone.front().node], alone.front(), {}, true);
      } catch (...) {
        keep(std::move(alone));
        throw;
      }
    });
  }
  each.finish();
}

void RedlockBackend::send_outbox_later() {
  see_to_kept();
  for (const auto& node : nodes_) {
    send_outbox(*node, false);
  }
  lead_home();
}

void RedlockBackend::lead_home() {
  if (!outbox_.any() || whereabouts_.clear()) return;
  NodeSet astray = 0;
  for (const auto& node : nodes_) {
    if (whereabouts_.astray(node->index())) astray |= only(node->index());
  }
  whereabouts_.distrust(astray);
  lead_anew(astray);
}

void RedlockBackend::see_to_outbox(Instant now) {
  // An address that leads to the server of another one is the way to its own, for which something
  // waits.
  if (outbox_.any() && !whereabouts_.clear()) alarm_.set_outbox_due(now + astray_again);
}

redis::Call RedlockBackend::call_of(const std::shared_ptr<Freeing>& freeing,
                                    const Trail::Stop& where) const {
  const Instant now = clock_->now();
  return {.tag = tag_of(Ask::free, step_of_end),
          .server = where.server,
          .node = where.node,
          .operation = freeing,
          .asked = now,
          .since = where.since,
          .deadline = now + patience};
}

// By the next connection it came before a request that may still arrive, perhaps.
void RedlockBackend::repeat_if_copies(Node& node, const redis::Call& call, redis::ServerTime at) {
  const Instant now = clock_->now();
  const Instant again = copies_.taken_back(node.server(), *attempt_of(call), at, now);
  if (again == never || withdrawn(call)) return;
  outbox_.put(node.server(), call, again);
  alarm_.set_outbox_due(again);
}

// The answer of another address that leads there has said that nothing is left, perhaps.
void RedlockBackend::in_doubt(const std::shared_ptr<QuorumAttempt>& attempt,
                              const Trail::Stop& where) {
  Lock lock(attempt->mutex);
  const std::uint32_t step = attempt->step.load();
  if (attempt->phase == QuorumAttempt::Phase::won) return;  // its hold knows of that server
  static_cast<void>(attempt->maybe.add(where));
  // What comes of the round has it taken back.
  if (attempt->phase == QuorumAttempt::Phase::asking ||
      attempt->phase == QuorumAttempt::Phase::settling) {
    return;
  }
  lock.unlock();
  Trail there;
  static_cast<void>(there.add(where));
  undo(attempt, there, step);
}

}  // namespace mortise::redlock
