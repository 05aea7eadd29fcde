// SPDX-License-Identifier: MIT
#include "simulation/scene/redis_crowd.hpp"

#include <chrono>

namespace simulation {
namespace {

constexpr std::size_t id_of_a_client = 16;  // characters of an attempt's id
constexpr std::string_view of_crowds = "cccccccc";

}  // namespace

std::vector<std::string> RedisCrowd::queue(const std::string& key, std::uint64_t many,
                                           Nanos lease) {
  const std::string in_ms =
      std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(lease).count());
  std::vector<std::string> attempts;
  people_.comes();
  for (std::uint64_t i = 0; i < many; ++i) {
    const std::string number = std::to_string(++so_far_);
    attempts.push_back(std::string(of_crowds) +
                       std::string(id_of_a_client - of_crowds.size() - number.size(), '0') +
                       number + "1");
    people_.run(mortise::redis::scripts::acquire, key,
                {attempts.back(), "9000000000000000", in_ms,
                 std::to_string(3'600'000 + std::stoll(in_ms)), "crowd", "w fair wait"});
  }
  people_.goes();
  return attempts;
}

void RedisCrowd::leave(const std::string& key, const std::vector<std::string>& attempts) {
  people_.comes();
  for (const std::string& attempt : attempts) {
    people_.run(mortise::redis::scripts::cancel, key, {attempt, "3602000"});
  }
  people_.goes();
}

}  // namespace simulation
