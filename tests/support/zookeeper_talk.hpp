// SPDX-License-Identifier: MIT
// A small synchronous ZooKeeper client for tests: it plays strangers, and looks at what the library
// left in the server. It writes the protocol itself, shares no code with the library or the C
// client, and sends nothing by itself, heartbeats neither: a session that is idle expires.
#pragma once

#include "support/loopback.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace mortise::test {

/// No connection, none any more, no answer in time; or an error that the server answers.
class ZooKeeperTalkError : public std::runtime_error {
 public:
  explicit ZooKeeperTalkError(const std::string& what, int answered = 0)
      : std::runtime_error(what), code(answered) {}
  const int code;  ///< what the server answered; 0: it did not
};

/// What the server says of a node.
struct ZooKeeperStat {
  std::int64_t created = 0;   ///< czxid
  std::int64_t modified = 0;  ///< mzxid
  std::int32_t version = 0;
  std::int32_t cversion = 0;
  std::int64_t owner = 0;  ///< the session of an ephemeral node
  std::int32_t children = 0;
};

enum class ZooKeeperKind : std::int32_t {
  persistent = 0,
  ephemeral = 1,
  sequential = 2,
  ephemeral_sequential = 3,
  container = 4,
};

/// One session on one connection. Not thread-safe; move-only.
class ZooKeeperTalk {
 public:
  static constexpr int no_node = -101;
  static constexpr int no_auth = -102;
  static constexpr int node_exists = -110;
  static constexpr int not_empty = -111;
  // Rights, to be added up.
  static constexpr std::int32_t may_read = 1;
  static constexpr std::int32_t may_write = 2;
  static constexpr std::int32_t may_create = 4;
  static constexpr std::int32_t may_delete = 8;
  static constexpr std::int32_t all_rights = 31;

  /// Connects to 127.0.0.1.
  /// @param session what it asks for; the server may give another one
  /// @param at_most bounds connecting, and each request after that
  explicit ZooKeeperTalk(std::uint16_t port,
                         std::chrono::milliseconds session = std::chrono::seconds(30),
                         std::chrono::milliseconds at_most = std::chrono::seconds(10));
  ZooKeeperTalk(ZooKeeperTalk&& other) noexcept;
  ZooKeeperTalk& operator=(ZooKeeperTalk&&) = delete;
  /// Ends the session, if the server takes that.
  ~ZooKeeperTalk();

  /// As a client does that dies: the session lives on until it expires.
  void drop() noexcept;

  [[nodiscard]] std::int64_t session() const noexcept { return session_; }

  /// Proves who it is: "digest", "user:password". @throws ZooKeeperTalkError, as all below
  void authenticate(std::string_view scheme, std::string_view who);
  /// @return the name of the new node, which differs from `path` where it is sequential.
  /// @param acl "world:anyone", or another scheme and id
  /// @param rights what those may do
  std::string create(std::string_view path, ZooKeeperKind kind = ZooKeeperKind::persistent,
                     std::string_view data = {}, std::string_view acl = "world:anyone",
                     std::int32_t rights = all_rights);
  /// The node and what it needs above itself, as persistent nodes where they are missing.
  void create_all(const std::string& path);
  void remove(std::string_view path);
  /// The node and all below it; no matter if there is none.
  void remove_all(const std::string& path);
  void set(std::string_view path, std::string_view data);
  [[nodiscard]] std::string data(std::string_view path);
  /// In order of names; empty also where there is no such node.
  [[nodiscard]] std::vector<std::string> children(std::string_view path);
  [[nodiscard]] std::optional<ZooKeeperStat> stat(std::string_view path);
  /// Until this server has all that was committed before.
  void sync(std::string_view path);

 private:
  void greet(std::chrono::milliseconds session);
  [[nodiscard]] std::string ask(std::int32_t operation, std::string_view body);
  void send(std::string_view payload);
  [[nodiscard]] std::string receive();
  void move_bytes(char* bytes, std::size_t size, bool out);

  int fd_ = -1;
  std::int32_t last_ = 0;
  std::int64_t session_ = 0;
  std::chrono::milliseconds at_most_;
};

/// Asks a server by one of its four-letter words ("srvr", "mntr", "cons").
/// @return what it answers; empty where it does not
[[nodiscard]] std::string ask_zookeeper(std::uint16_t port, std::string_view word,
                                        Loopback loopback = Loopback::four);

}  // namespace mortise::test
