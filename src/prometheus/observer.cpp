// SPDX-License-Identifier: MIT
// The observer that counts. The figures of a group are looked up once and kept, so that an event
// costs an addition or three, and with groups a look-up.
#include <mortise/prometheus.hpp>

#include "base/printable.hpp"

#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <chrono>
#include <exception>
#include <mutex>
#include <utility>

namespace mortise::prometheus {
namespace {

using Labels = std::map<std::string, std::string>;

template <class Figure>
using Family = ::prometheus::Family<Figure>;
using Counter = ::prometheus::Counter;
using Gauge = ::prometheus::Gauge;
using Histogram = ::prometheus::Histogram;

/// As the enumeration has it: the codes' messages are sentences.
std::string word_of(const std::error_code& code) {
  if (code.category() != error_category()) return "other";
  switch (static_cast<Errc>(code.value())) {
    case Errc::timeout: return "timeout";
    case Errc::cancelled: return "cancelled";
    case Errc::unavailable: return "unavailable";
    case Errc::denied: return "denied";
    case Errc::lost: return "lost";
    case Errc::not_owner: return "not_owner";
    case Errc::in_doubt: return "in_doubt";
    case Errc::misconfigured: return "misconfigured";
    case Errc::unsupported: return "unsupported";
    case Errc::protocol: return "protocol";
    case Errc::exhausted: return "exhausted";
    case Errc::closed: return "closed";
    case Errc::mismatch: return "mismatch";
  }
  return "other";
}

std::string word_of(Released outcome) {
  switch (outcome) {
    case Released::released: return "released";
    case Released::was_lost: return "was_lost";
    case Released::unknown: break;
  }
  return "unknown";
}

double seconds(std::chrono::nanoseconds time) {
  return std::chrono::duration<double>(time).count();
}

// A page with one byte that is not UTF-8 is refused as a whole, with every other figure on it.
ObserverOptions printable(ObserverOptions options) {
  for (auto& [name, value] : options.labels) value = base::printable(std::move(value));
  return options;
}

/// What is counted, as Prometheus has it: a family for each name.
struct Families {
  explicit Families(::prometheus::Registry& registry)
      : grants(counter(registry, "mortise_grants_total", "Locks that were taken")),
        contended(counter(registry, "mortise_contended_total",
                          "Callers that gave up, since somebody else held the lock")),
        renewals(counter(registry, "mortise_renewals_total", "Renewals of holds")),
        lost(counter(registry, "mortise_lost_total",
                     "Holds that ended without their owner's unlock")),
        releases(counter(registry, "mortise_releases_total", "Last unlocks of holds")),
        failed(counter(registry, "mortise_failed_total",
                       "What failed and no caller is told, as a renewal")),
        wanted(counter(registry, "mortise_wanted_total", "Requests of others to let go of a hold")),
        wait(histogram(registry, "mortise_wait_seconds", "From the call to the grant")),
        hold(histogram(registry, "mortise_hold_seconds", "From the grant to the end of the hold")),
        held(::prometheus::BuildGauge()
                 .Name("mortise_held")
                 .Help("Holds of this process now")
                 .Register(registry)) {}

  Family<Counter>& grants;
  Family<Counter>& contended;
  Family<Counter>& renewals;
  Family<Counter>& lost;
  Family<Counter>& releases;
  Family<Counter>& failed;
  Family<Counter>& wanted;
  Family<Histogram>& wait;
  Family<Histogram>& hold;
  Family<Gauge>& held;

 private:
  static Family<Counter>& counter(::prometheus::Registry& registry, const char* name,
                                  const char* help) {
    return ::prometheus::BuildCounter().Name(name).Help(help).Register(registry);
  }
  static Family<Histogram>& histogram(::prometheus::Registry& registry, const char* name,
                                      const char* help) {
    return ::prometheus::BuildHistogram().Name(name).Help(help).Register(registry);
  }
};

/// The figures of one group, all there from the beginning: a rate needs a zero to start from. Only
/// those by `why`, of which there are many that never come, are made as they come.
struct Figures {
  Figures(Families& of, Labels with, const std::vector<double>& buckets)
      : labels(std::move(with)),
        grants(of.grants.Add(labels)),
        contended(of.contended.Add(labels)),
        renewals(of.renewals.Add(labels)),
        released(of.releases.Add(and_also("outcome", word_of(Released::released)))),
        was_lost(of.releases.Add(and_also("outcome", word_of(Released::was_lost)))),
        unknown(of.releases.Add(and_also("outcome", word_of(Released::unknown)))),
        wanted(of.wanted.Add(labels)),
        wait(of.wait.Add(labels, buckets)),
        hold(of.hold.Add(labels, buckets)),
        held(of.held.Add(labels)) {}

