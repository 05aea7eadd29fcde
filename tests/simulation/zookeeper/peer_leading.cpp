// SPDX-License-Identifier: MIT
// One server of an ensemble that leads: proposals, commits, the ends of sessions.
#include "simulation/zookeeper/numbers.hpp"
#include "simulation/zookeeper/peer.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace simulation::zookeeper {

void Peer::lead() {
  leave_role();
  role_ = Role::leading;
  leading_.emplace(tree_, options_.tick, site_.uptime(), alone(), tree_.last());
  if (alone()) {
    establish();
  } else {
    // Whoever is followed by too few until then gives up.
    later(options_.init_limit * options_.tick, &Peer::half_tick);
  }
}

void Peer::hear_follower(Message& message) {
  if (message.kind == Kind::follower_info) {
    Handler& handler = leading_->handlers[message.from];
    handler = {.link = message.link, .heard = site_.uptime()};
    take_info(handler, message);
    return;
  }
  const auto found = leading_->handlers.find(message.from);
  if (found == leading_->handlers.end() || found->second.link != message.link) return;
  found->second.heard = site_.uptime();
  found->second.deadline = leading_->tick + options_.sync_limit;
  switch (message.kind) {
    case Kind::ack_leader: take_ack_of_leader(message.from); break;
    case Kind::ack: take_ack(message.from, message.number); break;
    case Kind::request: take_request(message.from, message); break;
    case Kind::pong:
      for (const auto& [session, timeout] : message.sessions) {
        leading_->sessions.touch(session, timeout, site_.uptime());
      }
      break;
    case Kind::revalidate: {
      const auto& [session, timeout] = message.sessions.front();
      const bool alive = leading_->sessions.touch(session, timeout, site_.uptime());
      if (alive) leading_->sessions.set_owner(session, message.from);
      send(message.from,
           {.kind = Kind::revalidated, .link = message.link, .number = session, .yes = alive});
      break;
    }
    case Kind::broken: leading_->handlers.erase(found); break;
    default: break;
  }
}

void Peer::take_info(Handler& handler, const Message& message) {
  handler.deadline = leading_->tick + options_.init_limit;
  leading_->accepted[message.from] = message.number;
  if (leading_->epoch == 0) {
    if (message.vote.beats(
            {.leader = message.from, .epoch = current_epoch_, .zxid = last_logged()})) {
      site_.note("is behind one that would follow");
      look();
      return;
    }
    choose_epoch();
  } else {
    greet(message.from);
  }
}

// Above all that anyone of a majority has promised.
void Peer::choose_epoch() {
  if (!most(leading_->accepted.size() + 1)) return;
  std::int64_t highest = accepted_epoch_;
  for (const auto& [follower, epoch] : leading_->accepted) highest = std::max(highest, epoch);
  accepted_epoch_ = leading_->epoch = highest + 1;
  std::vector<std::size_t> followers;
  for (const auto& [follower, handler] : leading_->handlers) followers.push_back(follower);
  for (const std::size_t follower : followers) greet(follower);
}

// All that the leader has is committed once most have it, so it is sent as such.
void Peer::greet(std::size_t follower) {
  Handler& handler = leading_->handlers[follower];
  handler.greeted = true;
  auto snapshot = std::make_shared<Tree>(tree_);
  Watches nobodys;
  for (const TxnPtr& txn : serving_ ? leading_->committed : log_) {
    snapshot->apply(*txn, nobodys, connections_);
  }
  send(follower, {.kind = Kind::new_leader,
                  .link = handler.link,
                  .number = leading_->epoch,
                  .snapshot = std::move(snapshot)});
  for (const Proposal& proposal : leading_->proposals) {
    send(follower, {.kind = Kind::proposal, .link = handler.link, .txn = proposal.txn});
  }
}

void Peer::take_ack_of_leader(std::size_t follower) {
  Handler& handler = leading_->handlers[follower];
  handler.acked = true;
  if (serving_) {
    send(follower, {.kind = Kind::up_to_date, .link = handler.link});
    return;
  }
  const auto acked = [](const auto& each) { return each.second.acked; };
  const auto& all = leading_->handlers;
  if (most(static_cast<std::size_t>(std::count_if(all.begin(), all.end(), acked)) + 1)) establish();
}

void Peer::establish() {
  for (const TxnPtr& txn : std::exchange(log_, {})) tree_.apply(*txn, watches_, connections_);
  const std::int64_t epoch = leading_->epoch;
  const std::int64_t zxid = alone() ? tree_.last() : first_zxid_of(epoch);
  auto handlers = std::move(leading_->handlers);
  leading_.emplace(tree_, options_.tick, site_.uptime(), alone(), zxid);
  leading_->handlers = std::move(handlers);
  leading_->epoch = epoch;
  leading_->last = zxid;
  current_epoch_ = epoch;
  serving_ = true;
  ++life_;
  site_.note("leads");
  // Their time begins anew.
  for (const auto& [session, timeout] : tree_.sessions()) {
    leading_->sessions.track(session, timeout, site_.uptime());
  }
  for (auto& [follower, handler] : leading_->handlers) {
    handler.deadline = options_.init_limit;
    if (handler.acked) send(follower, {.kind = Kind::up_to_date, .link = handler.link});
  }
  next_ping_ = site_.uptime() + options_.tick / 2;
  if (!alone()) later(options_.tick / 2, &Peer::half_tick);
  later(leading_->sessions.next() - site_.uptime(), &Peer::expire_sessions);
  later(options_.containers, &Peer::reap_containers);
}

