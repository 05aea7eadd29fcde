// SPDX-License-Identifier: MIT
// Each server of the URL, at each of its addresses, one after the other, until one takes writes.
#include "postgres/route.hpp"

#include <algorithm>
#include <utility>

namespace mortise::postgres {

Route::Route(const Settings& settings) : settings_(settings) {
  if (!settings.connector) return;
  for (const Server& host : settings.servers) {
    dialers_.push_back(std::make_unique<remote::Dialer>(settings.connector, host.address));
  }
}

void Route::restart() {
  if (!resolver_ && dialers_.empty()) resolver_.emplace();
  socket_.reset();
  host_ = 0;
  resolving_ = false;
  endpoints_.clear();
}

void Route::rest() {
  endpoints_.clear();
  if (!hangs_) resolver_.reset();
  for (const auto& dialer : dialers_) dialer->rest();
}

void Route::end() noexcept {
  for (const auto& dialer : dialers_) dialer->forget();
}

int Route::descriptor() const noexcept {
  if (resolver_) return resolver_->descriptor();
  return host_ < dialers_.size() ? dialers_[host_]->descriptor() : -1;
}

void Route::give_up_name() {
  hangs_ = true;
  resolving_ = false;
  ++host_;
}

void Route::lead_to(const Server& host, const std::string& number, const std::string& port) {
  keywords_ = settings_.keywords;
  if (!host.name.empty()) keywords_.emplace_back("host", host.name);
  if (!number.empty()) keywords_.emplace_back("hostaddr", number);
  if (!port.empty()) keywords_.emplace_back("port", port);
  where_ = "postgresql " + host.address.text();
}

Route::Step Route::dialed() {
  const Server& host = settings_.servers[host_];
  remote::Dialer& dialer = *dialers_[host_];
  if (!std::exchange(resolving_, true)) {
    // Whoever is led there knows the port.
    lead_to(host, {}, {});
    dialer.start();
  }
  std::optional<remote::Dialed> made = dialer.take();
  if (!made) return Step::resolving;
  resolving_ = false;
  ++host_;
  error_ = std::move(made->error);
  code_ = made->code;
  socket_ = std::move(made->socket);
  return socket_ ? Step::server : Step::failed;
}

Route::Step Route::next() {
  for (;;) {
    if (!endpoints_.empty()) {
      const std::string text = endpoints_.back().text();
      endpoints_.pop_back();
      const std::size_t colon = text.rfind(':');
      std::string number = text.substr(0, colon);
      if (number.starts_with('[')) number = number.substr(1, number.size() - 2);
      lead_to(settings_.servers[host_], number, text.substr(colon + 1));
      if (endpoints_.empty()) ++host_;
      return Step::server;
    }
    if (host_ >= settings_.servers.size()) return Step::end;
    const Server& host = settings_.servers[host_];
    if (settings_.connector) return dialed();
    if (!host.address.path.empty()) {
      const std::size_t dot = host.address.path.rfind('.');
      lead_to(host, {}, host.address.path.substr(dot + 1));
      ++host_;
      return Step::server;
    }
    if (!std::exchange(resolving_, true)) resolver_->start(host.address);
    std::optional<base::Resolution> found = resolver_->take();
    if (!found) return Step::resolving;
    hangs_ = false;
    resolving_ = false;
    if (found->endpoints.empty()) {
      where_ = "postgresql " + host.address.text();
      error_ = found->error;
      code_ = found->code;
      ++host_;
      return Step::failed;
    }
    endpoints_.assign(found->endpoints.rbegin(), found->endpoints.rend());
  }
}

}  // namespace mortise::postgres
