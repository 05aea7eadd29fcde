// SPDX-License-Identifier: MIT
// How it ends: an attempt, its node, a connection, a session.
#include "base/mutant.hpp"
#include "core/figures.hpp"
#include "remote/outbox.hpp"
#include "zookeeper/zookeeper_backend.hpp"

#include <algorithm>
#include <utility>

namespace mortise::zookeeper {

void ZooKeeperBackend::fail(const ContenderPtr& contender, Failure why) {
  // A look that was on its way when the event granted the lock: it ends no hold.
  if (contender->held && !contender->is_gate) return;
  if (const ContenderPtr main = contender->opens_for.lock(); main && main->gate == contender) {
    return fail(main, std::move(why));  // which leaves its gate
  }
  without_gate(contender);
  if (const auto operation = std::exchange(contender->operation, nullptr)) {
    then([operation, why = std::move(why)] { operation->failed(why); });
  }
  contender->leaving = true;
  contender->withdrawn = false;
  if (contender->node.empty() && !contender->unsure) {
    gone(contender, Released::was_lost);
  } else {
    drive(contender);
  }
}

void ZooKeeperBackend::gone(const ContenderPtr& contender, Released outcome) {
  if (contender->withdrawn && !contender->leaving) {
    forget_node(contender);
    return drive(contender);
  }
  // Whoever asks next is not to find it waiting still.
  if (contender->gate && contender->session->up()) {
    contender->node.clear();
    return leave_gate(contender->gate);
  }
  for (const auto& release : std::exchange(contender->releases, {})) {
    then([release, outcome] { release->answered(outcome); });
  }
  if (const auto operation = std::exchange(contender->operation, nullptr)) {
    then([operation] { operation->busy(operation->holder()); });
  }
  const ContenderPtr behind = contender->opens_for.lock();
  erase(contender);
  if (behind && behind->gate == contender) {
    behind->gate.reset();
    drive(behind);
  }
}

void ZooKeeperBackend::erase(const ContenderPtr& contender) {
  set(*contender, &Contender::watching, false);
  set(*contender, &Contender::own_watch, false);
  set(*contender, &Contender::held, false);
  contender->erased = true;
  without_gate(contender);
  watches_no_more(*contender);
  contender->session->paths.owned -= contender->paths.owned;
  contenders_.erase(contender->attempt);
}

void ZooKeeperBackend::watches_no_more(Contender& contender) noexcept {
  contender.session->paths.watched -= std::exchange(contender.paths.watched, 0);
}

// The next node of the attempt has another guid, so that the two are never mixed up.
void ZooKeeperBackend::forget_node(const ContenderPtr& contender) {
  set(*contender, &Contender::watching, false);
  set(*contender, &Contender::own_watch, false);
  contender->node.clear();
  contender->name_is_there = false;
  contender->number = 0;
  contender->beside_number = 0;
  contender->event_grants = contender->wanted = false;
  contender->unsure = false;
  contender->removing = false;
  contender->remove_unsure = false;
  contender->withdrawn = false;
  contender->drains = false;
  contender->predecessor.clear();
  contender->head.clear();
  contender->head_told = false;
  contender->ahead = contender->waiters = 0;
  if (contender->key) {
    KeyTurn& key = *contender->key;
    if (std::exchange(key.watching, false)) contender->session->unwatch(key.place.kept, *contender);
    key.recalled = key.begins = false;
  }
  ++contender->round;
  contender->prefix = prefix_of(*contender);
}

std::string ZooKeeperBackend::prefix_of(const Contender& contender) const {
  if (contender.key) {
    return contender.path + '/' +
           node_prefix(contender.attempt, contender.round, contender.key->place.mark);
  }
  if (contender.mode == Mode::permit) {
    return contender.path + '/' +
           lease_prefix(contender.attempt, contender.round, contender.permits);
  }
  return contender.path + '/' +
         node_prefix(contender.attempt, contender.round, {}, contender.mode == Mode::shared,
                     naming_of(contender));
}

Paths ZooKeeperBackend::paths_of(const Contender& contender) {
  constexpr std::size_t digits = 11;         // of a node, behind its prefix
  constexpr std::size_t marked_digits = 17;  // of the grant of whoever was its owner before
  constexpr std::size_t length = 4;          // of a path, on the wire
  std::size_t node = contender.prefix.size() + digits + length;
  if (contender.beside) node += marked_digits;
  if (contender.mode == Mode::permit) node *= 2;  // its gate's
  Paths paths{.owned = node};
  // The node before its own is called as that is.
  if (contender.wait) paths.watched = node;
  if (contender.wait && contender.key) paths.watched += contender.key->place.kept.size() + length;
  return paths;
}

// Of a key's queue and a semaphore's the names are always the same.
Naming ZooKeeperBackend::naming_of(const Contender& contender) const {
  return contender.key || contender.is_gate ? Naming::mutex : settings_.naming;
}

HoldId ZooKeeperBackend::hold_id_of(const Contender& contender) {
  return {.name = contender.name,
          .attempt = contender.attempt,
          .number = static_cast<std::uint64_t>(contender.number),
          .mode = contender.mode};
}

void ZooKeeperBackend::lose(const ContenderPtr& contender, const std::string& words) {
  set(*contender, &Contender::held, false);
  then([this, words, hold = hold_id_of(*contender)] {
    host_->hold_lost(hold, {Errc::lost, hold.name + ": " + words});
  });
}

// The node stands until the loss is known: with it the next one has the name.
void ZooKeeperBackend::lose_and_remove(const ContenderPtr& contender, const std::string& words) {
  lose(contender, words);
  contender->leaving = contender->stands = true;
  then([this, contender] {
    const CompletionScope scope(*this);
    contender->stands = false;
    if (!stopped_.load()) drive(contender);
  });
}

void ZooKeeperBackend::own_node_gone(const ContenderPtr& contender) {
  if (base::mutant("zookeeper.own_deletion_ignored")) return;
  if (contender->held && base::mutant("zookeeper.expiry_not_told")) return;
  // Our own doing: the answer to it tells.
  if (contender->leaving || contender->withdrawn) return;
  if (contender->is_gate) set(*contender, &Contender::held, false);
  if (contender->held) {
    lose(contender, "another program deleted its node");
    erase(contender);
    return;
  }
  forget_node(contender);
  drive(contender);
}

void ZooKeeperBackend::watched(Session& session, std::string_view path, bool gone) {
  for (const ContenderPtr& contender : session.unwatch(path)) {
    if (contender->erased) continue;
    if (contender->mode == Mode::permit && contender->path == path) {
      permits_changed(contender);
    } else if (contender->key && contender->key->place.kept == path) {
      kept_changed(contender);
    } else if (contender->node == path) {
      set(*contender, &Contender::own_watch, false);
      if (gone) {
        own_node_gone(contender);
      } else if (contender->held) {
        watch_own(contender);
      }
    } else if (contender->predecessor == path) {
      if (gone) {
        predecessor_gone(contender);
      } else {
        set(*contender, &Contender::watching, false);
        drive(contender);
      }
    }
  }
}

void ZooKeeperBackend::session_ready(Session& session, short events, Instant now) {
  const CompletionScope scope(*this);
  if (stopped_.load()) return;
  session.run(events, now);
  // Whatever was asked for, its answer may have proven what a renewal waits for.
  if (!renewals_.empty()) settle_renewals();
}

void ZooKeeperBackend::session_up(Session& session) {
  negotiated_ms_.store(session.timeout().count());
  std::vector<ContenderPtr> mine;
  for (const auto& [attempt, contender] : contenders_) {
    if (contender->session == &session) mine.push_back(contender);
  }
  // A server grants each connection a time-out by limits of its own, and from then on the leader
  // counts that one. Where it is shorter, a hold was told of more time than its session may last
  // without a word; and no renewal takes back what an earlier one has told.
  const Instant least = session.proven() + session.timeout();
  for (const ContenderPtr& contender : mine) {
    if (contender->operation) contender->operation->trouble(Failure{});
    if (contender->held && !contender->is_gate && contender->lapse > least &&
        !base::mutant("zookeeper.shorter_session_keeps_its_holds")) {
      lose_and_remove(contender, "the servers shortened its session");
    }
    drive(contender);
  }
  for (Doubt& doubt : doubts_) {
    if (doubt.session == &session) doubt.again = clock_->now();
  }
  if (&session == sessions_.front().get()) send_outbox();
}

void ZooKeeperBackend::session_down(Session& session) {
  for (const auto& [attempt, contender] : contenders_) {
    if (contender->session != &session) continue;
    // Of what becomes of a node meanwhile the server tells the last alone: that an owner has gone,
    // and not that it reads on.
    contender->event_grants = false;
    if (contender->operation) contender->operation->trouble(session.trouble());
    for (const auto& release : contender->releases) release->trouble(session.trouble());
  }
  settle_renewals();
  if (&session == sessions_.front().get()) fail_outbox(session.trouble(), false);
}

void ZooKeeperBackend::end_left(const Session* left) {
  const CompletionScope scope(*this);
  for (const auto& session : sessions_) {
    if (session.get() == left) session->end_left(clock_->now());
  }
}

void ZooKeeperBackend::session_over(Session& session, const Failure& why, bool at_server) {
  const bool final = remote::is_final(why);
  std::vector<ContenderPtr> mine;
  for (const auto& [attempt, contender] : contenders_) {
    if (contender->session == &session) mine.push_back(contender);
  }
  for (const ContenderPtr& contender : mine) {
    if (contender->erased) continue;  // with whoever it opened for
    if (contender->held && base::mutant("zookeeper.expiry_not_told")) continue;
    if (contender->is_gate) set(*contender, &Contender::held, false);
    if (contender->held) {
      lose(contender, why.text);
      erase(contender);
    } else if (contender->leaving) {
      // Whether it was recorded is to be asked for: with the next session it can be.
      if (contender->key && contender->key->conclusion && contender->remove_unsure && !final) {
        for (const auto& release : std::exchange(contender->releases, {})) {
          recognise(release, true, !at_server);
        }
      }
      gone(contender, contender->remove_unsure ? Released::unknown : Released::was_lost);
    } else {
      // Its node is gone or going: the attempt begins anew in the next session, with another guid.
      forget_node(contender);
      if (final) {
        fail(contender, why);
      } else if (contender->operation) {
        contender->operation->trouble(session.trouble());
      }
    }
  }
  // With the session all that it was asked for has ended.
  std::erase_if(doubts_, [&](const Doubt& doubt) { return doubt.session == &session; });
  settle_renewals();
  if (&session == sessions_.front().get()) {
    fail_outbox(final ? why : session.trouble(), final);
  }
  // Behind the losses.
  if (!at_server) then([this, left = &session] { end_left(left); });
}

// The session lives on, so nobody but we ends a hold that is not renewed.
void ZooKeeperBackend::lapse(Instant now) {
  std::vector<ContenderPtr> due;
  next_look_ = never;
  for (const auto& [attempt, contender] : contenders_) {
    if (contender->held && base::mutant("zookeeper.lapse_ignored")) continue;
    if (contender->held) {
      if (contender->lapse <= now) {
        due.push_back(contender);
      } else {
        next_look_ = std::min(next_look_, contender->lapse);
      }
    } else if (contender->flight == 0 && !contender->watching) {
      due.push_back(contender);
      if (contender->again > now) next_look_ = std::min(next_look_, contender->again);
    }
  }
  for (const ContenderPtr& contender : due) {
    if (contender->held) {
      lose_and_remove(contender, "it was not renewed in time");
    }
    drive(contender);
  }
}

void ZooKeeperBackend::tick(Instant now) {
  for (const auto& session : sessions_) {
    session->tick(now);
    beat(*session, now);
  }
  look_at_doubts(now);
  lapse(now);
  settle_renewals();
}

}  // namespace mortise::zookeeper
