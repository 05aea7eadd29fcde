// SPDX-License-Identifier: MIT
#include "redis/connection/approach.hpp"

#include <utility>

namespace mortise::redis {

Approach::Approach(const Settings& settings, const remote::Tls* tls, Sentinels* sentinels,
                   std::atomic<int>& descriptor)
    : remote::Approach(tls, settings.connector, settings.address, descriptor),
      sentinels_(sentinels) {
  if (sentinels != nullptr) search_.emplace(settings, tls, *sentinels);
}

void Approach::start(Instant now) {
  if (!search_) return start();
  search_->start(now);
  is_searching_ = true;
}

Approach::Step Approach::advance(Instant now) {
  return is_searching_ ? search(now) : remote::Approach::advance(now);
}

Approach::Step Approach::search(Instant now) {
  std::optional<SentinelAnswer> found = search_->advance(now);
  if (!found) {
    show(search_->descriptor(), search_->interest(), search_->due());
    return Step::goes_on;
  }
  is_searching_ = false;
  if (found->failure) return fail(found->failure.code, std::move(found->failure.text));
  start(std::move(found->master));
  // The lookup has a time of its own.
  return Step::goes_on;
}

void Approach::end(bool was_up) noexcept {
  const bool searched = std::exchange(is_searching_, false);
  remote::Approach::end();
  if (!search_) return;
  search_->end();
  // The sentinels named a server that cannot be used: do not believe the same one again.
  if (!searched && !was_up) sentinels_->misled();
}

void Approach::close() noexcept {
  if (search_) search_->end();
  remote::Approach::close();
}

}  // namespace mortise::redis
