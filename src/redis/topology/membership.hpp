// SPDX-License-Identifier: MIT
// Whether an answer comes from the cluster that a client is a client of. An address says nothing
// about that: a container's address, or a name, may by now lead to a server of another cluster.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace mortise::redis {

/// Ids of nodes. Each node has an id of its own, and takes it along when an administrator moves it
/// to another cluster (`CLUSTER RESET SOFT`, which is what `redis-cli --cluster del-node` sends).
using NodeIds = std::set<std::string>;

/// Answers of servers in the URL are of one cluster if they name a node in common. A client
/// *agrees* on a cluster when more than half of those servers name the same one; or all that
/// answer, once each of the others is known to be silent. From then on an answer is of that cluster
/// if it still names more than half of the masters that the last one named. All others are foreign:
/// a node in common may have been moved.
///
/// A client agrees anew once no server is left that was known to be of the cluster, and either more
/// than half of the servers in the URL are of a new one, or a server names a master of the old one:
/// most masters were replaced while the client did not look.
/// @thread_safety one thread at a time
class Membership {
 public:
  enum class Verdict : std::uint8_t {
    ours,
    agreed,     ///< just now: on the answer of `chosen()`
    undecided,  ///< others have not answered yet
    none,       ///< no server in the URL knows anything
    foreign,
    split,  ///< servers in the URL are of several clusters, and none has the majority
  };

  /// @param seeds the servers in the URL
  explicit Membership(std::vector<std::string> seeds);

  /// The seeds are asked once more, as long as there is no agreement.
  void begin_round();
  /// @param nodes masters and replicas that the answer names; empty = the server knows nothing yet,
  /// or not any more
  /// @param masters which of them are masters
  /// @param known the servers that may tell at this moment: the seeds and all masters
  [[nodiscard]] Verdict answered(const std::string& server, NodeIds nodes, NodeIds masters,
                                 const std::vector<std::string>& known);
  /// The server cannot be reached, gave no answer, or knows nothing.
  [[nodiscard]] Verdict silent(const std::string& server, const std::vector<std::string>& known);

  [[nodiscard]] bool is_agreed() const noexcept { return agreed_; }
  [[nodiscard]] const std::string& chosen() const noexcept { return chosen_; }
  /// @return what each seed of another cluster names, or each seed of a round that is split.
  [[nodiscard]] const std::map<std::string, NodeIds>& others() const noexcept { return others_; }
  [[nodiscard]] const NodeIds& members() const noexcept { return members_; }
  /// @return whether one of these was a master of this cluster when that was asked last.
  [[nodiscard]] bool knows_a_master_of(const NodeIds& nodes) const;

 private:
  struct Said {
    NodeIds nodes{};
    NodeIds masters{};
  };
  [[nodiscard]] bool is_ours(const NodeIds& nodes) const;
  [[nodiscard]] bool is_seed(const std::string& server) const noexcept;
  [[nodiscard]] bool is_gone(const std::vector<std::string>& known) const;
  [[nodiscard]] Verdict look_for_a_new_one();
  [[nodiscard]] Verdict decide();

  const std::vector<std::string> seeds_;
  bool agreed_ = false;
  NodeIds members_;
  NodeIds masters_;  // of those
  std::string chosen_;
  std::map<std::string, Said> said_;       // in this round, by seeds
  std::map<std::string, NodeIds> others_;  // of another cluster
  std::set<std::string> silent_;  // in this round; after it: since one of ours has answered
};

}  // namespace mortise::redis
