// SPDX-License-Identifier: MIT
// The commands look and forget, about a remembered key of `Once`.
#include <mortise/client.hpp>

#include "asking.hpp"
#include "look.hpp"
#include "status.hpp"
#include "text.hpp"

#include <string>

namespace mortise::tool {
namespace {

std::string number_word(std::uint64_t number) { return number != 0 ? std::to_string(number) : "-"; }

Json json_of_key(const Order& order, const Outcome& outcome, const NameQueue& runners) {
  Json json;
  put_bytes(json, "key", order.name);
  json["state"] = to_string(outcome.state());
  json["run"] = outcome.number() != 0 ? Json(outcome.number()) : Json();
  json["token"] = json_of(outcome.token());
  if (outcome.state() == KeyState::succeeded) put_bytes(json, "result", outcome.result());
  if (outcome.state() == KeyState::failed) put_bytes(json, "reason", outcome.reason());
  json["running"] = outcome.running();
  if (outcome.running()) put_queue(json, runners);
  return json;
}

std::string text_of_key(const Outcome& outcome, const NameQueue& runners) {
  std::string text = "state\t" + std::string(to_string(outcome.state())) + "\n";
  if (outcome.state() == KeyState::absent) return text;
  text += "run\t" + number_word(outcome.number()) + "\n";
  text += "token\t" + words(outcome.token()) + "\n";
  if (outcome.state() == KeyState::succeeded) {
    text += "result\t" + printable(outcome.result()) + "\n";
  }
  if (outcome.state() == KeyState::failed) text += "reason\t" + printable(outcome.reason()) + "\n";
  for (const HolderEntry& each : runners.holders) {
    text += "runner\t" + printable(each.label) + "\tage " + words(each.age) + "\tleft " +
            words(each.expires_in) + "\n";
  }
  if (outcome.state() == KeyState::pending && !outcome.running()) text += "runner\tnone\n";
  return text;
}

}  // namespace

int look_key(const Order& order) {
  Client client(order.url);
  const Once once = client.make_once(order.name);
  const Outcome outcome = answered(order.look.answer, [&] { return once.look(); });
  NameQueue runners;
  if (outcome.running()) runners = queue_of(client, order, {Mode::once, order.name});
  const int printed = print(order.look.json ? line_of(json_of_key(order, outcome, runners))
                                            : text_of_key(outcome, runners));
  return printed == done && outcome.state() == KeyState::absent ? nothing_there : printed;
}

int forget_key(const Order& order) {
  Client client(order.url);
  Once once = client.make_once(order.name);
  if (answered(order.look.answer, [&] { return once.forget(); })) return print("forgotten\n");
  complain("a client runs '" + order.name + "' now, so the store has not forgotten it",
           "Wait until the run ends, or end it with 'mortise release --force --keys'.");
  return busy;
}

}  // namespace mortise::tool
