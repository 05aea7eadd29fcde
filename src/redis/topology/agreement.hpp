// SPDX-License-Identifier: MIT
// The cluster of a client, as the servers in the URL report it, and the error if they do not agree.
// Membership decides. This keeps the tables of slots until there is an agreement, and words the
// errors.
#pragma once

#include <mortise/error.hpp>

#include "base/address.hpp"
#include "redis/connection/server.hpp"
#include "redis/topology/membership.hpp"
#include "redis/topology/slots.hpp"

#include <map>
#include <string>
#include <vector>

namespace mortise::redis {

/// @thread_safety one thread at a time
class Agreement {
 public:
  /// The meaning of an answer to CLUSTER SLOTS.
  struct Verdict {
    Membership::Verdict kind = Membership::Verdict::undecided;
    SlotTable table{};  ///< with `ours` and `agreed`: to be learnt
    Failure why{};      ///< with `foreign`, `split` and `none`, of which it may not be known
  };

  /// @param seeds the servers in the URL; they outlive it
  explicit Agreement(const std::vector<base::Address>& seeds);

  /// @return true if it is known which cluster this is.
  [[nodiscard]] bool is_reached() const noexcept { return membership_.is_agreed(); }
  /// The seeds are asked once more, as long as there is no agreement.
  void begin_round();
  /// @param known the servers that may report at this moment
  [[nodiscard]] Verdict judge(const Server& server, SlotTable table,
                              const std::vector<std::string>& known);
  /// The same of a server that has not answered, or is silent.
  [[nodiscard]] Verdict judge_silence(const Server& server, const std::vector<std::string>& known);
  /// A connection was made, and its server reports this of its cluster. No server is asked by this,
  /// so it decides nothing as long as there is no agreement.
  /// @return why it must not be used
  [[nodiscard]] Failure refuses(const Server& server, const SlotTable& table,
                                const std::vector<std::string>& known);
  /// A server in the URL is of no use, for this reason. Others may be of use in this round.
  void note_unusable(const Failure& why) { unusable_ = why; }
  /// @return why the last round found no cluster.
  [[nodiscard]] const Failure& why_none() const noexcept { return why_none_; }
  /// @return that a server in the URL is of another cluster; none = none is, as far as is known
  [[nodiscard]] Failure stranger() const;
  /// @return with `agreed`: the seed whose answer was chosen.
  [[nodiscard]] const base::Address& chosen() const noexcept;

 private:
  [[nodiscard]] Verdict verdict(Membership::Verdict kind, const Server& server, SlotTable table);
  [[nodiscard]] Failure foreign(const Server& server, const NodeIds& nodes) const;
  [[nodiscard]] Failure split() const;

  const std::vector<base::Address>& seeds_;
  Membership membership_;
  std::map<std::string, SlotTable> said_;  // by seeds that have not agreed yet
  Failure unusable_;                       // why there may be no agreement in this round
  Failure why_none_;
};

}  // namespace mortise::redis
