// SPDX-License-Identifier: MIT
// Which servers can be asked, and what callers are told where that is too few, or two of them are
// one. Parts of RedlockBackend.
#include "base/mutant.hpp"
#include "base/one_by_one.hpp"
#include "redlock/redlock_backend.hpp"
#include "remote/outbox.hpp"

#include <algorithm>
#include <utility>

namespace mortise::redlock {
namespace {

using redis::Call;

constexpr std::string_view led_astray =
    "leads to the same server as another address; connecting again";

bool is_unreachable(QuorumAttempt& attempt) {
  const std::lock_guard lock(attempt.mutex);
  return attempt.phase == QuorumAttempt::Phase::unreachable;
}

}  // namespace

// Also where another address leads to the same server it stays connected, and holds are renewed by
// each of them. For each quorum request a server's answers count once.
void RedlockBackend::recognise(Node& node, const std::string& run_id) {
  const Instant now = clock_->now();
  whereabouts_.arrived(node.index(), run_id, now);
  settle_doubts(now);
  see_to_outbox(now);
}

void RedlockBackend::settle_doubts(Instant now) {
  if (!whereabouts_.clear()) lead_anew(whereabouts_.doubt(now));
}

void RedlockBackend::lead_anew(NodeSet doubted) {
  for (const auto& node : nodes_) {
    if ((doubted & only(node->index())) == 0) continue;
    node->connect_anew({Errc::unavailable, node->where() + ": " + std::string(led_astray)});
    node->want(true);
  }
}

NodeSet RedlockBackend::usable() const noexcept {
  NodeSet set = 0;
  for (const auto& node : nodes_) {
    if (node->usable()) set |= only(node->index());
  }
  return set;
}

void RedlockBackend::begin(Roll& roll) const {
  roll.begin();
  for (const auto& node : nodes_) roll.connected(node->generation_of_what_is_up());
}

void RedlockBackend::want_missing(NodeSet usable, bool now) {
  if (usable == quorum_.all()) return;
  for (const auto& node : nodes_) {
    if ((usable & only(node->index())) == 0) node->want(now);
  }
}

void RedlockBackend::up(Node& node) {
  base::OneByOne each;
  each([&] { send_outbox(node, true); });
  const bool enough = count(usable()) >= quorum_.majority();
  for (const auto& attempt : attempts()) {
    each([&] {
      if (!is_unreachable(*attempt)) {
        join(attempt, node);
      } else if (enough) {
        ask(attempt);
      }
    });
  }
  std::vector<std::shared_ptr<Looking>> lookings;
  {
    const std::lock_guard lock(mutex_);
    std::erase_if(lookings_, [](const auto& looking) { return looking->abandoned(); });
    lookings = lookings_;
  }
  for (const auto& looking : lookings) look_at(looking, only(node.index()));
  each.finish();
}

// First of all: whoever sees that it is gone asks what may be on its way there.
void RedlockBackend::breaks(Node& node, const std::list<Call>& unanswered) {
  if (stopped_.load()) return;
  base::OneByOne each;
  for (const Call& call : unanswered) {
    each([&] { note_unanswered(node, call); });
  }
  each.finish();
}

void RedlockBackend::note_unanswered(const Node& node, const Call& call) {
  if (!asks_for_a_vote(call)) return;
  copies_.add(node.server(), *attempt_of(call), call.void_after, clock_->now());
}

void RedlockBackend::down(Node& node, bool was_up, Calls unanswered) {
  if (stopped_.load()) return;
  base::OneByOne each;
  Failure why;
  each([&] { why = node.why(); });
  // Only now: another address that leads there may be all that leads there, and is asked then.
  bool clear_now = false;
  each([&] { clear_now = whereabouts_.left(node.index(), was_up); });
  while (!unanswered.empty()) {
    Calls alone;
    alone.splice(alone.begin(), unanswered, unanswered.begin());
    each([&] {
      try {
        no_answer(node, alone.front(), why);
      } catch (...) {
        keep(std::move(alone));
        throw;
      }
    });
  }
  each([&] { tell_of_the_end(node, clear_now); });
  each.finish();
}

// Those who wait for it, or for what it has to hear, have it connected once more.
void RedlockBackend::tell_of_the_end(Node& node, bool clear_now) {
  const bool doubted = whereabouts_.in_doubt(node.index());
  bool wanted = doubted || outbox_.any();
  base::OneByOne each;
  std::vector<std::shared_ptr<QuorumAttempt>> open_attempts;
  each([&] { open_attempts = attempts(); });
  for (const auto& attempt : open_attempts) {
    wanted = true;
    each([&] {
      if (clear_now && is_unreachable(*attempt)) {
        ask(attempt);
      } else {
        tell_unreachable(attempt);
      }
    });
  }
  std::vector<std::shared_ptr<Looking>> lookings;
  each([&] {
    const std::lock_guard lock(mutex_);
    lookings = lookings_;
  });
  for (const auto& looking : lookings) {
    if (looking->operation().done()) continue;
    wanted = true;
    each([&] { judge(looking, Lock(looking->mutex)); });
  }
  if (wanted || each.failed()) node.want(doubted);
  each.finish();
}

Failure RedlockBackend::twins(Instant now) const {
  if (whereabouts_.clear()) return {};
  const std::optional<Whereabouts::Twins> two = whereabouts_.twins(now);
  if (!two) return {Errc::unavailable, "two addresses led to one server; connecting to both again"};
  return {Errc::misconfigured, nodes_[two->first]->where() + " and " +
                                   nodes_[two->second]->where() +
                                   " are one server (same run_id), which has one vote; name each "
                                   "server once"};
}

Failure RedlockBackend::unreachable(const std::vector<Failure>& failures, bool& final) const {
  const Instant now = clock_->now();
  const auto is_stale = [now](Instant found) {
    return now - found > news_for && !base::mutant("redlock.stale_verdict");
  };
  std::size_t failed = 0;
  std::size_t finally = 0;
  Failure first;
  Failure first_final;
  for (const auto& node : nodes_) {
    Failure why = node->usable() ? Failure{} : node->why();
    const bool old = why && is_stale(node->failed_at());
    if (!why && !failures.empty()) why = failures[node->index()];
    if (!why) continue;
    ++failed;
    if (!first) first = why;
    if (old || !remote::is_final(why)) continue;
    ++finally;
    if (!first_final || why.code == Errc::misconfigured) first_final = why;
  }
  if (const Failure doubled = twins(now)) {
    final = doubled.code == Errc::misconfigured;
    return {final ? Errc::misconfigured : Errc::unavailable, describe() + ": " + doubled.text};
  }
  final = finally >= quorum_.blocking();
  if (failed < quorum_.blocking()) return {};
  const Failure& told = final ? first_final : first;
  const auto code = static_cast<Errc>(told.code.value());
  return {final || code == Errc::exhausted ? code : Errc::unavailable,
          describe() + ": " + std::to_string(failed) + " of " + std::to_string(quorum_.nodes) +
              " servers cannot be used; " + told.text};
}

void RedlockBackend::tell_trouble(Operation& operation) const {
  bool final = false;
  if (Failure why = unreachable({}, final)) operation.trouble(std::move(why));
}

void RedlockBackend::tell_unreachable(const std::shared_ptr<QuorumAttempt>& attempt) {
  std::vector<Failure> failures;
  {
    const Lock lock(attempt->mutex);
    if (attempt->phase != QuorumAttempt::Phase::unreachable) return;
    failures = attempt->failures;
  }
  bool final = false;
  Failure why = unreachable(failures, final);
  if (!why) return;
  if (!final) {
    attempt->operation->trouble(std::move(why));
    return;
  }
  {
    const Lock lock(attempt->mutex);
    if (attempt->phase != QuorumAttempt::Phase::unreachable) return;
    attempt->phase = QuorumAttempt::Phase::over;
  }
  attempt->operation->failed(std::move(why));
  forget(*attempt);
}

}  // namespace mortise::redlock
