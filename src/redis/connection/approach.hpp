// SPDX-License-Identifier: MIT
// Opens a stream to the server: asks the sentinels which server it is, if there are any.
#pragma once

#include "redis/store/settings.hpp"
#include "redis/topology/master_search.hpp"
#include "remote/stream/approach.hpp"

#include <atomic>
#include <optional>

namespace mortise::redis {

/// As remote::Approach.
class Approach final : public remote::Approach {
 public:
  /// @param settings, tls, sentinels, descriptor outlive it; tls may be null
  /// @param sentinels null if the settings have the address
  Approach(const Settings& settings, const remote::Tls* tls, Sentinels* sentinels,
           std::atomic<int>& descriptor);

  using remote::Approach::start;
  void start(Instant now);
  [[nodiscard]] Step advance(Instant now);
  /// @param was_up false: the sentinels named a server that is of no use
  void end(bool was_up) noexcept;
  void close() noexcept;

 private:
  [[nodiscard]] Step search(Instant now);

  Sentinels* const sentinels_;
  std::optional<MasterSearch> search_;
  bool is_searching_ = false;
};

}  // namespace mortise::redis
