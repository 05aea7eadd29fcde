// SPDX-License-Identifier: MIT
// A small synchronous Redis client for tests: it plays other clients, and looks at what the library
// left in the server. It shares no code with the library, and raises no SIGPIPE.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

struct redisReader;

namespace mortise::test {

/// No connection, none any more, or no answer in time.
class RedisTalkError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// What the server answered.
struct RedisAnswer {
  enum class Kind { nil, integer, text, error, items };
  Kind kind = Kind::nil;
  std::int64_t integer = 0;
  std::string text;  ///< of a string, a status or an error
  std::vector<RedisAnswer> items;

  [[nodiscard]] bool is_nil() const noexcept { return kind == Kind::nil; }
  [[nodiscard]] bool is_error() const noexcept { return kind == Kind::error; }
  /// For messages: (integer) 3, "text", (error) ERR ..., [items]
  [[nodiscard]] std::string words() const;
};

/// One connection. Not thread-safe; move-only.
class RedisTalk {
 public:
  using Command = std::vector<std::string>;
  using Figures = std::map<std::string, std::string>;

  /// Connects to 127.0.0.1, and logs in where a user is given ("default" with a password alone).
  /// @param at_most bounds connecting, and each command after that
  explicit RedisTalk(std::uint16_t port, const std::string& user = {},
                     const std::string& password = {},
                     std::chrono::milliseconds at_most = std::chrono::seconds(10));
  RedisTalk(RedisTalk&& other) noexcept;
  RedisTalk& operator=(RedisTalk&&) = delete;
  ~RedisTalk();

  /// @throws RedisTalkError; an error that the server answers is an answer
  RedisAnswer command(const Command& words);
  /// @throws RedisTalkError also where the answer is an error, with its words
  RedisAnswer expect_ok(const Command& words);

  /// The two halves of `command()`, for pipelines and subscriptions.
  void send(const Command& words);
  /// The same with bytes as they are.
  void send_bytes(std::string_view bytes);
  /// @return nothing where no whole answer came in time
  /// @throws RedisTalkError where the connection has ended or what came is no RESP
  [[nodiscard]] std::optional<RedisAnswer> receive(std::chrono::milliseconds within);

  /// INFO of a section, by field.
  [[nodiscard]] Figures info(const std::string& section = "default");
  /// How often each command ran since CONFIG RESETSTAT, scripts' own calls included, by name in
  /// small letters ("evalsha", "client|list").
  [[nodiscard]] std::map<std::string, std::uint64_t> command_stats();
  /// CLIENT LIST, each by field.
  [[nodiscard]] std::vector<Figures> clients();

 private:
  void log_in(const std::string& user, const std::string& password);

  int fd_ = -1;
  redisReader* reader_ = nullptr;
  std::chrono::milliseconds at_most_;
};

}  // namespace mortise::test
