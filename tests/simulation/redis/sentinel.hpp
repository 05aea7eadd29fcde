// SPDX-License-Identifier: MIT
// A sentinel as clients see it: where the master of a name is, in which epoch of the configuration
// that was told to it, and a message to who listens when it changes. What sentinels agree about,
// and when each hears of it, is the affair of whoever tells it.
#pragma once

#include "simulation/redis/request_parser.hpp"
#include "simulation/redis/subscriptions.hpp"
#include "simulation/server.hpp"

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace simulation::redis {

class SentinelModel final : public Server {
 public:
  SentinelModel(Site& site, std::string master) : site_(site), master_(std::move(master)) {}

  /// From now on it tells that; it has it on its disk.
  void learn(const std::string& host, std::uint16_t port, std::uint64_t epoch);
  [[nodiscard]] std::uint64_t epoch() const noexcept { return epoch_; }

  void opened(ConnectionId connection) override { parsers_[connection] = {}; }
  void received(ConnectionId connection, std::string_view bytes) override;
  void closed(ConnectionId connection) override;
  void restarted(bool keeps_data) override;

 private:
  using Words = std::span<const std::string_view>;
  [[nodiscard]] std::string answer(ConnectionId connection, Words words);
  [[nodiscard]] std::string about(Words words) const;

  Site& site_;
  const std::string master_;
  std::string host_;
  std::uint16_t port_ = 0;
  std::uint64_t epoch_ = 0;
  std::map<ConnectionId, RequestParser> parsers_;
  Subscriptions subscriptions_;
};

}  // namespace simulation::redis
