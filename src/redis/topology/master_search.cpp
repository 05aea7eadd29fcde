// SPDX-License-Identifier: MIT
// Who does not know the master is passed over, whatever it says instead. Where nobody knows it that
// may pass: sentinels that are just being set up know no name yet, and one that is misspelt is told
// by the words; only who refuses us, all of them, will not come to like us by itself, and no more
// will a password-file of ours be there that cannot be read.
#include "redis/topology/master_search.hpp"

#include "base/printable.hpp"

#include <utility>

namespace mortise::redis {
namespace {

constexpr std::size_t longest_words = 600;  // of all of them together
constexpr std::size_t longest_word = 240;

}  // namespace

MasterSearch::MasterSearch(const Settings& settings, const remote::Tls* tls, Sentinels& sentinels)
    : settings_(settings), sentinels_(sentinels), talk_(settings, tls) {}

void MasterSearch::start(Instant now) {
  order_ = sentinels_.order();
  asked_ = 0;
  older_.reset();
  outdated_ = 0;
  words_.clear();
  refusals_ = 0;
  limits_ = 0;
  ask_next(now);
}

void MasterSearch::ask_next(Instant now) {
  talk_.ask(settings_.sentinels->addresses[order_[asked_]], now);
  ++asked_;
}

std::optional<SentinelAnswer> MasterSearch::advance(Instant now) {
  for (;;) {
    std::optional<SentinelAnswer> answer = talk_.advance(now);
    if (!answer) return std::nullopt;
    const std::size_t sentinel = order_[asked_ - 1];
    if (answer->failure) {
      note(answer->failure);
    } else if (sentinels_.believes(sentinel, *answer)) {
      return answer;
    } else {
      note_older(sentinel, *std::move(answer));
    }
    if (asked_ == order_.size()) return conclude();
    ask_next(now);
  }
}

void MasterSearch::note_older(std::size_t sentinel, SentinelAnswer answer) {
  ++outdated_;
  if (older_ && older_->epoch >= answer.epoch) return;
  older_ = std::move(answer);
  older_by_ = sentinel;
}

// The one that still answers may be the one that is cut off from the others, together with the old
// master, which goes on. Against the word of those that are silent it is not believed: what they
// said last is tried.
SentinelAnswer MasterSearch::conclude() {
  if (older_ && outdated_ * 2 <= order_.size()) return sentinels_.known();
  if (older_) {
    sentinels_.settle_for(older_by_, *older_);
    return *std::move(older_);
  }
  const bool for_good = refusals_ == order_.size();
  SentinelAnswer none;
  const bool limited = limits_ == order_.size();
  none.failure = {
      for_good  ? refused_as_
      : limited ? Errc::exhausted
                : Errc::unavailable,
      "no sentinel reports the address of master '" + settings_.sentinels->master + "': " + words_};
  return none;
}

void MasterSearch::note(const Failure& why) {
  if (why.code == Errc::denied || why.code == Errc::misconfigured) {
    ++refusals_;
    refused_as_ = why.code == Errc::denied ? Errc::denied : Errc::misconfigured;
  }
  if (why.code == Errc::exhausted) ++limits_;
  if (words_.size() >= longest_words) return;
  if (!words_.empty()) words_ += "; ";
  words_ += base::beginning_of(why.text, longest_word);
}

}  // namespace mortise::redis
