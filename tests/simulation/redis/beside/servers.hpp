// SPDX-License-Identifier: MIT
// Several servers that know each other, real ones or models, as the same script of a test talks to
// them: what is said, and what comes back, in words without ports.
#pragma once

#include "simulation/redis/beside/pair.hpp"
#include "simulation/redis/redis_server.hpp"
#include "simulation/server.hpp"
#include "support/redis_talk.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace simulation::redis {

class Servers {
 public:
  static constexpr std::chrono::seconds patience{10};

  virtual ~Servers() = default;
  /// Sends, by a connection of that server which is opened if need be.
  virtual void say(std::size_t server, int connection, const Words& words) = 0;
  /// @return what comes next on it; "nothing" in that time, "the end"
  [[nodiscard]] std::string hear(std::size_t server, int connection,
                                 std::chrono::milliseconds within = patience);
  [[nodiscard]] std::string ask(std::size_t server, int connection, const Words& words);
  /// Asks by a connection of its own until the answer is this.
  /// @return whether it came to be so
  [[nodiscard]] bool comes_to_answer(std::size_t server, const Words& words,
                                     const std::function<bool(const std::string&)>& right);
  /// SIGSTOP, SIGCONT.
  virtual void halt(std::size_t server, bool yes) = 0;
  [[nodiscard]] virtual std::uint16_t port(std::size_t server) const = 0;
  [[nodiscard]] virtual std::size_t size() const = 0;

 protected:
  [[nodiscard]] virtual std::string heard(std::size_t server, int connection,
                                          std::chrono::milliseconds within) = 0;
  /// Lets some time go by.
  virtual void pass(std::chrono::milliseconds time) = 0;
};

/// By connections that the test opens to whatever runs there.
class RealServers : public Servers {
 public:
  void say(std::size_t server, int connection, const Words& words) override;

 protected:
  [[nodiscard]] std::string heard(std::size_t server, int connection,
                                  std::chrono::milliseconds within) override;
  void pass(std::chrono::milliseconds time) override;

 private:
  mortise::test::RedisTalk& line(std::size_t server, int connection);
  std::map<std::pair<std::size_t, int>, mortise::test::RedisTalk> lines_;
};

/// In a time of their own, which goes on while somebody waits for an answer.
class ModelServers : public Servers {
 public:
  explicit ModelServers(std::size_t servers, const Options& options = {});
  ~ModelServers() override;

  void say(std::size_t server, int connection, const Words& words) override;
  void halt(std::size_t server, bool yes) override;
  [[nodiscard]] std::uint16_t port(std::size_t server) const override {
    return static_cast<std::uint16_t>(60'001 + server);
  }
  [[nodiscard]] std::size_t size() const override { return models_.size(); }
  [[nodiscard]] RedisModel& operator[](std::size_t server) { return *models_.at(server); }
  /// What the servers of a group say to each other.
  void carry(std::size_t from, std::size_t to, std::function<void()> then);

 protected:
  [[nodiscard]] std::string heard(std::size_t server, int connection,
                                  std::chrono::milliseconds within) override;
  void pass(std::chrono::milliseconds time) override;

 private:
  class Place;
  void step();

  std::chrono::nanoseconds now_ = std::chrono::seconds(1'700'000'000);
  std::multimap<std::chrono::nanoseconds, std::function<void()>> events_;
  std::vector<std::unique_ptr<Place>> places_;
  std::vector<std::unique_ptr<RedisModel>> models_;
  std::vector<bool> halted_;
  std::vector<std::vector<std::function<void()>>> kept_;  // for servers that are halted
  std::map<std::pair<std::size_t, int>, ConnectionId> lines_;
};

}  // namespace simulation::redis
