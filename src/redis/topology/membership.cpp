// SPDX-License-Identifier: MIT
// Node ids decide, and not epochs: two clusters count their epochs independently of each other.
#include "redis/topology/membership.hpp"

#include <algorithm>
#include <utility>

namespace mortise::redis {
namespace {

bool have_one_in_common(const NodeIds& one, const NodeIds& other) {
  return std::any_of(one.begin(), one.end(),
                     [&](const std::string& id) { return other.contains(id); });
}

}  // namespace

Membership::Membership(std::vector<std::string> seeds) : seeds_(std::move(seeds)) {}

bool Membership::is_seed(const std::string& server) const noexcept {
  return std::find(seeds_.begin(), seeds_.end(), server) != seeds_.end();
}

void Membership::begin_round() {
  if (agreed_) return;
  said_.clear();
  silent_.clear();
}

bool Membership::knows_a_master_of(const NodeIds& nodes) const {
  return have_one_in_common(masters_, nodes);
}

// More than half of the masters cannot fail together: the others could elect no successor. Replicas
// prove nothing: any number of them may be replaced while the client does not look.
bool Membership::is_ours(const NodeIds& nodes) const {
  const auto left = std::count_if(masters_.begin(), masters_.end(),
                                  [&](const std::string& id) { return nodes.contains(id); });
  return masters_.empty() ? have_one_in_common(members_, nodes)
                          : static_cast<std::size_t>(left) * 2 > masters_.size();
}

Membership::Verdict Membership::answered(const std::string& server, NodeIds nodes, NodeIds masters,
                                         const std::vector<std::string>& known) {
  // Its container came back without its volume, for example. It no longer belongs to the cluster.
  if (nodes.empty()) return silent(server, known);
  if (!agreed_) {
    if (!is_seed(server)) return Verdict::undecided;
    silent_.erase(server);
    said_[server] = {.nodes = std::move(nodes), .masters = std::move(masters)};
    return decide();
  }
  if (is_ours(nodes)) {
    members_ = std::move(nodes);
    masters_ = std::move(masters);
    others_.erase(server);
    silent_.clear();
    return Verdict::ours;
  }
  silent_.erase(server);
  others_[server] = std::move(nodes);
  return is_gone(known) ? look_for_a_new_one() : Verdict::foreign;
}

Membership::Verdict Membership::silent(const std::string& server,
                                       const std::vector<std::string>& known) {
  if (agreed_) {
    silent_.insert(server);
    return is_gone(known) ? look_for_a_new_one() : Verdict::undecided;
  }
  if (is_seed(server) && !said_.contains(server)) silent_.insert(server);
  return decide();
}

// Silence alone proves nothing: after an outage the old cluster is there again.
bool Membership::is_gone(const std::vector<std::string>& known) const {
  const auto foreign = std::count_if(seeds_.begin(), seeds_.end(), [&](const std::string& seed) {
    return others_.contains(seed);
  });
  const bool succeeded = std::any_of(others_.begin(), others_.end(), [&](const auto& other) {
    return knows_a_master_of(other.second);
  });
  return (succeeded || static_cast<std::size_t>(foreign) * 2 > seeds_.size()) &&
         std::all_of(known.begin(), known.end(), [&](const std::string& server) {
           return others_.contains(server) || silent_.contains(server);
         });
}

Membership::Verdict Membership::look_for_a_new_one() {
  agreed_ = false;
  members_.clear();
  masters_.clear();
  others_.clear();
  begin_round();
  return Verdict::undecided;
}

Membership::Verdict Membership::decide() {
  std::size_t most = 0;
  for (const auto& [server, said] : said_) {
    const auto& nodes = said.nodes;  // clang 14 does not capture a structured binding
    const auto same =
        static_cast<std::size_t>(std::count_if(said_.begin(), said_.end(), [&](const auto& other) {
          return have_one_in_common(nodes, other.second.nodes);
        }));
    if (same <= most) continue;
    most = same;
    chosen_ = server;
  }
  const bool all = said_.size() + silent_.size() >= seeds_.size();
  if (most * 2 <= seeds_.size()) {
    if (!all) return Verdict::undecided;
    if (said_.empty()) return Verdict::none;
    if (most < said_.size()) {
      others_.clear();
      for (const auto& [server, said] : said_) others_[server] = said.nodes;
      return Verdict::split;
    }
  }
  agreed_ = true;
  members_ = said_[chosen_].nodes;
  masters_ = said_[chosen_].masters;
  others_.clear();
  for (const auto& [server, said] : said_) {
    if (!have_one_in_common(members_, said.nodes)) others_[server] = said.nodes;
  }
  said_.clear();
  silent_.clear();
  return Verdict::agreed;
}

}  // namespace mortise::redis
