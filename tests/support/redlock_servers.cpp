// SPDX-License-Identifier: MIT
#include "support/redlock_servers.hpp"

#include <filesystem>

namespace mortise::test {

RedlockServers::RedlockServers(std::size_t count, const RedisServerOptions& each)
    : proxies_(count) {
  for (std::size_t i = 0; i < count; ++i) servers_.emplace_back(each);
}

Proxy& RedlockServers::proxy(std::size_t number) {
  std::unique_ptr<Proxy>& proxy = proxies_.at(number);
  if (!proxy) proxy = std::make_unique<Proxy>(servers_.at(number).port());
  return *proxy;
}

std::vector<std::uint16_t> RedlockServers::ports() const {
  std::vector<std::uint16_t> ports;
  for (std::size_t i = 0; i < size(); ++i) {
    ports.push_back(proxies_[i] ? proxies_[i]->port() : servers_[i].port());
  }
  return ports;
}

std::string RedlockServers::url(const std::string& parameters) const {
  return redlock_url(ports(), parameters);
}

std::string RedlockServers::direct_url(const std::string& parameters) const {
  std::vector<std::uint16_t> ports;
  for (const RedisServer& server : servers_) ports.push_back(server.port());
  return redlock_url(ports, parameters);
}

void RedlockServers::forget(std::size_t number) {
  RedisServer& server = servers_.at(number);
  server.kill();
  remove_data(server);
  server.start();
}

std::string redlock_url(const std::vector<std::uint16_t>& ports, const std::string& parameters) {
  std::string url = "redlock://";
  for (std::size_t i = 0; i < ports.size(); ++i) {
    url += (i == 0 ? "127.0.0.1:" : ",127.0.0.1:") + std::to_string(ports[i]);
  }
  return parameters.empty() ? url : url + "?" + parameters;
}

void remove_data(const RedisServer& server) {
  const auto directory = std::filesystem::path(server.socket_path()).parent_path();
  std::filesystem::remove_all(directory / "appendonlydir");  // since Redis 7
  std::filesystem::remove(directory / "appendonly.aof");
}

}  // namespace mortise::test
