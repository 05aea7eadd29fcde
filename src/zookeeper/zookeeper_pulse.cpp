// SPDX-License-Identifier: MIT
// What keeps sessions alive and proves that they live: one pulse for all that a session holds and
// waits for, however much that is. A pulse is a sync, and behind its answer a write that changes
// nothing. The sync shows that the leader has been told of the pulse before; the write proves it,
// and is the sign of life that the next pulse shows. See life.hpp.
#include "base/mutant.hpp"
#include "base/piecemeal_renewal.hpp"
#include "core/figures.hpp"
#include "zookeeper/zookeeper_backend.hpp"

#include <algorithm>
#include <utility>

namespace mortise::zookeeper {
namespace {

/// A client that has more holds than this watches none of their nodes: that would cost the servers,
/// and the next connection, more than what is learned from them is worth.
constexpr std::size_t most_watched_holds = 32;
constexpr int parts_of_progress = 24;  // of a session: what a renewal gains at least
// A renewal waits so long for the pulse that comes anyway. Where each hold of thousands that are
// not renewed at once has one more come, they cost the servers three times what one hold does.
constexpr int parts_of_patience = 10;
// A renewal that nothing was heard of for so long is told as failed: by then three parts of ten of
// the hold are left at least.
constexpr int parts_of_unheard = 4;  // of a session

/// Half of the time after which the library would take the renewal for lost, and ask again.
std::chrono::nanoseconds patience(const Session& session) {
  const std::chrono::nanoseconds timeout = session.timeout();
  return std::min(timeout / parts_of_patience, core::command_timeout(timeout) / 2);
}

void tell_early(Renewal& renewal, const std::vector<std::size_t>& items) {
  for (const std::size_t item : items) base::tell_early(renewal, item);
}

/// Between two pulses of a session that holds something. What a pulse proves began one pulse ago,
/// and the library asks for more a quarter of a session after that, or a little later: by then the
/// next proof is there, or all but there.
std::chrono::nanoseconds period(const Session& session) {
  const std::chrono::nanoseconds timeout = session.timeout();
  return std::max(timeout / 100 * 15, session.report());
}

}  // namespace

Instant ZooKeeperBackend::pulse_due(const Session& session) const {
  if (!session.up() || session.pulse.beats) return never;
  // Earlier than this it would prove nothing.
  const Instant ripe = session.pulse.last + session.report();
  if (session.pulse.wanted) return ripe;
  // Whose session is idle or waits is to be granted a lock without another question, too.
  if (session.holding == 0) return std::max(ripe, session.pulse.last + session.timeout() / 4);
  return std::max(ripe, session.proven() + 2 * period(session));
}

void ZooKeeperBackend::beat(Session& session, Instant now) {
  if (now < pulse_due(session)) return;
  session.pulse.last = now;
  session.pulse.beats = base::mutant("zookeeper.read_renews")
                            ? session.exists(settings_.root, {.step = Step::beat_write})
                            : session.sync(settings_.root, {.step = Step::beat});
}

void ZooKeeperBackend::beaten(Session& session, const Call& call, const Reply& reply) {
  session.pulse.beats = false;
  session.pulse.last = clock_->now();
  const bool proves = session.holding + session.awaiting > 0 || session.pulse.wanted;
  if (call.step == Step::beat && reply.code == Code::ok && proves &&
      !base::mutant("zookeeper.sync_renews")) {
    const ContenderPtr contender = next_to_write(session);
    const std::string& node = contender ? contender->node : settings_.root;
    session.pulse.beats = session.refused_write(
        node, {.step = Step::beat_write, .contender = contender, .path = node});
    return;
  }
  const ContenderPtr& contender = call.contender;
  // Of a node that is no more it says nothing of the next one, which may be on its way already.
  const bool present =
      contender && !contender->erased &&
      (call.path == contender->node || base::mutant("zookeeper.word_of_an_old_node_ends_the_next"));
  if (present && reply.code == Code::no_node) own_node_gone(contender);
  session.pulse.wanted = false;
  settle_renewals();
}

// All nodes in turn, so that each is found out that somebody has deleted.
ZooKeeperBackend::ContenderPtr ZooKeeperBackend::next_to_write(Session& session) {
  auto next = contenders_.upper_bound(session.pulse.last_written);
  for (std::size_t i = 0; i < contenders_.size(); ++i, ++next) {
    if (next == contenders_.end()) next = contenders_.begin();
    const ContenderPtr& contender = next->second;
    if (contender->session != &session || contender->node.empty() || contender->leaving ||
        contender->withdrawn) {
      continue;
    }
    session.pulse.last_written = next->first;
    return contender;
  }
  return nullptr;
}

bool ZooKeeperBackend::watches_holds() const {
  std::size_t holds = 0;
  for (const auto& session : sessions_) holds += session->holding;
  return holds <= most_watched_holds;
}

// With each renewal, so that a short hold does not pay for it. A client that has come to hold many
// takes back what it has by the next one.
void ZooKeeperBackend::watch_own(const ContenderPtr& contender) {
  Session& session = *contender->session;
  if (contender->own_watch == watches_holds() || !session.up()) return;
  if (contender->own_watch) {
    set(*contender, &Contender::own_watch, false);
    return session.unwatch(contender->node, *contender);
  }
  if (!session.get(contender->node, true, {.step = Step::own_watch, .contender = contender})) {
    return;
  }
  session.watch(contender->node, contender);
  set(*contender, &Contender::own_watch, true);
}

Instant ZooKeeperBackend::renewed_from(const Contender& contender) {
  return contender.counted + contender.session->timeout() / parts_of_progress;
}

// The last of a session's holds that are renewed together speaks for all of them.
void ZooKeeperBackend::note(std::vector<AwaitedRenewal>& parts, const Contender& contender,
                            std::size_t item) {
  const Instant from = renewed_from(contender);
  auto part = std::find_if(parts.begin(), parts.end(), [&](const AwaitedRenewal& each) {
    return each.session == contender.session;
  });
  if (part == parts.end()) {
    part = parts.insert(part, AwaitedRenewal());
    part->session = contender.session;
  }
  part->from = std::max(part->from, from);
  part->items.push_back(item);
}

/// @param lost which of its holds are not known any more
void ZooKeeperBackend::await(const std::shared_ptr<Renewal>& operation,
                             std::vector<AwaitedRenewal> parts, std::vector<std::size_t> lost) {
  if (parts.empty()) return then([operation] { operation->answered(); });
  if (!lost.empty()) then([operation, lost = std::move(lost)] { tell_early(*operation, lost); });
  const Instant now = clock_->now();
  const auto left = std::make_shared<std::size_t>(parts.size());
  renewals_.reserve(renewals_.size() + parts.size());
  for (AwaitedRenewal& part : parts) {
    part.operation = operation;
    part.asked = now;
    part.left = left;
    const bool others_wait =
        std::any_of(renewals_.begin(), renewals_.end(),
                    [&](const AwaitedRenewal& other) { return other.session == part.session; });
    Instant& unheard = part.session->pulse.unheard;
    if (!others_wait || unheard == never) unheard = now;
    renewals_.push_back(std::move(part));
  }
  settle_renewals();
}

bool ZooKeeperBackend::decided(const AwaitedRenewal& part, Instant now) const {
  Session& session = *part.session;
  if (!session.up() || session.proven() >= part.from) return true;
  const bool comes_soon = session.pulse.beats || pulse_due(session) <= now + patience(session);
  if (!comes_soon) session.pulse.wanted = true;
  return base::mutant("zookeeper.renewal_unasked");
}

// Who asks again while nothing was heard learns of the same silence: little is left of the hold,
// and its observer is to know.
Instant ZooKeeperBackend::end_of_patience(const AwaitedRenewal& part) {
  if (base::mutant("zookeeper.unheard_renewal_is_awaited")) return never;
  const Session& session = *part.session;
  return std::min(part.asked, session.pulse.unheard) + session.timeout() / parts_of_unheard;
}

// What was proven for a session goes for all that it holds, and waits for no other session. Where
// nothing comes in time nothing is learned now, and whoever observes is to know of it while the
// hold still stands: the library asks again.
void ZooKeeperBackend::settle_renewals() {
  const Instant now = clock_->now();
  for (const auto& session : sessions_) {
    Session::Pulse& pulse = session->pulse;
    if (std::exchange(pulse.proven, session->proven()) != session->proven()) pulse.unheard = never;
  }
  for (auto part = renewals_.begin(); part != renewals_.end();) {
    // What was proven meanwhile answers it, and who waits is told only when it is known: its news
    // are not to be those of the renewal before.
    const bool is_decided = decided(*part, now);
    const bool looks = part->looks != Instant{} && part->session->up();
    if ((!is_decided || looks) && now < end_of_patience(*part)) {
      next_look_ = std::min(next_look_, end_of_patience(*part));
      ++part;
      continue;
    }
    settle(*part);  // where there is no memory for it, it is done once more
    part = renewals_.erase(part);
  }
}

// Readers that never pause have a renewal of theirs sent each few milliseconds, to learn whether
// anybody waits, and no other until it is answered. It need not wait for a pulse as long as the
// hold is not to be renewed yet: what is proven already goes for it.
void ZooKeeperBackend::settle_news(const Contender& contender, Instant asked) {
  const Session& session = *contender.session;
  const Instant now = clock_->now();
  const bool due = now >= session.proven() + session.timeout() / core::renewals_in_a_lease;
  const auto is_asked_for = [&](const AwaitedRenewal& part) {
    if (part.looks == Instant{} || part.looks > asked) return false;
    return part.operation->items()[part.items.front()].hold.attempt == contender.attempt;
  };
  for (auto part = renewals_.begin(); part != renewals_.end();) {
    if (!is_asked_for(*part)) {
      ++part;
      continue;
    }
    part->looks = Instant{};
    if (!due) part->from = session.proven();
    if (!decided(*part, now)) {
      ++part;
      continue;
    }
    settle(*part);
    part = renewals_.erase(part);
  }
}

void ZooKeeperBackend::settle(const AwaitedRenewal& part) {
  const Session& session = *part.session;
  if (!session.up() && session.trouble()) part.operation->trouble(session.trouble());
  std::vector<Renewal::Item>& items = part.operation->items();
  for (const std::size_t i : part.items) {
    Renewal::Item& item = items[i];
    const ContenderPtr contender = hold_of(item.hold);
    if (!contender) {
      item.answer = Renewal::Answer::lost;
      continue;
    }
    if (!session.up()) continue;
    // By another renewal of it, perhaps, that was asked for before or behind this one.
    const Instant from = std::min(part.from, renewed_from(*contender));
    if (session.proven() < from && !base::mutant("zookeeper.renewal_unasked")) continue;
    item.answer = Renewal::Answer::renewed;
    item.counted_from =
        base::mutant("zookeeper.renewal_unasked") ? clock_->now() : session.proven();
    item.granted = session.timeout();
    item.wanted = contender->wanted;
    item.wanted_as_of = contender->wanted_as_of;
    contender->counted = item.counted_from;
    contender->lapse = item.counted_from + item.granted;
  }
  if (*part.left == 1) {
    then([operation = part.operation] { operation->answered(); });
  } else {
    then([operation = part.operation, which = part.items] { tell_early(*operation, which); });
  }
  --*part.left;
}

}  // namespace mortise::zookeeper