  [[nodiscard]] Labels and_also(const char* name, std::string value) const {
    Labels all = labels;
    all[name] = std::move(value);
    return all;
  }
  [[nodiscard]] Counter& releases(Released outcome) const {
    switch (outcome) {
      case Released::released: return released;
      case Released::was_lost: return was_lost;
      case Released::unknown: break;
    }
    return unknown;
  }

  Labels labels;
  Counter& grants;
  Counter& contended;
  Counter& renewals;
  Counter& released;
  Counter& was_lost;
  Counter& unknown;
  Counter& wanted;
  Histogram& wait;
  Histogram& hold;
  Gauge& held;
};

class Counting final : public Observer {
 public:
  Counting(std::shared_ptr<::prometheus::Registry> registry, ObserverOptions options)
      : registry_(std::move(registry)),
        options_(printable(std::move(options))),
        families_(*registry_) {
    // Says now that a label is none, and not to whichever event is first.
    static_cast<void>(Family<Gauge>("mortise", "", options_.labels));
    if (!options_.group) all_ = std::make_unique<Figures>(families_, options_.labels, buckets());
  }

  void granted(const Event& event) noexcept override {
    count(event, [&](Figures& of) {
      of.grants.Increment();
      of.wait.Observe(seconds(event.took));
      of.held.Increment();
    });
  }
  void contended(const Event& event) noexcept override {
    count(event, [](Figures& of) { of.contended.Increment(); });
  }
  void renewed(const Event& event) noexcept override {
    count(event, [](Figures& of) { of.renewals.Increment(); });
  }
  void lost(const Event& event, const Failure& why) noexcept override {
    count(event, [&](Figures& of) {
      ended(of, event);
      families_.lost.Add(of.and_also("why", word_of(why.code))).Increment();
    });
  }
  void released(const Event& event, Released outcome) noexcept override {
    count(event, [&](Figures& of) {
      ended(of, event);
      of.releases(outcome).Increment();
    });
  }
  void failed(const Event& event, const Failure& why) noexcept override {
    count(event, [&](Figures& of) {
      families_.failed.Add(of.and_also("why", word_of(why.code))).Increment();
    });
  }
  void wanted(const Event& event) noexcept override {
    count(event, [](Figures& of) { of.wanted.Increment(); });
  }

 private:
  static void ended(Figures& of, const Event& event) {
    of.held.Decrement();
    of.hold.Observe(seconds(event.took));
  }
  [[nodiscard]] const std::vector<double>& buckets() const { return options_.buckets; }

  Figures& figures_of(std::string_view name) {
    if (all_) return *all_;
    const std::string group = base::printable(options_.group(name));
    const std::scoped_lock lock(mutex_);
    std::unique_ptr<Figures>& figures = groups_[group];
    if (!figures) {
      Labels labels = options_.labels;
      labels["group"] = group;
      figures = std::make_unique<Figures>(families_, std::move(labels), buckets());
    }
    return *figures;
  }

  template <class Count>
  void count(const Event& event, Count add) noexcept try {
    add(figures_of(event.name));
  } catch (const std::exception&) {
    // Without memory a figure is wrong by one, and the service goes on.
  }

  const std::shared_ptr<::prometheus::Registry> registry_;
  const ObserverOptions options_;
  Families families_;
  std::unique_ptr<Figures> all_;  // where there are no groups
  std::mutex mutex_;              // guards the groups; figures are never taken away
  std::map<std::string, std::unique_ptr<Figures>> groups_;
};

}  // namespace

std::shared_ptr<Observer> observer(std::shared_ptr<::prometheus::Registry> registry,
                                   ObserverOptions options) {
  auto counting = std::make_shared<Counting>(std::move(registry), std::move(options));
  return counting;
}

}  // namespace mortise::prometheus
