// SPDX-License-Identifier: MIT
#include "remote/stream/approach.hpp"

#include <poll.h>

#include <utility>

namespace mortise::remote {

Approach::Approach(const Tls* tls, const std::shared_ptr<const Connector>& connector,
                   base::Address address, std::atomic<int>& descriptor,
                   std::chrono::nanoseconds step)
    : tls_(tls),
      address_(std::move(address)),
      race_(tls, step),
      descriptor_(descriptor),
      interest_(POLLIN) {
  if (connector) dialer_.emplace(connector, address_);
}

void Approach::start() {
  if (dialer_) {
    stage_ = Stage::dialing;
    dialer_->start();
    return show(dialer_->descriptor(), POLLIN, never);
  }
  stage_ = Stage::resolving;
  resolver_.start(address_);
  show(resolver_.descriptor(), POLLIN, never);
}

void Approach::start(base::Address address) {
  address_ = std::move(address);
  start();
}

void Approach::start(const Endpoint& only, const std::string& host) {
  if (dialer_) return start();
  if (!host.empty()) address_.host = host;
  stage_ = Stage::connecting;
  race_.start({only}, address_.host);
}

Approach::Step Approach::advance(Instant now) {
  switch (stage_) {
    case Stage::dialing: return dial(now);
    case Stage::resolving: return look_up(now);
    case Stage::connecting: return race(now);
    case Stage::idle: break;
  }
  return Step::waits;
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
  std::optional<Dialed> made = dialer_->take();
  if (!made) return Step::waits;
  if (!made->socket) return fail(make_error_code(made->code), std::move(made->error));
  race_.start(
      adopt_stream(std::move(made->socket), made->peer, Unsent::dropped, tls_, address_.host));
  stage_ = Stage::connecting;
  const Step step = race(now);
  if (step == Step::goes_on) dialer_->rest();
  return step;
}

Approach::Step Approach::race(Instant now) {
  const StreamRace::Status status = race_.advance(now);
  if (status == StreamRace::Status::failed) {
    failure_ = race_.failure();
    return Step::failed;
  }
  if (status == StreamRace::Status::connected) return Step::arrived;
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

void Approach::end() noexcept {
  stage_ = Stage::idle;
  race_.end();
  due_.set(never);
}

void Approach::rest() noexcept {
  resolver_.rest();
  if (dialer_) dialer_->rest();
}

void Approach::close() noexcept {
  if (dialer_) dialer_->forget();
  race_.end();
}

const char* Approach::words_of(Link::End end) const noexcept {
  if (dialer_ && end == Link::End::name_is_late) return connector_is_late;
  return remote::words_of(end);
}

}  // namespace mortise::remote
