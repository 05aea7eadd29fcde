// SPDX-License-Identifier: MIT
// One server of an ensemble while there is no leader.
#include "simulation/zookeeper/peer.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace simulation::zookeeper {
namespace {

using std::chrono::milliseconds;

constexpr Nanos first_pause = milliseconds(200);  // until a vote is told again
constexpr Nanos last_call = milliseconds(200);    // for a better one, when most agree

}  // namespace

void Peer::look() {
  leave_role();
  role_ = Role::looking;
  if (alone()) {
    lead();
    return;
  }
  site_.note("looks for a leader");
  electing_.emplace(Electing{});
  electing_->pause = first_pause;
  electing_->vote = {.leader = index_, .epoch = current_epoch_, .zxid = last_logged()};
  electing_->votes[index_] = electing_->vote;
  ++round_;
  tell_votes();
  later(electing_->pause, &Peer::repeat_votes);
}

void Peer::tell_vote(std::size_t to) {
  send(to, {.kind = Kind::vote,
            .number = round_,
            .role = role_,
            .vote = electing_ ? electing_->vote : settled_vote_});
}

void Peer::tell_votes() {
  for (std::size_t to = 0; to < size_; ++to) {
    if (to != index_) tell_vote(to);
  }
}

void Peer::repeat_votes() {
  tell_votes();
  electing_->pause = std::min(2 * electing_->pause, std::max(first_pause, options_.tick));
  later(electing_->pause, &Peer::repeat_votes);
}

void Peer::hear_vote(const Message& message) {
  if (!electing_) {
    if (message.role == Role::looking) tell_vote(message.from);
  } else if (message.role == Role::looking) {
    hear_looking(message);
  } else {
    hear_settled(message);
  }
}

void Peer::hear_looking(const Message& message) {
  Electing& here = *electing_;
  if (message.number < round_) {
    tell_vote(message.from);
    return;
  }
  const Vote own{.leader = index_, .epoch = current_epoch_, .zxid = last_logged()};
  const Vote before = here.vote;
  if (message.number > round_) {
    round_ = message.number;
    here.votes.clear();
    here.vote = message.vote.beats(own) ? message.vote : own;
    tell_votes();
  } else if (message.vote.beats(here.vote)) {
    here.vote = message.vote;
    tell_votes();
  }
  if (here.vote != before) here.deciding = false;
  here.votes[index_] = here.vote;
  here.votes[message.from] = message.vote;
  consider();
}

// Most agree: wait a little for a better one, then decide.
void Peer::consider() {
  Electing& here = *electing_;
  const auto agrees = [&](const auto& each) { return each.second == here.vote; };
  const auto count = std::count_if(here.votes.begin(), here.votes.end(), agrees);
  if (!most(static_cast<std::size_t>(count))) {
    here.deciding = false;
  } else if (!here.deciding) {
    here.deciding = true;
    later(last_call, &Peer::decide);
  }
}

void Peer::decide() {
  if (!electing_->deciding) return;
  const auto agrees = [&](const auto& each) { return each.second == electing_->vote; };
  const auto& votes = electing_->votes;
  if (most(static_cast<std::size_t>(std::count_if(votes.begin(), votes.end(), agrees)))) {
    settle(electing_->vote.leader);
  }
}

// Others have a leader: one joins them if most of them say so, and it says so itself.
void Peer::hear_settled(const Message& message) {
  auto& settled = electing_->settled;
  settled[message.from] = message;
  const std::size_t leader = message.vote.leader;
  const auto claim = settled.find(leader);
  if (leader == index_ || claim == settled.end() || claim->second.role != Role::leading) return;
  const auto count = std::count_if(settled.begin(), settled.end(), [&](const auto& each) {
    return each.second.vote.leader == leader && each.second.number == message.number;
  });
  // The server counts itself where the round is its own: most of the others are needed otherwise.
  if (!most(static_cast<std::size_t>(count))) return;
  round_ = message.number;
  electing_->vote = message.vote;
  settle(leader);
}

void Peer::settle(std::size_t leader) {
  settled_vote_ = electing_->vote;
  if (leader == index_) {
    lead();
  } else {
    follow(leader);
  }
}

}  // namespace simulation::zookeeper
