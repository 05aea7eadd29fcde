// SPDX-License-Identifier: MIT
// Steps of a conversation that a seed decides: few paths, so that they meet each other; all kinds
// of requests that the model knows, wrong ones among them.
#pragma once

#include "simulation/zookeeper/beside/conversation.hpp"

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace simulation::zookeeper {

class RandomSteps {
 public:
  /// @param root a node that exists, and is nobody else's
  RandomSteps(std::uint64_t seed, std::string root, std::size_t sessions, std::size_t servers = 1);

  [[nodiscard]] Step next();
  /// @return how many requests there were.
  [[nodiscard]] std::size_t requests() const noexcept { return requests_; }

 private:
  [[nodiscard]] std::size_t below(std::size_t count) { return random_() % count; }
  [[nodiscard]] bool one_in(std::size_t count) { return below(count) == 0; }
  [[nodiscard]] std::string path();
  [[nodiscard]] std::string data();
  [[nodiscard]] std::int32_t version();
  [[nodiscard]] std::vector<Acl> acl();
  [[nodiscard]] std::pair<std::int32_t, Out> request();
  [[nodiscard]] std::pair<std::int32_t, Out> creation(bool in_multi);
  [[nodiscard]] std::pair<std::int32_t, Out> change(bool in_multi);
  [[nodiscard]] std::pair<std::int32_t, Out> look();
  [[nodiscard]] Out multi();
  [[nodiscard]] Out multi_of_a_key();

  std::mt19937_64 random_;
  const std::string root_;
  const std::size_t sessions_;
  const std::size_t servers_;
  std::size_t requests_ = 0;
};

}  // namespace simulation::zookeeper
