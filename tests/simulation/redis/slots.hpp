// SPDX-License-Identifier: MIT
// One master of a cluster: which slot it says to have which master, which of its own are on their
// way, and what that means for a command (cluster.c, getNodeByQuery()). Without replicas, votes and
// forgotten nodes. What masters tell each other is carried by whoever makes the cluster, as slowly
// as it likes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace simulation::redis {

struct Command;
struct ServerState;
struct Session;
class RedisModel;

class Slots {
 public:
  static constexpr std::size_t count = 16384;
  struct Member {
    RedisModel* server = nullptr;
    std::string host;  ///< as it is announced
    std::uint16_t port = 6379;
  };
  /// As Replication's.
  using Carry = std::function<void(std::size_t from, std::size_t to, std::function<void()> then)>;

  explicit Slots(ServerState& server) : server_(server) {}

  /// Slots are shared out evenly, in order.
  void join(std::vector<Member> members, std::size_t number, Carry carry);
  [[nodiscard]] bool is_part() const noexcept { return !members_.empty(); }
  [[nodiscard]] static std::uint16_t slot_of(std::string_view key) noexcept;

  // What an administrator has it do: CLUSTER SETSLOT.
  void migrate(std::uint16_t slot, std::size_t to) { migrating_[slot] = to; }
  void import(std::uint16_t slot, std::size_t from) { importing_[slot] = from; }
  /// NODE. By the one that has imported it all others learn it.
  void assign(std::uint16_t slot, std::size_t to);
  /// -CLUSTERDOWN, or not any more.
  void set_down(bool yes) noexcept { down_ = yes; }
  [[nodiscard]] bool is_down() const noexcept { return down_; }

  [[nodiscard]] std::optional<std::size_t> owner(std::uint16_t slot) const { return table_[slot]; }
  [[nodiscard]] std::size_t number() const noexcept { return number_; }
  [[nodiscard]] const Member& member(std::size_t i) const { return members_.at(i); }
  [[nodiscard]] std::size_t size() const noexcept { return members_.size(); }
  /// @return 40 digits that name a master.
  [[nodiscard]] static std::string id_of(std::size_t number);
  [[nodiscard]] std::optional<std::size_t> with_id(std::string_view id) const;

  /// @return why a command is not carried out here: "MOVED ..."; empty = it is
  [[nodiscard]] std::string redirection(const Session& session, const Command& command,
                                        std::span<const std::string_view> words) const;
  /// A message for all, also those who listen at other masters.
  void tell_the_others(std::string_view channel, std::string_view message);
  /// The sharded channels of a slot end here.
  std::function<void(std::uint16_t slot)> on_left;

 private:
  void learn(std::uint16_t slot, std::size_t owner, std::uint64_t epoch);
  [[nodiscard]] std::string lead_to(std::size_t member, std::uint16_t slot, bool for_once) const;

  ServerState& server_;
  std::vector<Member> members_;
  std::size_t number_ = 0;
  Carry carry_;
  std::array<std::optional<std::size_t>, count> table_{};
  std::map<std::uint16_t, std::uint64_t> epochs_;  // of those that have moved
  std::map<std::uint16_t, std::size_t> migrating_;
  std::map<std::uint16_t, std::size_t> importing_;
  bool down_ = false;
};

/// @return the keys, or sharded channels, of a command.
[[nodiscard]] std::vector<std::string_view> keys_of(const Command& command,
                                                    std::span<const std::string_view> words);

}  // namespace simulation::redis
