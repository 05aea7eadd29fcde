// SPDX-License-Identifier: MIT
// What a program does that talks to Redis by plain, blocking hiredis: the floor of the Redis
// backend, and the eyes that look into the server.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

struct redisContext;
struct redisReply;

namespace mortise::bench {

/// A command whose words stay in place, so that sending it again with a word changed costs the
/// formatting only.
class RawCommand {
 public:
  explicit RawCommand(std::vector<std::string> words);
  RawCommand(std::initializer_list<std::string> words)
      : RawCommand(std::vector<std::string>(words)) {}
  // A copy would point at the words of the original.
  RawCommand(RawCommand&&) noexcept = default;
  RawCommand& operator=(RawCommand&&) noexcept = default;
  /// @return the place of a word. @throws std::runtime_error where it is not there once
  [[nodiscard]] std::size_t place_of(std::string_view word) const;
  void set(std::size_t place, std::string_view word);
  /// Overwrites the end of a word, whose length stays.
  void overwrite_end(std::size_t place, std::string_view with);
  [[nodiscard]] int count() const noexcept { return static_cast<int>(words_.size()); }
  [[nodiscard]] const char** texts() noexcept { return texts_.data(); }
  [[nodiscard]] const std::size_t* sizes() const noexcept { return sizes_.data(); }

 private:
  std::vector<std::string> words_;
  std::vector<const char*> texts_;
  std::vector<std::size_t> sizes_;
};

struct FreeReply {
  void operator()(redisReply* reply) const noexcept;
};
using RawReply = std::unique_ptr<redisReply, FreeReply>;

/// One blocking connection. Throws std::runtime_error where it breaks or the server answers an
/// error.
class RawRedis {
 public:
  explicit RawRedis(std::uint16_t port);
  /// One round trip.
  RawReply ask(RawCommand& command);
  RawReply ask(RawCommand&& command) { return ask(command); }
  /// What comes without having been asked for.
  RawReply receive();
  /// @return the string of the reply; empty for one without.
  [[nodiscard]] std::string text(RawCommand&& command);
  /// @return one field of a section of INFO; empty where it is not there.
  [[nodiscard]] std::string info(const std::string& section, const std::string& field);
  /// @return how often the server has run a command, inside scripts too.
  [[nodiscard]] std::uint64_t calls(const std::string& command);
  /// @return how many commands that call scripts clients have sent.
  [[nodiscard]] std::uint64_t script_calls() { return calls("evalsha") + calls("eval"); }
  /// SCRIPT LOAD.
  void load(std::string_view script);
  /// @return the socket, for a caller that writes and reads by itself.
  [[nodiscard]] int socket() const noexcept;

 private:
  struct Free {
    void operator()(redisContext* context) const noexcept;
  };
  RawReply checked(void* reply);

  std::unique_ptr<redisContext, Free> context_;
};

}  // namespace mortise::bench
