// SPDX-License-Identifier: MIT
// Requests that change nothing: answered by whatever server the client is connected to, from its
// own tree, without asking the leader.
#pragma once

#include "simulation/zookeeper/request.hpp"
#include "simulation/zookeeper/tree.hpp"

#include <cstdint>

namespace simulation::zookeeper {

class Reading {
 public:
  Reading(const Tree& tree, Watches& watches, Tree::Audience& audience)
      : tree_(tree), watches_(watches), audience_(audience) {}

  /// @param out what follows the header of the reply
  /// @return how it ended; where that is not `ok`, nothing follows
  std::int32_t answer(const Request& request, Out& out);

 private:
  std::int32_t look(const Request& request, In& in, Out& out);
  std::int32_t list(const Request& request, In& in, Out& out);
  std::int32_t show_acl(const Request& request, In& in, Out& out);
  std::int32_t end_watch(const Request& request, In& in);
  void set_watches(const Request& request, In& in);

  const Tree& tree_;
  Watches& watches_;
  Tree::Audience& audience_;
};

}  // namespace simulation::zookeeper
