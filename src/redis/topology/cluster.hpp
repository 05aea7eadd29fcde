// SPDX-License-Identifier: MIT
// The servers of a cluster as a client knows them: their slots, and the servers that are asked for
// those. It sends nothing.
#pragma once

#include "base/address.hpp"
#include "redis/connection/server.hpp"
#include "redis/store/settings.hpp"
#include "redis/topology/agreement.hpp"
#include "redis/topology/slot_map.hpp"
#include "redis/topology/survey_pace.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mortise::redis {

/// Every slot has a server at any time. As long as the servers that the user named have not agreed
/// on a cluster it is the first of those, and no call may be sent. A server that was met stays as
/// long as the client does, because calls name it. A server without a slot is not connected, has no
/// descriptor, is not polled and not asked, and costs three or four kilobytes.
/// @thread_safety every member may be called concurrently.
class Cluster {
 public:
  using Slots = SlotMap::Slots;
  using Verdict = Agreement::Verdict;
  /// @param settings those of that server, which outlive it
  using Make = std::function<std::unique_ptr<Server>(const Settings& settings)>;

  /// @param settings outlive it; they have seeds
  Cluster(const Settings& settings, Make make);
  ~Cluster();

  [[nodiscard]] Server& server_of(std::string_view name) const noexcept {
    return slots_.server_of(name);
  }
  /// @return the server of that address, which is made if it was not met.
  [[nodiscard]] Server& at(const base::Address& address);
  /// @return the servers that were met, by number, from 0: it needs no memory; null = no more.
  [[nodiscard]] Server* nth(std::size_t number) const noexcept;
  /// @return those that have slots, in the order of their addresses.
  [[nodiscard]] std::vector<Server*> masters() const { return slots_.masters(); }
  /// @return true if a server has reported the slots, and was asked for them at this moment or
  /// later.
  [[nodiscard]] bool is_told(Instant since) const;
  /// The last one that was asked may not be asked by us, for this reason; none = it may. Or there
  /// will be no agreement.
  void note_refusal(Failure why);
  [[nodiscard]] Failure refusal() const;
  /// A server in the URL is of no use, for this reason. Others may be, as long as there is no
  /// agreement.
  void note_unusable(const Failure& why);
  [[nodiscard]] bool has_slots(const Server& server) const noexcept {
    return slots_.has_slots(server);
  }
  /// @return a number that is another one after each change of that.
  [[nodiscard]] std::uint64_t version() const noexcept { return slots_.version(); }

  /// A server reported that it does not have that slot, and named the server that has it.
  /// @return true if that is news
  bool moved(std::uint16_t slot, Server& to) { return slots_.move(slot, to); }
  /// A server reported the slots. @return those that have another server than before
  [[nodiscard]] Slots learn(const std::vector<SlotRange>& ranges);

  /// @return whether calls may be sent: it is known which cluster this is.
  [[nodiscard]] bool is_agreed() const noexcept { return is_agreed_.load(); }
  [[nodiscard]] Verdict judge(const Server& server, SlotTable table);
  /// The same of a server that has not answered, or is silent.
  [[nodiscard]] Verdict judge_silence(const Server& server);
  /// A connection was made, and its server reports this of its cluster.
  /// @return why it must not be used
  [[nodiscard]] Failure refuses(const Server& server, const SlotTable& table);
  /// @return that a server in the URL is of another cluster; none = none is, as far as is known
  [[nodiscard]] Failure stranger() const;

  /// Servers are to be asked for the slots. @return true if that is earlier than before
  bool want_look(Instant now);
  /// @return when that is due.
  [[nodiscard]] Instant next_look() const noexcept { return pace_.next(); }
  /// Begins it, if it is due and no server is asked yet.
  /// @return the servers to ask now: for each of them `end_look()` has to follow
  [[nodiscard]] std::vector<Server*> begin_look(Instant now);
  /// @param settled false: to be asked again after a pause, which grows
  void end_look(bool settled, Instant now);

 private:
  struct Node {
    Settings settings{};
    std::unique_ptr<Server> server{};
  };

  Server& at_locked(const base::Address& address);
  [[nodiscard]] std::vector<Server*> who_may_tell_locked();
  [[nodiscard]] std::vector<std::string> texts_locked();
  [[nodiscard]] Server& whom_to_ask_locked();
  void note_agreement_locked();

  const Settings& settings_;
  const Make make_;
  SlotMap slots_;
  std::atomic<bool> is_agreed_{false};

  mutable std::mutex mutex_;
  std::map<std::pair<std::string, std::uint16_t>, Node> nodes_;  // by host and port
  std::vector<Server*> met_;  // the same, in the order in which they were met
  Agreement agreement_;
  SurveyPace pace_;
  Failure refusal_;                        // of the server that was asked last
  std::size_t turn_ = 0;                   // of the servers to ask
  const Server* knows_nothing_ = nullptr;  // the server that has answered last, if it is so
};

}  // namespace mortise::redis
