// SPDX-License-Identifier: MIT
// Figures for Prometheus: an observer that counts into a registry of prometheus-cpp. It is a
// component of its own, mortise::prometheus, and of a build that has that library.
#pragma once

#include <mortise/export.hpp>
#include <mortise/observer.hpp>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace prometheus {
class Registry;  // of prometheus-cpp
}  // namespace prometheus

/// Figures for Prometheus. docs/operations.md names them, and says what to be woken for.
namespace mortise::prometheus {

struct ObserverOptions {
  /// Labels of every figure of this observer, as `{"store", "redis"}`: two clients that count into
  /// one registry are told apart by them. Names as Prometheus has them, other than `group`, `why`
  /// and `outcome`.
  std::map<std::string, std::string> labels{};
  /// Which group a name belongs to, as the label `group`; without it all are one, without that
  /// label. Each group is a time series more of each figure, for ever: never return the name itself
  /// where that says "orders/42". Called by several threads; it must not throw.
  std::function<std::string(std::string_view name)> group{};
  /// The upper bounds of the histograms' buckets, in seconds, ascending.
  std::vector<double> buckets{0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1,
                              0.25,   0.5,   1,      2.5,   5,    10,    30,   60};
};

/// @param registry where it counts; it is kept as long as the observer
/// @return an observer for `ClientOptions::observer`, of one client or of several
/// @thread_safety an observer's members may be called concurrently
/// @throws std::invalid_argument for labels that Prometheus does not have
[[nodiscard]] MORTISE_API std::shared_ptr<Observer> observer(
    std::shared_ptr<::prometheus::Registry> registry, ObserverOptions options = {});

}  // namespace mortise::prometheus
