// SPDX-License-Identifier: MIT
// The names that threads wait for, read from the clients at each scrape: nothing is kept between
// two of them, so a name leaves no time series behind in the process.
#include <mortise/prometheus.hpp>

#include "base/printable.hpp"
#include "prometheus/labels.hpp"

#include <prometheus/collectable.h>
#include <prometheus/metric_family.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <set>
#include <stdexcept>
#include <utility>

namespace mortise::prometheus {
namespace {

using ::prometheus::ClientMetric;
using ::prometheus::MetricFamily;

std::chrono::nanoseconds longest_wait(const Snapshot::Name& name) noexcept {
  std::chrono::nanoseconds longest{0};
  for (const Snapshot::Waiter& waiter : name.waiters) longest = std::max(longest, waiter.age);
  return longest;
}

/// @return the label of whoever holds the name: another thread of the client, or another client.
std::string holder_of(const Snapshot::Name& name) {
  if (!name.holds.empty()) return name.holds.front().label;
  return name.holder ? name.holder->label : std::string();
}

/// A name that threads wait for.
struct Stuck {
  Snapshot::Name name;
  std::chrono::nanoseconds longest;
  const Labels* labels;
};

MetricFamily gauge(const char* name, const char* help) {
  return {.name = name, .help = help, .type = ::prometheus::MetricType::Gauge, .metric = {}};
}

void add(MetricFamily& to, const Labels& labels, double value) {
  ClientMetric metric;
  for (const auto& [name, text] : labels) metric.label.push_back({name, text});
  metric.gauge.value = value;
  to.metric.push_back(std::move(metric));
}

class WaitsByName final : public ::prometheus::Collectable {
 public:
  WaitsByName(std::vector<Watched> clients, const NamesOptions& options)
      : clients_(std::move(clients)), options_(options) {
    std::set<Labels> labels;
    for (Watched& client : clients_) {
      if (!client.snapshot) {
        throw std::invalid_argument(
            "mortise: Watched::snapshot is empty; set it to Client::snapshot_source()");
      }
      client.labels = checked(std::move(client.labels), {"name", "mode", "holder"});
      if (!labels.insert(client.labels).second) {
        throw std::invalid_argument(
            "mortise: two clients have the same labels; give each Watched its own labels");
      }
    }
  }

  [[nodiscard]] std::vector<MetricFamily> Collect() const override {
    MetricFamily threads = gauge("mortise_waiting_threads",
                                 "Threads of this process that wait for the name, by holder");
    MetricFamily longest = gauge("mortise_longest_wait_seconds",
                                 "Longest wait of a thread of this process for the name");
    MetricFamily failing =
        gauge("mortise_failing_renewals", "Holds of this process whose last renewal failed");
    for (const Stuck& stuck : look(failing)) {
      Labels labels = *stuck.labels;
      labels["name"] = base::escaped(stuck.name.name);
      labels["mode"] = to_string(stuck.name.space);
      labels["holder"] = holder_of(stuck.name);
      add(threads, labels, static_cast<double>(stuck.name.waiters.size()));
      add(longest, labels, seconds(stuck.longest));
    }
    return {std::move(threads), std::move(longest), std::move(failing)};
  }

 private:
  [[nodiscard]] std::vector<Stuck> look(MetricFamily& failing) const {
    std::vector<Stuck> found;
    for (const Watched& client : clients_) {
      std::size_t trouble = 0;
      for (Snapshot::Name& name : client.snapshot().names) {
        trouble += static_cast<std::size_t>(std::count_if(
            name.holds.begin(), name.holds.end(),
            [](const Snapshot::Hold& hold) { return static_cast<bool>(hold.renewal); }));
        const std::chrono::nanoseconds longest = longest_wait(name);
        if (name.waiters.empty() || longest < options_.longer_than) continue;
        found.push_back({std::move(name), longest, &client.labels});
      }
      add(failing, client.labels, static_cast<double>(trouble));
    }
    const auto comes_first = [](const Stuck& one, const Stuck& other) {
      const std::size_t ones = one.name.waiters.size();
      const std::size_t others = other.name.waiters.size();
      return ones != others ? ones > others : one.longest > other.longest;
    };
    std::sort(found.begin(), found.end(), comes_first);
    const std::size_t shown = std::min(found.size(), options_.most_names);
    found.erase(found.begin() + static_cast<std::ptrdiff_t>(shown), found.end());
    return found;
  }

  std::vector<Watched> clients_;
  const NamesOptions options_;
};

}  // namespace

std::shared_ptr<::prometheus::Collectable> waits_by_name(std::vector<Watched> clients,
                                                         NamesOptions options) {
  return std::make_shared<WaitsByName>(std::move(clients), options);
}

}  // namespace mortise::prometheus
