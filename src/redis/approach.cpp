// SPDX-License-Identifier: MIT
#include "redis/approach.hpp"

#include <poll.h>

#include <utility>

namespace mortise::redis {

Approach::Approach(const Settings& settings, const remote::Tls* tls, Sentinels* sentinels,
                   std::atomic<int>& descriptor)
    : tls_(tls),
      sentinels_(sentinels),
      address_(settings.address),
      race_(tls, remote::connect_time),
      descriptor_(descriptor),
      interest_(POLLIN) {
  if (sentinels != nullptr) search_.emplace(settings, tls, *sentinels);
  if (settings.connector) dialer_.emplace(settings.connector, settings.address);
}

void Approach::start(Instant now) {
  if (dialer_) {
    stage_ = Stage::dialing;
    dialer_->start();
    return show(dialer_->descriptor(), POLLIN, never);
  }
  if (!search_) return resolve();
  search_->start(now);
  stage_ = Stage::searching;
}

void Approach::start(const base::Endpoint& only, const std::string& host) {
  if (dialer_) return start(Instant{});
  if (!host.empty()) address_.host = host;
  stage_ = Stage::connecting;
  race_.start({only}, address_.host);
}

Approach::Step Approach::advance(Instant now) {
  switch (stage_) {
    case Stage::searching: return search(now);
    case Stage::dialing: return dial(now);
    case Stage::resolving: return look_up(now);
    case Stage::connecting: return race(now);
    case Stage::idle: break;
  }
  return Step::waits;
}

Approach::Step Approach::search(Instant now) {
  std::optional<SentinelAnswer> found = search_->advance(now);
  if (!found) {
    show(search_->descriptor(), search_->interest(), search_->due());
    return Step::goes_on;
  }
  stage_ = Stage::idle;
  if (found->failure) return fail(found->failure.code, std::move(found->failure.text));
  address_ = std::move(found->master);
  resolve();
  // The lookup has a time of its own.
  return Step::goes_on;
}

void Approach::resolve() {
  stage_ = Stage::resolving;
  resolver_.start(address_);
  show(resolver_.descriptor(), POLLIN, never);
}

Approach::Step Approach::look_up(Instant now) {
  std::optional<base::Resolution> found = resolver_.take();
  if (!found) return Step::waits;
  if (found->endpoints.empty()) return fail(make_error_code(found->code), std::move(found->error));
  race_.start(std::move(found->endpoints), address_.host);
  stage_ = Stage::connecting;
  const Step step = race(now);
  if (step == Step::goes_on) resolver_.rest();  // no thread polls its descriptor any more
  return step;
}

Approach::Step Approach::dial(Instant now) {
  std::optional<remote::Dialed> made = dialer_->take();
  if (!made) return Step::waits;
  if (!made->socket) return fail(make_error_code(made->code), std::move(made->error));
  race_.start(remote::adopt_stream(std::move(made->socket), made->peer, remote::Unsent::dropped,
                                   tls_, address_.host));
  stage_ = Stage::connecting;
  const Step step = race(now);
  if (step == Step::goes_on) dialer_->rest();
  return step;
}

Approach::Step Approach::race(Instant now) {
  const remote::StreamRace::Status status = race_.advance(now);
  if (status == remote::StreamRace::Status::failed) {
    failure_ = race_.failure();
    return Step::failed;
  }
  if (status == remote::StreamRace::Status::connected) return Step::arrived;
  show(race_.descriptor(), race_.interest(), race_.due());
  return Step::goes_on;
}

Approach::Step Approach::fail(std::error_code code, std::string text) {
  failure_.code = code;
  failure_.text = std::move(text);
  return Step::failed;
}

void Approach::show(int descriptor, short interest, Instant due) noexcept {
  interest_.store(interest);
  due_.set(due);
  descriptor_.store(descriptor);
}

void Approach::end(bool was_up) noexcept {
  const bool searched = std::exchange(stage_, Stage::idle) == Stage::searching;
  race_.end();
  due_.set(never);
  if (!search_) return;
  search_->end();
  // The sentinels named a server that cannot be used: do not believe the same one again.
  if (!searched && !was_up) sentinels_->misled();
}

void Approach::rest() noexcept {
  resolver_.rest();
  if (dialer_) dialer_->rest();
}

void Approach::close() noexcept {
  if (search_) search_->end();
  if (dialer_) dialer_->forget();
  race_.end();
}

const char* Approach::words_of(remote::Link::End end) const noexcept {
  if (dialer_ && end == remote::Link::End::name_is_late) return remote::connector_is_late;
  return remote::Link::words(end);
}

}  // namespace mortise::redis
