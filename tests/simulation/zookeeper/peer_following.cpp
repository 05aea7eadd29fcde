// SPDX-License-Identifier: MIT
// One server of an ensemble that follows: what the leader sends, and what is handed to it.
#include "simulation/zookeeper/numbers.hpp"
#include "simulation/zookeeper/peer.hpp"

#include <chrono>
#include <utility>

namespace simulation::zookeeper {
namespace {

constexpr int most_tries = 5;
constexpr Nanos between_tries = std::chrono::milliseconds(100);

}  // namespace

void Peer::follow(std::size_t leader) {
  leave_role();
  role_ = Role::following;
  following_.emplace(Following{});
  following_->leader = leader;
  following_->heard = site_.uptime();
  connect_to_leader();
  watch_leader();
}

void Peer::connect_to_leader() {
  following_->link = ++links_;
  send(following_->leader,
       {.kind = Kind::follower_info,
        .link = following_->link,
        .number = accepted_epoch_,
        .vote = {.leader = index_, .epoch = current_epoch_, .zxid = last_logged()}});
}

// Its silence is noticed by the time-out of a read alone.
void Peer::watch_leader() {
  const Nanos limit = (serving_ ? options_.sync_limit : options_.init_limit) * options_.tick;
  const Nanos silent = site_.uptime() - following_->heard;
  if (silent < limit) {
    later(limit - silent, &Peer::watch_leader);
    return;
  }
  site_.note("hears nothing of its leader");
  look();
}

void Peer::hear_leader(Message& message) {
  following_->heard = site_.uptime();
  switch (message.kind) {
    case Kind::new_leader:
      if (message.number < accepted_epoch_) {
        look();
        return;
      }
      accepted_epoch_ = current_epoch_ = message.number;
      tree_ = *message.snapshot;
      log_.clear();
      send(message.from, {.kind = Kind::ack_leader, .link = message.link});
      break;
    case Kind::up_to_date:
      serving_ = true;
      site_.note("follows");
      // From here on it waits less long for a word.
      ++life_;
      watch_leader();
      break;
    case Kind::proposal:
      log_.push_back(message.txn);
      send(message.from, {.kind = Kind::ack, .link = message.link, .number = message.txn->zxid});
      break;
    case Kind::commit: {
      const TxnPtr txn = std::move(log_.front());
      log_.pop_front();
      carry_out(txn);
      break;
    }
    case Kind::ping: answer_ping(); break;
    case Kind::revalidated: {
      const auto asked = following_->revalidations.find(message.number);
      if (asked == following_->revalidations.end()) break;
      Connection* const connection = connections_.find(asked->second);
      following_->revalidations.erase(asked);
      if (connection != nullptr) connections_.welcome(*connection, message.yes);
      break;
    }
    case Kind::synced: {
      const Request request = std::move(following_->syncs.front());
      following_->syncs.pop_front();
      const auto queue = pending_.find(request.session);
      if (queue == pending_.end() || queue->second.empty()) break;
      queue->second.pop_front();
      answer(request);
      drain(request.session);
      break;
    }
    case Kind::broken:
      if (!serving_ && ++following_->tries < most_tries) {
        later(between_tries, &Peer::connect_to_leader);
      } else {
        look();
      }
      break;
    default: break;
  }
}

void Peer::forward(const Request& request) {
  if (request.type == op::sync) following_->syncs.push_back(request);
  Message message{.kind = Kind::request, .link = following_->link};
  message.request = std::make_shared<Request>(request);
  message.request->connection.reset();
  send(following_->leader, std::move(message));
}

// With it go the signs of life of the sessions: the leader learns of them by this alone.
void Peer::answer_ping() {
  Message message{.kind = Kind::pong, .link = following_->link};
  message.sessions.assign(following_->touched.begin(), following_->touched.end());
  following_->touched.clear();
  send(following_->leader, std::move(message));
}

}  // namespace simulation::zookeeper
