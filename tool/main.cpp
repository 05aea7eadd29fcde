// SPDX-License-Identifier: MIT
// mortise: locks for the shell. See mortise(1).
#include "descriptor.hpp"
#include "order.hpp"
#include "status.hpp"

#include <exception>
#include <string_view>
#include <utility>

namespace {

using mortise::tool::Order;

int carry_out(const Order& order) {
  constexpr std::pair<std::string_view, int (*)(const Order&)> verbs[] = {
      {"run", mortise::tool::run_front},      {"once", mortise::tool::run_front},
      {"holder", mortise::tool::look_holder}, {"queue", mortise::tool::look_queue},
      {"list", mortise::tool::look_list},     {"watch", mortise::tool::watch},
      {"look", mortise::tool::look_key},      {"forget", mortise::tool::forget_key},
      {"release", mortise::tool::release},    {"check", mortise::tool::check},
      {"migrate", mortise::tool::migrate}};
  for (const auto& [verb, call] : verbs) {
    if (order.verb == verb) return call(order);
  }
  return mortise::tool::usage;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    mortise::tool::occupy_standard_descriptors();
    Order order;
    int status = mortise::tool::done;
    if (!mortise::tool::read_order(argc, argv, order, status)) return status;
    return carry_out(order);
  } catch (const std::exception& error) {
    return mortise::tool::fail(error);
  }
}
