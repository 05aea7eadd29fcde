// SPDX-License-Identifier: MIT
// The observer that counts. The metrics of a group and a mode are looked up once and kept, so that
// an event costs an addition or three, and with groups a look-up.
#include <mortise/prometheus.hpp>

#include "base/printable.hpp"
#include "prometheus/labels.hpp"

#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <exception>
#include <mutex>
#include <utility>

namespace mortise::prometheus {
namespace {

template <class Figure>
using Family = ::prometheus::Family<Figure>;
using Counter = ::prometheus::Counter;
using Gauge = ::prometheus::Gauge;
using Histogram = ::prometheus::Histogram;

/// What is counted, as Prometheus has it: a family for each name.
struct Families {
  explicit Families(::prometheus::Registry& registry)
      : grants(counter(registry, "mortise_grants_total", "Holds that were granted")),
        contended(counter(registry, "mortise_contended_total",
                          "Callers that gave up because another owner held the name")),
        renewals(counter(registry, "mortise_renewals_total", "Renewals of holds")),
        lost(counter(registry, "mortise_lost_total",
                     "Holds that ended without an unlock by their owner")),
        releases(counter(registry, "mortise_releases_total", "Last unlocks of holds")),
        failed(counter(registry, "mortise_failed_total",
                       "Failures that no caller receives, such as a renewal")),
        wanted(counter(registry, "mortise_wanted_total",
                       "Requests of other clients to unlock a name")),
        waits(counter(registry, "mortise_waits_total", "Waits that ended, by outcome")),
        wait(histogram(registry, "mortise_wait_seconds", "Time from the call to the grant")),
        hold(histogram(registry, "mortise_hold_seconds",
                       "Time from the grant to the end of the hold")),
        waiting(gauge(registry, "mortise_waiting", "Threads of this process that wait now")),
        held(gauge(registry, "mortise_held", "Holds of this process now")) {}

  Family<Counter>& grants;
  Family<Counter>& contended;
  Family<Counter>& renewals;
  Family<Counter>& lost;
  Family<Counter>& releases;
  Family<Counter>& failed;
  Family<Counter>& wanted;
  Family<Counter>& waits;
  Family<Histogram>& wait;
  Family<Histogram>& hold;
  Family<Gauge>& waiting;
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
  static Family<Gauge>& gauge(::prometheus::Registry& registry, const char* name,
                              const char* help) {
    return ::prometheus::BuildGauge().Name(name).Help(help).Register(registry);
  }
};

[[nodiscard]] Labels and_also(Labels all, const char* name, std::string value) {
  all[name] = std::move(value);
  return all;
}

/// The last unlocks of one group and mode, by what they answered.
struct Releases {
  Releases(Family<Counter>& family, const Labels& labels)
      : released(with(family, labels, Released::released)),
        was_lost(with(family, labels, Released::was_lost)),
        unknown(with(family, labels, Released::unknown)) {}

  [[nodiscard]] Counter& of(Released outcome) const {
    switch (outcome) {
      case Released::released: return released;
      case Released::was_lost: return was_lost;
      case Released::unknown: break;
    }
    return unknown;
  }

  Counter& released;
  Counter& was_lost;
  Counter& unknown;

 private:
  static Counter& with(Family<Counter>& family, const Labels& labels, Released outcome) {
    return family.Add(and_also(labels, "outcome", std::string(to_string(outcome))));
  }
};

/// The metrics of one group and mode. All are there from its first event: a rate, and the alert on
/// the first loss, need a zero to start from. The rare reasons come as they happen.
struct Figures {
  Figures(Families& families, Labels with, const std::vector<double>& buckets)
      : of(families),
        labels(std::move(with)),
        grants(of.grants.Add(labels)),
        contended(of.contended.Add(labels)),
        renewals(of.renewals.Add(labels)),
        releases(of.releases, labels),
        wanted(of.wanted.Add(labels)),
        wait(of.wait.Add(labels, buckets)),
        hold(of.hold.Add(labels, buckets)),
        waiting(of.waiting.Add(labels)),
        held(of.held.Add(labels)) {
    static_cast<void>(lost(Errc::lost));
    static_cast<void>(failed(Errc::unavailable));
    static_cast<void>(waits({}, true));
    static_cast<void>(waits(Errc::timeout, false));
  }

