// SPDX-License-Identifier: MIT
#include "simulation/scene/zookeeper_trials.hpp"

#include "simulation/scene/zookeeper_old_word.hpp"
#include "simulation/scene/zookeeper_refused_reader.hpp"
#include "simulation/scene/zookeeper_shorter_session.hpp"
#include "simulation/scene/zookeeper_stale_watch.hpp"

#include <utility>

namespace simulation {
namespace {

constexpr std::uint64_t late_node_stream = 36;

}  // namespace

ZooKeeperTrials::ZooKeeperTrials(Room& room, zookeeper::Ensemble& ensemble, ZooKeeperWire& wire,
                                 const Plan& plan, std::string servers, std::string terms)
    : room_(room),
      ensemble_(ensemble),
      wire_(wire),
      seed_(plan.seed),
      has_readers_(plan.readers > 0),
      has_keys_(plan.keys > 0),
      url_(std::move(servers) + terms),
      terms_(std::move(terms)),
      session_(std::chrono::duration_cast<std::chrono::milliseconds>(plan.lease)) {}

template <class Kind>
void ZooKeeperTrials::come(Judge& judge) {
  if (judge.verdict()) return;
  others_.push_back(std::make_unique<Kind>(room_, judge, ensemble_, wire_, url_, session_));
  others_.back()->come();
}

void ZooKeeperTrials::come(Judge& judge) {
  late_node_.emplace(room_, judge, ensemble_, terms_, session_,
                     Random::of({seed_, late_node_stream}));
  late_node_->come();
  if (judge.verdict()) return;
  lost_watch_.emplace(room_, judge, ensemble_, url_, session_);
  lost_watch_->come();
  if (has_readers_ && !judge.verdict()) {
    crowded_readers_.emplace(room_, judge, url_, session_);
    crowded_readers_->come();
  }
  if (has_keys_ && !judge.verdict()) {
    lost_words_.emplace(room_, judge, ensemble_, url_, session_);
    lost_words_->come();
  }
  come<ZooKeeperOldWord>(judge);
  come<ZooKeeperShorterSession>(judge);
  if (has_readers_) come<ZooKeeperRefusedReader>(judge);
  if (has_readers_) come<ZooKeeperStaleWatch>(judge);
}

}  // namespace simulation
