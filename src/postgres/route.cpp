// SPDX-License-Identifier: MIT
// Each server of the URL, at each of its addresses, one after the other, until one takes writes.
#include "postgres/route.hpp"

#include <algorithm>
#include <utility>

namespace mortise::postgres {

Route::Route(const Settings& settings) : settings_(settings) {
  target_.where = "postgresql " + settings.where();
  if (!settings.connector) return;
  for (const Server& host : settings.servers) {
    dialers_.push_back(std::make_unique<remote::Dialer>(settings.connector, host.address));
  }
}

void Route::restart() {
  if (!resolver_ && dialers_.empty()) resolver_.emplace();
  socket_.reset();
  turn_ = 0;
  resolving_ = false;
  endpoints_.clear();
}

void Route::remember() {
  first_ = target_.host;
  turn_ = 0;
  good_ = target_.endpoint.length > 0 ? target_.endpoint.text() : std::string();
}

void Route::watch(remote::NameWatch& names) const {
  if (target_.endpoint.length > 0) {
    names.begin(settings_.servers[target_.host].address.host, target_.endpoint);
  } else {
    names.end();
  }
}

void Route::rest() {
  endpoints_.clear();
  resolver_.reset();
  for (const auto& dialer : dialers_) dialer->rest();
}

void Route::end() noexcept {
  for (const auto& dialer : dialers_) dialer->forget();
}

int Route::descriptor() const noexcept {
  if (resolver_) return resolver_->descriptor();
  return dialers_.empty() ? -1 : dialers_[current()]->descriptor();
}

void Route::give_up_name() {
  resolving_ = false;
  ++turn_;
}

void Route::lead_to(const Server& host, const std::string& number, const std::string& port) {
  target_.keywords = settings_.keywords;
  target_.host = current();
  target_.endpoint = {};
  if (!host.name.empty()) target_.keywords.emplace_back("host", host.name);
  if (!number.empty()) target_.keywords.emplace_back("hostaddr", number);
  if (!port.empty()) target_.keywords.emplace_back("port", port);
  target_.where = "postgresql " + host.address.text();
}

Route::Step Route::dialed() {
  const Server& host = settings_.servers[current()];
  remote::Dialer& dialer = *dialers_[current()];
  if (!std::exchange(resolving_, true)) {
    // Whoever is led there knows the port.
    lead_to(host, {}, {});
    dialer.start();
  }
  std::optional<remote::Dialed> made = dialer.take();
  if (!made) return Step::resolving;
  resolving_ = false;
  ++turn_;
  error_ = std::move(made->error);
  code_ = made->code;
  socket_ = std::move(made->socket);
  return socket_ ? Step::server : Step::failed;
}

Route::Step Route::next() {
  for (;;) {
    if (!endpoints_.empty()) {
      const base::Endpoint endpoint = endpoints_.back();
      const std::string text = endpoint.text();
      endpoints_.pop_back();
      const std::size_t colon = text.rfind(':');
      std::string number = text.substr(0, colon);
      if (number.starts_with('[')) number = number.substr(1, number.size() - 2);
      lead_to(settings_.servers[current()], number, text.substr(colon + 1));
      target_.endpoint = endpoint;
      if (endpoints_.empty()) ++turn_;
      return Step::server;
    }
    if (turn_ >= settings_.servers.size()) return Step::end;
    const Server& host = settings_.servers[current()];
    if (settings_.connector) return dialed();
    if (!host.address.path.empty()) {
      const std::size_t dot = host.address.path.rfind('.');
      lead_to(host, {}, host.address.path.substr(dot + 1));
      ++turn_;
      return Step::server;
    }
    if (!std::exchange(resolving_, true)) resolver_->start(host.address);
    std::optional<base::Resolution> found = resolver_->take();
    if (!found) return Step::resolving;
    resolving_ = false;
    if (found->endpoints.empty()) {
      target_.where = "postgresql " + host.address.text();
      error_ = found->error;
      code_ = found->code;
      ++turn_;
      return Step::failed;
    }
    endpoints_.assign(found->endpoints.rbegin(), found->endpoints.rend());
    std::stable_partition(endpoints_.begin(), endpoints_.end(),
                          [&](const base::Endpoint& each) { return each.text() != good_; });
  }
}

}  // namespace mortise::postgres
