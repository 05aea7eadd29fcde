// SPDX-License-Identifier: MIT
// In turn, so that a sentinel that is cut off from the others, and stays with the master of before,
// delays the news by one question and not for ever. By questions and not by a subscription to
// +switch-master: that would tell nothing where this one sentinel is cut off.
#include "redis/topology/sentinel_watch.hpp"

#include "base/mutant.hpp"

#include <optional>

namespace mortise::redis {

SentinelWatch::SentinelWatch(Host& host, const Settings& settings, const remote::Tls* tls,
                             Sentinels& sentinels, Connection& commands)
    : host_(host),
      settings_(settings),
      sentinels_(sentinels),
      commands_(commands),
      clock_(host.clock()),
      talk_(settings, tls) {}

std::chrono::milliseconds SentinelWatch::pause() const noexcept {
  return commands_.up() ? look_at_sentinels : look_for_news;
}

// Also where there was no memory for it: whoever is not asked now is asked after the pause, and
// what was begun ends with its time.
SentinelWatch::Round::~Round() {
  watch_.show();
  watch_.due_.set(watch_.talk_.asks() ? watch_.talk_.due() : now_ + watch_.pause());
}

void SentinelWatch::rouse() {
  // Although nobody needs it at this moment: whoever holds something is not to learn only from a
  // renewal that its server is another one.
  if (!commands_.up() && moves_.exchange(false)) commands_.want(true);
  if (due_.bring_forward(clock_->now() + pause())) host_.changed(*this);
}

void SentinelWatch::close() noexcept {
  const std::lock_guard lock(mutex_);
  talk_.end();
  show();
}

void SentinelWatch::ready(short /*events*/, Instant now) {
  std::optional<SentinelAnswer> answer;
  std::size_t asked = 0;
  {
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock) return;
    if (!talk_.asks()) {
      if (!due_.take(now)) return;
      if (!commands_.is_wanted()) return;  // until it is roused
    }
    const Round round(*this, now);
    if (!talk_.asks()) {
      asked_ = sentinels_.next_in_turn();
      talk_.ask(settings_.sentinels->addresses[asked_], now);
    }
    answer = talk_.advance(now);
    asked = asked_;
  }
  if (answer && !answer->failure) heard(asked, *answer);
}

void SentinelWatch::show() noexcept {
  descriptor_.store(talk_.descriptor());
  interest_.store(talk_.interest());
}

void SentinelWatch::heard(std::size_t sentinel, const SentinelAnswer& answer) {
  if (!sentinels_.names_another(sentinel, answer)) return;
  if (base::mutant("redis.old_master_is_believed")) return;
  moves_.store(true);
  commands_.abandon(
      {Errc::unavailable,
       commands_.where() + ": the sentinels name another master: " + answer.master.text()});
  commands_.want(true);
}

}  // namespace mortise::redis
