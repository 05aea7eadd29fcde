// SPDX-License-Identifier: MIT
#include "model/network_disturbances.hpp"

#include <chrono>
#include <cstddef>
#include <deque>

namespace mortise::model {

namespace {

using namespace std::chrono_literals;
using test::Proxy;
using Connections = Proxy::Connections;

Connections any_connections(Dice& dice, const NetworkManner& manner) {
  if (!manner.inboxes) return Connections::all;
  constexpr Connections kinds[] = {Connections::all, Connections::commands, Connections::inboxes};
  return kinds[dice.below(3)];
}

void cut_connections(Stage& stage, Dice& dice, const NetworkManner& manner) {
  cut_again_and_again(stage, dice, manner, [&manner](Dice& by) {
    return [which = any_connections(by, manner)](Proxy& proxy) { proxy.cut_all(which); };
  });
}

void cut_replies(Stage& stage, Dice& dice, const NetworkManner& manner) {
  cut_again_and_again(stage, dice, manner, [&manner](Dice& by) {
    return [bytes = by.below(manner.reply_bytes)](Proxy& proxy) { proxy.cut_reply_after(bytes); };
  });
}

void drip_replies(Stage& stage, Dice& dice, const NetworkManner& manner) {
  disturb_for_a_while(
      stage, dice, manner.disturbed,
      [interval = dice.between(1us, manner.slowest_drip)](Proxy& proxy) { proxy.drip(interval); },
      [](Proxy& proxy) { proxy.drip(0ns); });
}

void freeze_connections(Stage& stage, Dice& dice, const NetworkManner& manner) {
  disturb_for_a_while(
      stage, dice, manner.disturbed,
      [which = any_connections(dice, manner)](Proxy& proxy) { proxy.freeze(true, which); },
      [](Proxy& proxy) { proxy.freeze(false); });
}

void swallow_everything(Stage& stage, Dice& dice, const NetworkManner& manner) {
  disturb_for_a_while(
      stage, dice, manner.disturbed, [](Proxy& proxy) { proxy.blackhole(true); },
      [](Proxy& proxy) { proxy.blackhole(false); },
      manner.long_black_holes ? stage.short_lease * 3 / 2 : longest_disturbance);
}

// Clients give their connections up and ask again on new ones; then what they said first arrives.
void deliver_late(Stage& stage, Dice& dice, const NetworkManner& manner) {
  disturb_for_a_while(
      stage, dice, manner.disturbed, [](Proxy& proxy) { proxy.hold_requests(true); },
      [](Proxy& proxy) { proxy.hold_requests(false); });
}

}  // namespace

std::vector<Disturbance> with_those_of_network(std::vector<Disturbance> others,
                                               const NetworkManner& manner) {
  using Happens = void(Stage&, Dice&, const NetworkManner&);
  const auto add = [&](const std::string& name, Happens* happens) {
    others.push_back({.name = name, .bring_about = [happens, manner](Stage& stage, Dice& dice) {
                        happens(stage, dice, manner);
                      }});
  };
  add("connections cut", cut_connections);
  add("replies cut", cut_replies);
  add("replies dripped", drip_replies);
  add("half open", freeze_connections);
  add(manner.black_hole, swallow_everything);
  add(manner.late_requests, deliver_late);
  return others;
}

void delay_pushes(Stage& stage, Dice& dice) {
  const std::chrono::nanoseconds most = stage.short_lease * 3 / 2;
  disturb_for_a_while(
      stage, dice, {}, [most](Proxy& proxy) { proxy.delay_push(0ns, most); },
      [](Proxy& proxy) { proxy.delay_push(0ns, 0ns); });
}

std::vector<const DistantProxy*> networks(Stage& stage, Dice& dice,
                                          const NetworkManner::Draw& draw) {
  const std::deque<DistantProxy>& all = static_cast<const DistantStore&>(*stage.store).networks();
  std::vector<const DistantProxy*> drawn;
  if (draw) {
    for (const std::size_t number : draw(dice)) drawn.push_back(&all.at(number));
  } else {
    for (const DistantProxy& network : all) drawn.push_back(&network);
  }
  return drawn;
}

}  // namespace mortise::model
