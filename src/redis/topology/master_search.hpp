// SPDX-License-Identifier: MIT
// Asks the sentinels where the master is, one after the other, until one is believed.
#pragma once

#include "redis/topology/sentinels.hpp"

#include <optional>
#include <string>
#include <vector>

namespace mortise::redis {

/// Driven as SentinelTalk is.
/// @thread_safety one thread at a time
class MasterSearch {
 public:
  /// @param settings, tls, sentinels outlive it; tls may be null
  MasterSearch(const Settings& settings, const remote::Tls* tls, Sentinels& sentinels);

  void start(Instant now);
  /// @return the master, or, with what each of them said, why nobody knows it; once; nothing = not
  /// yet
  [[nodiscard]] std::optional<SentinelAnswer> advance(Instant now);
  void end() noexcept { talk_.end(); }

  [[nodiscard]] int descriptor() const noexcept { return talk_.descriptor(); }
  [[nodiscard]] short interest() const noexcept { return talk_.interest(); }
  [[nodiscard]] Instant due() const noexcept { return talk_.due(); }

 private:
  void ask_next(Instant now);
  [[nodiscard]] SentinelAnswer conclude();
  void note(const Failure& why);
  void note_older(std::size_t sentinel, SentinelAnswer answer);

  const Settings& settings_;
  Sentinels& sentinels_;
  SentinelTalk talk_;
  std::vector<std::size_t> order_;
  std::size_t asked_ = 0;  // how many of them
  // What an old epoch was told with: the best there is, where nobody knows a newer one.
  std::optional<SentinelAnswer> older_;
  std::size_t older_by_ = 0;
  std::size_t outdated_ = 0;  // how many said such
  std::string words_;
  std::size_t refusals_ = 0;             // that will not pass by themselves
  std::size_t limits_ = 0;               // of this process, that kept us from asking
  Errc refused_as_ = Errc::unavailable;  // the last of them
};

}  // namespace mortise::redis
