// SPDX-License-Identifier: MIT
// What clients of every DistantStore suffer on their way to it: connections that are cut in the
// middle of a reply or stand still, bytes that drip, requests that come late.
#pragma once

#include "model/dice.hpp"
#include "model/distant_store.hpp"
#include "model/lock_history.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace mortise::model {

// In what the backends differ.
struct NetworkManner {
  // Numbers of networks that a disturbance happens to; empty: all.
  using Draw = std::function<std::vector<std::size_t>(Dice&)>;

  std::uint32_t reply_bytes = 70;  // of a reply that is cut, fewer arrive
  std::chrono::nanoseconds slowest_drip = std::chrono::milliseconds(1);  // from byte to byte
  bool inboxes = true;            // pushes have connections of their own, which may fail alone
  bool long_black_holes = false;  // beyond the lease
  std::string black_hole = "black hole";
  std::string late_requests = "late duplicates";

  std::uint32_t most_cuts = 5;  // one after the other
  std::chrono::nanoseconds longest_between = std::chrono::milliseconds(30);
  Draw cut = {};        // by each of them
  Draw disturbed = {};  // by what lasts
};

// `others` and then those of the network.
[[nodiscard]] std::vector<Disturbance> with_those_of_network(std::vector<Disturbance> others,
                                                             const NetworkManner& manner);

// Many a grant arrives when its lease is over.
void delay_pushes(Stage& stage, Dice& dice);

// For disturbances of one backend only. An order is what DistantProxy takes.

inline constexpr std::chrono::milliseconds longest_disturbance{250};

// The networks of the stage's store that `draw` draws.
[[nodiscard]] std::vector<const DistantProxy*> networks(Stage& stage, Dice& dice,
                                                        const NetworkManner::Draw& draw);

// Something on the way, and its end.
template <class Begin, class End>
void disturb_for_a_while(Stage& stage, Dice& dice, const NetworkManner::Draw& draw, Begin begin,
                         End end, std::chrono::nanoseconds longest = longest_disturbance) {
  const std::vector<const DistantProxy*> disturbed = networks(stage, dice, draw);
  for (const DistantProxy* network : disturbed) network->tell(begin);
  stage.time.sleep(dice.between(std::chrono::milliseconds(50), longest));
  for (const DistantProxy* network : disturbed) network->tell(end);
}

// A few times what has no end, by an order that is made for each.
template <class MakeOrder>
void cut_again_and_again(Stage& stage, Dice& dice, const NetworkManner& manner, MakeOrder make) {
  for (std::uint32_t left = 1 + dice.below(manner.most_cuts); left > 0; --left) {
    const std::vector<const DistantProxy*> cut = networks(stage, dice, manner.cut);
    const auto order = make(dice);
    for (const DistantProxy* network : cut) network->tell(order);
    stage.time.sleep(dice.between(std::chrono::nanoseconds(0), manner.longest_between));
  }
}

}  // namespace mortise::model
