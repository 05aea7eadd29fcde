// SPDX-License-Identifier: MIT
// A client's connection as a test sees it: to a server of the model, or to a real one.
#pragma once

#include "simulation/server.hpp"
#include "simulation/zookeeper/beside/talking.hpp"
#include "simulation/zookeeper/beside/virtual_sites.hpp"
#include "simulation/zookeeper/ensemble.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace simulation::zookeeper {

class Channel {
 public:
  virtual ~Channel() = default;
  virtual void send(std::string_view bytes) = 0;
  /// @return the next frame; nothing: the server has hung up. @throws std::runtime_error where
  /// nothing comes
  virtual std::optional<std::string> next() = 0;
};

/// A place to connect to.
class Place {
 public:
  virtual ~Place() = default;
  [[nodiscard]] virtual std::unique_ptr<Channel> connect(std::size_t server) = 0;
  /// Lets that much time pass: real or virtual.
  virtual void wait(std::chrono::milliseconds time) = 0;
};

class ModelPlace final : public Place {
 public:
  explicit ModelPlace(std::size_t servers, std::uint64_t seed, const Options& options = {});
  [[nodiscard]] std::unique_ptr<Channel> connect(std::size_t server) override;
  void wait(std::chrono::milliseconds time) override { sites_.run_for(time); }

  [[nodiscard]] Ensemble& ensemble() noexcept { return ensemble_; }
  [[nodiscard]] VirtualSites& sites() noexcept { return sites_; }

 private:
  VirtualSites sites_;
  Ensemble ensemble_;
  ConnectionId last_ = 0;
};

/// Real servers on ports of 127.0.0.1.
class RealPlace final : public Place {
 public:
  explicit RealPlace(std::vector<std::uint16_t> ports) : ports_(std::move(ports)) {}
  [[nodiscard]] std::unique_ptr<Channel> connect(std::size_t server) override;
  void wait(std::chrono::milliseconds time) override;

 private:
  std::vector<std::uint16_t> ports_;
};

}  // namespace simulation::zookeeper
