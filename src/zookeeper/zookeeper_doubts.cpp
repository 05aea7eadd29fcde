// SPDX-License-Identifier: MIT
// Nodes that come late. A request whose connection broke may be carried out after the server was
// asked for its node in vain: it lay in a stalled server, or in the network. Nobody would ever
// remove such a node while the session lives, and it blocks its queue.
#include "base/mutant.hpp"
#include "zookeeper/zookeeper_backend.hpp"

#include <algorithm>
#include <utility>

namespace mortise::zookeeper {
namespace {

// After a third of a session, two thirds ...: the last one about 300 sessions later.
constexpr int most_looks = 10;
constexpr std::size_t most_doubts = 1'024;

}  // namespace

void ZooKeeperBackend::doubt(const Contender& contender) {
  if (base::mutant("zookeeper.late_create_forgotten")) return;
  if (doubts_.size() >= most_doubts) doubts_.erase(doubts_.begin());
  const std::chrono::nanoseconds pause = contender.session->timeout() / 3;
  doubts_.push_back({.session = contender.session,
                     .path = contender.path,
                     .prefix = contender.prefix,
                     .again = clock_->now() + pause,
                     .pause = pause});
}

void ZooKeeperBackend::look_at_doubts(Instant now) {
  for (Doubt& doubt : doubts_) {
    if (now < doubt.again || !doubt.session->up()) continue;
    static_cast<void>(
        doubt.session->list_in_sync(doubt.path, {.step = Step::doubt, .path = doubt.path}));
    ++doubt.looks;
    doubt.again = now + doubt.pause;
    doubt.pause *= 2;
  }
  std::erase_if(doubts_, [](const Doubt& doubt) { return doubt.looks >= most_looks; });
}

void ZooKeeperBackend::sweep(Session& session, const std::string& path, const Children& children) {
  for (const Doubt& doubt : doubts_) {
    if (doubt.session != &session || doubt.path != path) continue;
    const std::string_view guid = std::string_view(doubt.prefix).substr(path.size() + 1);
    const std::string_view late = find_prefix(children, guid);
    if (late.empty()) continue;
    static_cast<void>(session.remove(path + '/' + std::string(late),
                                     {.step = Step::doubt_gone, .path = doubt.prefix}));
  }
}

void ZooKeeperBackend::drop_doubt(const std::string& prefix) {
  std::erase_if(doubts_, [&](const Doubt& doubt) { return doubt.prefix == prefix; });
}

// Our session's, and nobody's: an attempt that stands behind it would wait for itself.
bool ZooKeeperBackend::is_orphan(const Contender& contender, std::int64_t owner) const {
  if (owner != contender.session->id() || base::mutant("zookeeper.late_create_forgotten") ||
      base::mutant("zookeeper.lost_create_forgotten")) {
    return false;
  }
  return std::none_of(contenders_.begin(), contenders_.end(), [&](const auto& each) {
    return contender.predecessor.starts_with(each.second->prefix);
  });
}

}  // namespace mortise::zookeeper
