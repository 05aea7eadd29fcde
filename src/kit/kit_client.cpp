// SPDX-License-Identifier: MIT
#include "kit/kit_client.hpp"

#include "base/one_by_one.hpp"
#include "remote/outbox.hpp"

#include <utility>

namespace mortise::kit {

KitClient::KitClient(const Destination& destination, const remote::Protocol& protocol, Host& host)
    : Polling(host),
      host_(host),
      clock_(*host.clock()),
      destination_(destination),
      server_(destination.address, clocks_),
      connection_(host, destination, protocol, *this, mutex_),
      writer_({.clock = clock_,
               .protocol = protocol,
               .connection = connection_,
               .server = server_,
               .attempts = attempts_,
               .polling = *this,
               .exchange = exchange_}),
      exchange_(writer_, attempts_, host.clock()),
      answers_({.clock = clock_,
                .destination = destination,
                .mutex = mutex_,
                .attempts = attempts_,
                .exchange = exchange_,
                .connection = connection_,
                .server = server_,
                .polling = *this}) {
  exchange_.waiting().add_line(connection_);
  if (destination.connector || !remote::NameWatch::is_for(destination.address.host)) return;
  names_.emplace(host, destination.where, [this](const Failure&) { connection_.mark_broken(); });
}

void KitClient::attach_all() {
  host_.attach(connection_);
  if (names_) host_.attach(*names_);
}

void KitClient::detach_all() noexcept {
  host_.detach(connection_);
  if (!names_) return;
  host_.detach(*names_);
  names_->end();
}

void KitClient::end() noexcept {
  remote::end_all(
      exchange_, attempts_, [this] { return destination_.where; },
      [this](auto end) { end(connection_.close()); });
}

// The attempt counts as asked for in the same step in which the request takes its place. So no
// request for it leaves behind its own cancel.
bool KitClient::admits(const Call& call) {
  return call.why != remote::Purpose::take ||
         attempts_.asked(call.shared_acquisition(), call.written.generation, call.once);
}

void KitClient::greeted(const remote::Message& greeting, Instant asked) {
  server_.identity.meet(greeting.server, greeting.now, asked, clock_.now());
  server_.why_down.clear();
}

void KitClient::connected(const base::Endpoint& endpoint) {
  if (names_) names_->begin(destination_.address.host, endpoint);
  exchange_.connected(connection_);
}

void KitClient::answered(const Call& call, const remote::Message& message) {
  answers_.answered(call, message);
  exchange_.let_leave(connection_);
}

void KitClient::dropped(const Failure& why, bool was_up, std::list<Call> unanswered) {
  if (is_closed()) return;
  server_.why_down.note(why);
  if (names_) names_->end();
  exchange_.lost(connection_, why, remote::is_final(why), was_up, std::move(unanswered));
}

}  // namespace mortise::kit
