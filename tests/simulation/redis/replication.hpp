// SPDX-License-Identifier: MIT
// Copying from server to server: replication.c, without partial resynchronisation, which leads to
// the same data. What a command, or a script, has changed goes as whole keys, at once, as the
// transaction goes that a real master sends. The words between servers are carried by whoever makes
// the group, as slowly as it likes.
#pragma once

#include "simulation/redis/keyspace.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace simulation::redis {

struct Command;
struct ServerState;

/// What one server has to do with copying. One that has joined no group copies nothing.
class Replication {
 public:
  struct Member {
    Replication* server = nullptr;
    std::string host;  ///< as it is announced
    std::uint16_t port = 6379;
  };
  /// Calls that at the server `to` when it has arrived there, in the order of sending between two
  /// servers, and never at once; not at all where that server is down by then.
  using Carry = std::function<void(std::size_t from, std::size_t to, std::function<void()> then)>;

  explicit Replication(ServerState& server) : server_(server) {}

  void join(std::vector<Member> group, std::size_t number, Carry carry);

  // What an administrator, or a sentinel, has it do.
  void follow(std::size_t master);  ///< REPLICAOF
  void promote();                   ///< REPLICAOF NO ONE
  /// Its process was started again.
  void restarted();

  // What commands tell.
  /// One that writes, with its name in front.
  void note(const Command& command, std::span<const std::string_view> words, std::size_t database);
  /// PUBLISH is copied, too, and changes nothing.
  void note_message() noexcept { message_ = true; }
  /// A command of a connection is over, with the script that it ran.
  void finish();
  /// REPLCONF GETACK to all who copy.
  void ask_for_acknowledgements();

  /// @return the bytes of the stream so far.
  [[nodiscard]] std::int64_t offset() const noexcept { return offset_; }
  /// @return how many have acknowledged that much.
  [[nodiscard]] std::size_t acknowledged(std::int64_t offset) const;
  /// @return the number of its master; nothing = it is one
  [[nodiscard]] std::optional<std::size_t> master() const noexcept { return master_; }
  /// @return whether it has all of its master's data of a moment, and goes on from there.
  [[nodiscard]] bool is_synchronized() const noexcept { return synchronized_; }

  struct Copier {
    std::size_t number = 0;
    std::uint64_t link = 0;
    std::int64_t acknowledged = -1;
    bool online = false;
  };
  [[nodiscard]] const std::vector<Copier>& copiers() const noexcept { return copiers_; }
  [[nodiscard]] const Member& member(std::size_t number) const { return group_.at(number); }

  /// Called when somebody has acknowledged something; and when a master has become a replica.
  std::function<void()> on_acknowledged;
  std::function<void()> on_demoted;

 private:
  struct Write {
    struct Change {
      std::size_t database = 0;
      std::string key;
      std::optional<Value> value;  ///< none = it is gone
    };
    std::int64_t offset = 0;  ///< behind it
    std::vector<Change> changes;
  };
  struct All;

  void ask_for_all();
  void leave();
  void note_key(std::size_t database, std::string_view key);
  void send(std::size_t to, std::function<void()> then) { carry_(number_, to, std::move(then)); }
  // What arrives.
  void wants_all(std::size_t from, std::uint64_t link);
  void take_all(std::uint64_t link, const All& all);
  void apply(std::uint64_t link, const Write& write);
  void acknowledge(std::uint64_t link);
  void has_acknowledged(std::size_t from, std::uint64_t link, std::int64_t offset);
  void lost_master(std::size_t master);
  void lost_copier(std::size_t from, std::uint64_t link);

  ServerState& server_;
  std::vector<Member> group_;
  std::size_t number_ = 0;
  Carry carry_;
  std::int64_t offset_ = 0;
  std::optional<std::size_t> master_;
  std::uint64_t link_ = 0;  // to the master: what belongs to an older one is not listened to
  bool synchronized_ = false;
  std::vector<Copier> copiers_;
  std::vector<std::pair<std::size_t, std::string>> noted_;
  bool message_ = false;
};

}  // namespace simulation::redis