  Counter& lost(const std::error_code& why) {
    return of.lost.Add(and_also(labels, "why", word_of(why)));
  }
  Counter& failed(const std::error_code& why) {
    return of.failed.Add(and_also(labels, "why", word_of(why)));
  }
  /// @param why empty: the call has what it waited for
  Counter& waits(const std::error_code& why, bool holds) {
    const std::string outcome = why ? word_of(why) : holds ? "granted" : "answered";
    return of.waits.Add(and_also(labels, "outcome", outcome));
  }

  Families& of;
  Labels labels;
  Counter& grants;
  Counter& contended;
  Counter& renewals;
  Releases releases;
  Counter& wanted;
  Histogram& wait;
  Histogram& hold;
  Gauge& waiting;
  Gauge& held;
};

class Counting final : public Observer {
 public:
  Counting(std::shared_ptr<::prometheus::Registry> registry, ObserverOptions options)
      : registry_(std::move(registry)), options_(std::move(options)), families_(*registry_) {
    // Fails now if a label is not allowed, and not at the first event.
    options_.labels =
        checked(std::move(options_.labels), {"group", "mode", "why", "outcome", "le"});
    if (!options_.group) static_cast<void>(figures_of({}, Mode::exclusive));
  }

  void waits(const Event& event) noexcept override {
    count(event, [](Figures& of) { of.waiting.Increment(); });
  }
  void wait_ended(const Event& event, const Failure& why) noexcept override {
    count(event, [&](Figures& of) {
      of.waiting.Decrement();
      of.waits(why.code, event.token != Token()).Increment();
    });
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
      of.lost(why.code).Increment();
    });
  }
  void released(const Event& event, Released outcome) noexcept override {
    count(event, [&](Figures& of) {
      ended(of, event);
      of.releases.of(outcome).Increment();
    });
  }
  void failed(const Event& event, const Failure& why) noexcept override {
    count(event, [&](Figures& of) { of.failed(why.code).Increment(); });
  }
  void wanted(const Event& event) noexcept override {
    count(event, [](Figures& of) { of.wanted.Increment(); });
  }

 private:
  template <class Pointer>
  using OfModes = std::array<Pointer, 4>;

  static void ended(Figures& of, const Event& event) {
    of.held.Decrement();
    of.hold.Observe(seconds(event.took));
  }

  Figures& figures_of(std::string_view name, Mode mode) {
    const auto of_mode = static_cast<std::size_t>(mode);
    std::string group;
    if (options_.group) {
      group = base::printable(options_.group(name));
    } else if (Figures* const known = all_.at(of_mode).load()) {
      return *known;
    }
    const std::scoped_lock lock(mutex_);
    std::unique_ptr<Figures>& figures = groups_[group].at(of_mode);
    if (!figures) {
      Labels labels = options_.labels;
      labels["mode"] = to_string(mode);
      if (options_.group) labels["group"] = group;
      figures = std::make_unique<Figures>(families_, std::move(labels), options_.buckets);
      if (!options_.group) all_.at(of_mode).store(figures.get());
    }
    return *figures;
  }

  template <class Count>
  void count(const Event& event, Count add) noexcept try {
    add(figures_of(event.name, event.mode));
  } catch (const std::exception&) {
    // Without memory a metric is wrong by one, and the service goes on.
  }

  const std::shared_ptr<::prometheus::Registry> registry_;
  ObserverOptions options_;  // does not change after the constructor
  Families families_;
  OfModes<std::atomic<Figures*>> all_{};  // if there are no groups
  std::mutex mutex_;                      // guards the groups; figures are never taken away
  std::map<std::string, OfModes<std::unique_ptr<Figures>>> groups_;
};

}  // namespace

std::shared_ptr<Observer> observer(std::shared_ptr<::prometheus::Registry> registry,
                                   ObserverOptions options) {
  auto counting = std::make_shared<Counting>(std::move(registry), std::move(options));
  return counting;
}

}  // namespace mortise::prometheus
