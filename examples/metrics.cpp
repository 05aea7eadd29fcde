// SPDX-License-Identifier: MIT
// Figures for Prometheus, by the component mortise::prometheus and Debian's prometheus-cpp-dev. A
// service hands its registry to a prometheus::Exposer, which answers scrapes; this prints what one
// would get. docs/operations.md names the figures, docs/grafana.json is a dashboard of them.
#include <mortise/memory.hpp>
#include <mortise/mortise.hpp>
#include <mortise/prometheus.hpp>

#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <chrono>
#include <exception>
#include <iostream>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

using namespace std::chrono_literals;

int main() try {
  mortise::memory::Server server;
  // [metrics]
  auto registry = std::make_shared<prometheus::Registry>();
  auto counting = mortise::prometheus::observer(
      registry, {.labels = {{"store", "redis"}}, .group = [](std::string_view name) {
                   return std::string(name.substr(0, name.find('/')));  // orders/42: orders
                 }});
  mortise::Client client(server.backend(), {.observer = counting});
  // [/metrics]

  mortise::Client rival(server.backend());
  mortise::Lock order = client.make_lock("orders/42");
  { const std::scoped_lock hold(order); }
  mortise::Lock rivals = rival.make_lock("orders/42");
  const std::scoped_lock hold(rivals);
  if (order.try_lock_for(10ms)) return 1;

  std::cout << prometheus::TextSerializer().Serialize(registry->Collect());
} catch (const std::exception& e) {
  std::cerr << "metrics: " << e.what() << "\n";
  return 1;
}
