// SPDX-License-Identifier: MIT
// Metrics for Prometheus, with the component mortise::prometheus and Debian's prometheus-cpp-dev. A
// service passes its registry to a prometheus::Exposer, which answers scrapes. This program prints
// what a scrape returns while all threads of a service wait for one lock. docs/operations.md
// describes the metrics, and docs/grafana.json is a dashboard for them.
#include <mortise/memory.hpp>
#include <mortise/mortise.hpp>
#include <mortise/prometheus.hpp>

#include <prometheus/collectable.h>
#include <prometheus/metric_family.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <chrono>
#include <exception>
#include <iostream>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

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
  // Each scrape reads which names threads wait for now, and who holds them.
  const auto waits = mortise::prometheus::waits_by_name(
      {{.snapshot = client.snapshot_source(), .labels = {{"store", "redis"}}}});
  // exposer.RegisterCollectable(registry);
  // exposer.RegisterCollectable(waits);  // the service keeps both alive, not the exposer
  // [/metrics]

  mortise::Client rival(server.backend());
  mortise::Lock order = client.make_lock("orders/42");
  { const std::scoped_lock hold(order); }
  mortise::Lock rivals = rival.make_lock("orders/42", {.label = "ship-3"});
  std::unique_lock hold(rivals);
  if (order.try_lock_for(10ms)) return 1;

  std::vector<std::jthread> threads;
  for (int i = 0; i < 16; ++i) {
    threads.emplace_back([&order] { const std::scoped_lock own(order); });
  }
  std::string scraped;
  while (scraped.find("orders/42") == std::string::npos) {  // until they have waited for a second
    std::this_thread::sleep_for(50ms);
    scraped = prometheus::TextSerializer().Serialize(waits->Collect());
  }
  std::cout << prometheus::TextSerializer().Serialize(registry->Collect()) << scraped;
  hold.unlock();
} catch (const std::exception& e) {
  std::cerr << "metrics: " << e.what() << "\n";
  return 1;
}