// Twice a tick the followers are asked for signs of life, and once it is counted who gave any.
void Peer::half_tick() {
  if (!serving_) {
    look();
    return;
  }
  if (!leading_->half) ++leading_->tick;
  std::size_t synced = 1;
  std::vector<std::size_t> silent;
  for (const auto& [follower, handler] : leading_->handlers) {
    const Nanos since = site_.uptime() - handler.heard;
    if (since >= options_.sync_limit * options_.tick && handler.acked) silent.push_back(follower);
    if (leading_->tick <= handler.deadline) ++synced;
  }
  if (!leading_->half && !most(synced)) {
    site_.note("is followed by too few");
    look();
    return;
  }
  leading_->half = !leading_->half;
  for (const std::size_t follower : silent) {
    send(follower, {.kind = Kind::broken, .link = leading_->handlers[follower].link});
    leading_->handlers.erase(follower);
  }
  for (const auto& [follower, handler] : leading_->handlers) {
    if (handler.greeted) send(follower, {.kind = Kind::ping, .link = handler.link});
  }
  next_ping_ = site_.uptime() + options_.tick / 2;
  later(options_.tick / 2, &Peer::half_tick);
}

void Peer::take_request(std::size_t follower, Message& message) {
  Request& request = *message.request;
  request.owner = follower;
  if (request.type == op::sync) {
    // Whoever asks is told behind what was proposed last, be the session alive or not.
    if (leading_->proposals.empty()) {
      send(follower, {.kind = Kind::synced, .link = message.link});
    } else {
      leading_->syncs[leading_->last].emplace_back(follower, message.link);
    }
    return;
  }
  if (const TxnPtr txn = prepare(request)) propose(txn);
}

TxnPtr Peer::prepare(Request& request) {
  const auto now = std::chrono::duration_cast<std::chrono::milliseconds>(site_.wall());
  return leading_->preparer.prepare(request, now.count(), site_.uptime());
}

void Peer::propose(const TxnPtr& txn) {
  leading_->last = txn->zxid;
  log_.push_back(txn);
  leading_->proposals.push_back({.txn = txn, .acks = {index_}});
  for (const auto& [follower, handler] : leading_->handlers) {
    if (!handler.greeted) continue;
    send(follower, {.kind = Kind::proposal, .link = handler.link, .txn = txn});
  }
  commit_ready();
}

void Peer::take_ack(std::size_t follower, std::int64_t zxid) {
  for (Proposal& proposal : leading_->proposals) {
    if (proposal.txn->zxid == zxid) proposal.acks.insert(follower);
  }
  commit_ready();
}

void Peer::commit_ready() {
  // What is carried out may have more proposed.
  while (leading_ && !leading_->proposals.empty() &&
         most(leading_->proposals.front().acks.size())) {
    const TxnPtr txn = std::move(leading_->proposals.front().txn);
    leading_->proposals.pop_front();
    for (const auto& [follower, handler] : leading_->handlers) {
      if (!handler.greeted) continue;
      send(follower, {.kind = Kind::commit, .link = handler.link, .number = txn->zxid});
    }
    leading_->committed.push_back(txn);
    if (const auto synced = leading_->syncs.extract(txn->zxid)) {
      for (const auto& [follower, link] : synced.mapped()) {
        const auto handler = leading_->handlers.find(follower);
        if (handler == leading_->handlers.end() || handler->second.link != link) continue;
        send(follower, {.kind = Kind::synced, .link = link});
      }
    }
    if (alone()) {
      carry_out_next();
    } else {
      later(post_.lag_of(index_), &Peer::carry_out_next);
    }
  }
}

// A thread of its own does that: followers may be sooner, and a sync at the leader does not wait.
void Peer::carry_out_next() {
  const TxnPtr txn = std::move(leading_->committed.front());
  leading_->committed.pop_front();
  log_.pop_front();
  carry_out(txn);
}

void Peer::expire_sessions() {
  for (const std::int64_t session : leading_->sessions.over(site_.uptime())) {
    site_.note("ends a session");
    submit_own(session, op::close_session, {});
  }
  later(leading_->sessions.next() - site_.uptime(), &Peer::expire_sessions);
}

// Those that had children and have none; one that never had any stays.
void Peer::reap_containers() {
  std::vector<std::string> empty;
  for (const std::string& path : tree_.containers()) {
    const Node* const node = tree_.find(path);
    if (node->children.empty() && node->stat.cversion > 0) empty.push_back(path);
  }
  for (std::string& path : empty) submit_own(0, op::delete_container, std::move(path));
  later(options_.containers, &Peer::reap_containers);
}

void Peer::end_session(std::int64_t session) {
  submit_own(session, op::close_session, {});
  connections_.flush();
}

void Peer::remove(std::string path) {
  submit_own(0, op::remove, Out().text(path).int32(-1).str());
  connections_.flush();
}

void Peer::submit_own(std::int64_t session, std::int32_t type, std::string body) {
  Request request{.session = session, .type = type, .body = std::move(body), .owner = index_};
  if (const TxnPtr txn = prepare(request)) propose(txn);
}

}  // namespace simulation::zookeeper
