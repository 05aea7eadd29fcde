// SPDX-License-Identifier: MIT
#include "zookeeper/endpoints.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace mortise::zookeeper {

void Endpoints::look_up() {
  failure_ = {Errc::unavailable, "the host has no address"};
  answers_.clear();
  while (resolvers_.size() < hosts_.size()) {
    resolvers_.push_back(std::make_unique<base::Resolver>());
  }
  for (std::size_t i = 0; i < hosts_.size(); ++i) resolvers_[i]->start(hosts_[i]);
  open_ = hosts_.size();
}

bool Endpoints::take_answers(bool is_late) {
  // From the last one on: `descriptor()` shows the first that is still awaited.
  for (; open_ > 0; --open_) {
    const std::string& host = hosts_[open_ - 1].host;
    std::optional<base::Resolution> answer = resolvers_[open_ - 1]->take();
    if (!answer && !is_late) return false;
    if (!answer) answer.emplace().error = "the host name was not resolved in time";
    if (!answer->error.empty()) failure_ = {answer->code, host + ": " + answer->error};
    for (const base::Endpoint& endpoint : answer->endpoints) {
      answers_.push_back({.endpoint = endpoint.text(), .host = host});
    }
  }
  if (answers_.empty()) return true;
  failure_ = {};
  found_ = std::exchange(answers_, {});
  return true;
}

int Endpoints::descriptor() const noexcept {
  return open_ > 0 ? resolvers_[open_ - 1]->descriptor() : -1;
}

std::string Endpoints::list() {
  std::string list;
  const std::size_t first = random_.next() % found_.size();
  for (std::size_t i = 0; i < found_.size(); ++i) {
    if (i > 0) list += ',';
    list += found_[(first + i) % found_.size()].endpoint;
  }
  return list;
}

Hosts Endpoints::names() const {
  Hosts names;
  for (const Server& server : found_) names[server.endpoint].push_back(server.host);
  return names;
}

bool Endpoints::deny(const std::string& endpoint) {
  for (Server& server : found_) server.is_denied = server.is_denied || server.endpoint == endpoint;
  return std::all_of(found_.begin(), found_.end(),
                     [](const Server& server) { return server.is_denied; });
}

}  // namespace mortise::zookeeper
