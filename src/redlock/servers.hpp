// SPDX-License-Identifier: MIT
// The servers of a quorum: which servers can be asked, by which addresses, and which error callers
// get if too few can be asked or if two addresses lead to one server.
#pragma once

#include <mortise/backend.hpp>

#include "redlock/node.hpp"
#include "redlock/quorum_request.hpp"
#include "redlock/server.hpp"
#include "redlock/settings.hpp"
#include "redlock/whereabouts.hpp"

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

namespace mortise::redlock {

/// @thread_safety every member may be called concurrently
class Servers {
 public:
  /// @param settings, writer, tls, users outlive it; tls may be null
  Servers(const Settings& settings, Host& host, const CallWriter& writer, const remote::Tls* tls,
          Node::User& node_user, Line::User& server_user);

  [[nodiscard]] const Line::Nodes& nodes() const noexcept { return nodes_; }
  [[nodiscard]] Node& node(std::size_t address) const noexcept { return *nodes_[address]; }
  [[nodiscard]] Quorum quorum() const noexcept { return {.nodes = nodes_.size()}; }
  [[nodiscard]] const CallWriter& writer() const noexcept { return writer_; }
  /// Calls that with each server that was ever met, and with one for each address that led nowhere.
  template <class Work>
  void each(Work work) const {
    for (const Link* link = first_.load(); link != nullptr; link = link->next) work(*link->server);
  }

  /// Calls that with each of these addresses.
  template <class Work>
  void each_of(NodeSet addresses, Work work) const {
    for (const auto& node : nodes_) {
      if ((addresses & only(node->index())) != 0) work(*node);
    }
  }

  /// @return the addresses that can be asked.
  [[nodiscard]] NodeSet usable() const noexcept;
  /// @return true if those are a majority of different servers.
  [[nodiscard]] bool are_enough(NodeSet usable) const noexcept {
    return count(usable) >= quorum().majority() && whereabouts_.clear();
  }
  /// Has the others connected. @param now without waiting for the back-off to pass
  void want_missing(NodeSet usable, bool now) const;
  /// A request begins that a hold will rest on. Look only afterwards which servers can be asked.
  void begin(Roll& roll) const;

  /// The address is connected to that server.
  Server& arrived(Node& node, const std::string& run_id);
  /// It can be asked.
  void connected(Node& node);
  [[nodiscard]] Whereabouts& whereabouts() noexcept { return whereabouts_; }
  /// Connects again to each address that may now lead to another server.
  void settle_doubts();
  /// An address may lead to the server of another address. Then its own server cannot be reached by
  /// it. Connects it again, as long as its own server still has to receive a release.
  void lead_home();
  /// @return true if `lead_home()` has something to do.
  [[nodiscard]] bool is_home_wanted() const { return !whereabouts_.clear() && is_any_owed(); }

  /// Takes the votes of that ballot back.
  void take_back(const std::shared_ptr<Ballot>& ballot) const;
  /// Servers that did not vote for it forget that its attempt waits.
  void end_waits(const std::shared_ptr<Ballot>& ballot) const;
  /// Takes back votes that this client does not know of, at all servers that the addresses lead to.
  void take_back_everywhere(const std::shared_ptr<Ballot>& ballot) const;
  /// Servers that were restarted under another identity receive the releases that this one cannot
  /// receive.
  template <class Work>
  void each_heir(const Server& of, Instant since, Work work) const {
    if (of.is_reachable()) return;
    each([&](Server& other) {
      if (&other != &of && other.met() >= since) work(other);
    });
  }
  /// @return the number of servers that may have voted for one of these ballots.
  [[nodiscard]] std::size_t voters(std::span<const AttemptId> ballots) const;
  /// @return one address for each server that has not voted for it.
  [[nodiscard]] NodeSet others(const AttemptId& ballot) const;
  /// @return true if a voter that was reached by this address is gone.
  [[nodiscard]] bool replaces_a_voter(const Node& node, const AttemptId& ballot) const;
  [[nodiscard]] bool is_any_owed() const;

  /// @return why fewer than a majority can be asked; none = a majority can
  /// @param failures of the addresses; may be empty @param final asking again cannot help
  [[nodiscard]] Failure unreachable(const std::vector<Failure>& failures, bool& final) const;
  /// Notes in a request that stays unanswered why a majority cannot be asked, if that is so.
  void tell_trouble(Operation& operation) const;

 private:
  /// A list that is only added to, so that it is read without a mutex.
  struct Link {
    std::unique_ptr<Server> server{};
    const Link* next = nullptr;
  };
  Server& add(std::uint64_t id, Instant met);
  [[nodiscard]] Failure twins() const;
  void lead_anew(NodeSet doubted) const noexcept;

  const std::string words_;
  const std::shared_ptr<Clock> clock_;
  const CallWriter& writer_;
  Line::Nodes nodes_;
  const Line::Shared shared_;
  Whereabouts whereabouts_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<const Link>> links_;
  std::atomic<const Link*> first_{nullptr};
};

}  // namespace mortise::redlock
