// SPDX-License-Identifier: MIT
// What changes or tests a store: release, check, migrate.
#include <mortise/client.hpp>
#ifdef MORTISE_WITH_POSTGRES
#include <mortise/postgres.hpp>
#endif

#include "look.hpp"
#include "status.hpp"
#include "text.hpp"

namespace mortise::tool {
namespace {

/// What a backend may say to a question about itself.
std::string_view told(Support support) noexcept {
  switch (support) {
    case Support::no: return "no";
    case Support::yes: return "yes";
    case Support::unknown: break;
  }
  return "unknown";
}

}  // namespace

int release(const Order& order) {
  Client client(order.url);
  const std::vector<Holder> ended =
      client.force_release(order.name, {.of = Token(order.token), .wait = order.answer});
  std::string text;
  for (const Holder& each : ended) {
    text += "released: " + printable(each.label) + ", token " + std::to_string(each.token.value()) +
            "\n";
  }
  if (!ended.empty()) return print(text);
  const int printed = print(order.token != 0 ? "no hold with that token\n" : "free\n");
  return printed == done ? nothing_there : printed;
}

int check(const Order& order) {
  Client client(order.url);
  client.check(order.answer);
  const Capabilities can = client.capabilities();
  const std::pair<std::string_view, Support> answers[] = {
      {"leases", can.leases},
      {"fencing", can.fencing},
      {"fair", can.fair},
      {"push_wakeup", can.push_wakeup},
      {"survives_restart", can.survives_restart},
      {"survives_failover", can.survives_failover},
      {"shared_mode", can.shared_mode},
      {"permits", can.permits},
      {"once", can.once},
      {"min_hold", can.min_hold},
      {"lists", can.lists},
      {"queues", can.queues},
      {"forces", can.forces}};
  std::string text;
  for (const auto& [name, answer] : answers) {
    if (order.json) {
      text += (text.empty() ? "" : ",") + json_string(name) + ":" + json_string(told(answer));
    } else {
      text += "  " + std::string(name) + ": " + std::string(told(answer)) + "\n";
    }
  }
  if (order.json) return print(R"({"ok":true,"capabilities":{)" + text + "}}\n");
  return print("locks can be taken\n" + text);
}

#ifdef MORTISE_WITH_POSTGRES
int migrate(const Order& order) {
  const postgres::Migration options{.schema = order.schema, .role = order.role};
  if (order.print) return print(postgres::migration(options));
  postgres::migrate(order.url, options);
  return print("the schema is up to date\n");
}
#else
int migrate(const Order& /*order*/) {
  complain("this build has no PostgreSQL: build with -D MORTISE_WITH_POSTGRES=ON");
  return misconfigured;
}
#endif

}  // namespace mortise::tool
