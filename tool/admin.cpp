// SPDX-License-Identifier: MIT
// The commands that change or test a store: release, check, migrate.
#include <mortise/client.hpp>
#ifdef MORTISE_WITH_POSTGRES
#include <mortise/postgres.hpp>
#endif

#include "look.hpp"
#include "order.hpp"
#include "status.hpp"
#include "text.hpp"

#include <string>
#include <utility>
#include <vector>

namespace mortise::tool {

int release(const Order& order) {
  Client client(order.url);
  ForceOptions options;
  options.of = order.look.token;
  options.wait = order.look.answer;
  if (!order.look.kinds.empty()) options.mode = order.look.kinds.front();
  const std::vector<Holder> ended = client.force_release(order.name, options);
  std::string text;
  for (const Holder& each : ended) {
    text += "released: " + printable(each.label) + ", token " + words(each.token) + "\n";
  }
  if (!ended.empty()) return print(text);
  const int printed = print(order.look.token ? "no hold has this token\n" : "free\n");
  return printed == done ? nothing_there : printed;
}

int check(const Order& order) {
  Client client(order.url);
  client.check(order.look.answer);
  const Capabilities can = client.capabilities();
  const std::pair<const char*, Support> answers[] = {{"leases", can.leases},
                                                     {"fencing", can.fencing},
                                                     {"fair", can.fair},
                                                     {"push_wakeup", can.push_wakeup},
                                                     {"one_wake", can.one_wake},
                                                     {"survives_restart", can.survives_restart},
                                                     {"survives_failover", can.survives_failover},
                                                     {"shared_mode", can.shared_mode},
                                                     {"permits", can.permits},
                                                     {"once", can.once},
                                                     {"min_hold", can.min_hold},
                                                     {"holders", can.holders},
                                                     {"lists", can.lists},
                                                     {"queues", can.queues},
                                                     {"forces", can.forces}};
  Json capabilities;
  std::string text = "locks can be taken\n";
  for (const auto& [name, answer] : answers) {
    capabilities[name] = to_string(answer);
    text += "  " + std::string(name) + ": " + std::string(to_string(answer)) + "\n";
  }
  if (!order.look.json) return print(text);
  Json json;
  json["ok"] = true;
  json["capabilities"] = std::move(capabilities);
  return print(line_of(json));
}

#ifdef MORTISE_WITH_POSTGRES
int migrate(const Order& order) {
  const postgres::Migration options{.schema = order.schema.schema, .role = order.schema.role};
  if (order.schema.print) return print(postgres::migration(options));
  postgres::migrate(order.url, options);
  return print("the schema is up to date\n");
}
#else
int migrate(const Order& /*order*/) {
  complain("this build of mortise does not support PostgreSQL",
           "Build mortise with -D MORTISE_WITH_POSTGRES=ON.");
  return misconfigured;
}
#endif

}  // namespace mortise::tool
