// SPDX-License-Identifier: MIT
// The model and a real redis-server side by side: the same bytes to both, at the same time by their
// clocks, and the same bytes back.
#pragma once

#include "simulation/redis/beside/real_redis.hpp"
#include "simulation/redis/quiet_site.hpp"
#include "simulation/redis/redis_server.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace simulation::redis {

using Words = std::vector<std::string>;

class Pair {
 public:
  static constexpr int plain = 1;

  Pair();

  /// Notes a command; it is carried out by `exchange()`.
  /// @param connection the first, which never listens, or another
  void say(Words words, int connection = plain);
  /// Carries out what was noted, on both sides, and compares the answers; what differs fails the
  /// test.
  /// @return the answers
  std::vector<std::string> exchange();
  /// One command alone. @return the answer
  std::string ask(Words words, int connection = plain);
  /// Compares all that has come to a connection since, pushes included.
  void compare_connection(int connection);
  /// Compares the keys, with their types, contents and ends.
  void compare_keys();
  /// Both are over their limit of memory, or not any more.
  void refuse_memory(bool yes);
  /// Moves both clocks.
  void pass(Nanos time);

  [[nodiscard]] RedisModel& model() noexcept { return model_; }
  [[nodiscard]] std::size_t commands() const noexcept { return commands_; }

 private:
  struct Said {
    Words words;
    int connection;
  };

  void open(int connection);
  [[nodiscard]] std::string of_model(const Said& said);
  std::string answer_to(const Said& said);
  [[nodiscard]] Words contents(std::string_view type, const std::string& key, bool of_model);
  [[nodiscard]] std::string ask_real(const Words& words);
  [[nodiscard]] std::string only_one(const Words& words, bool of_model);

  QuietSite site_;
  RedisModel model_{site_};
  RealRedis real_;
  std::vector<Said> said_;
  std::vector<std::string> pushed_;  // by the model, by connection
  std::size_t commands_ = 0;
  std::uint64_t marks_ = 0;
};

/// @return the words of an answer, those of its items in its place, in their order
[[nodiscard]] Words words_of(std::string_view answer);

/// @return it in one line, with what cannot be printed in hexadecimal digits
[[nodiscard]] std::string printed(const Words& words);

}  // namespace simulation::redis
