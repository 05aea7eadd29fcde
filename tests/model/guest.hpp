// SPDX-License-Identifier: MIT
// A process of another library in a history: it takes its lock and gives it back again and again,
// and what it is seen to do is recorded for it, from the moment it is told to until its answer is
// there. It has no tokens, and believes in a hold for as long as nobody tells it otherwise; what
// its pages promise is less: that a server keeps the hold for a lease after the last sign of life.
#pragma once

#include "model/dice.hpp"
#include "model/recorder.hpp"
#include "support/stranger.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>

namespace mortise::model {

struct GuestTally {
  std::uint64_t grants = 0;
  std::uint64_t lost = 0;      // its release said so
  std::uint64_t replaced = 0;  // an answer that says that it cannot go on, or none
};

class Guest {
 public:
  using Start = std::function<test::Stranger()>;

  // `lease`: how long its hold outlives its last sign of life. Signs are a third of it apart.
  Guest(HistoryFile& history, std::uint32_t process, std::uint32_t name, Start start,
        std::chrono::nanoseconds lease, Dice& dice);

  // What is to be done now. `goes_on`: whether it takes its lock again.
  void step(bool goes_on);

  void kill();
  void stop();
  void resume();
  // From then on it, or its server, may have stood still. It may have less than it believes.
  void doubt(std::int64_t since);

  [[nodiscard]] bool rests() const noexcept { return act_ == Act::rests; }
  [[nodiscard]] bool stopped() const noexcept { return stopped_at_.has_value(); }
  [[nodiscard]] const GuestTally& tally() const noexcept { return tally_; }
  [[nodiscard]] int descriptor() const noexcept { return stranger_.descriptor(); }
  // A pause below this is none for a lease.
  [[nodiscard]] std::int64_t unnoticed() const noexcept { return lease_.count() / 6; }

 private:
  enum class Act : std::uint8_t { rests, takes, holds, frees };

  void turn_to(Act act, std::chrono::nanoseconds longest);
  void take();
  void taken(const std::string& answer);
  void free();
  void freed(const std::string& answer);
  void replace();

  HistoryFile& history_;
  std::uint32_t process_;
  const std::uint32_t name_;
  const Start start_;
  const std::chrono::nanoseconds lease_;
  Dice& dice_;
  test::Stranger stranger_;
  std::optional<Recorder> recorder_;
  Act act_ = Act::rests;
  std::int64_t next_ = 0;  // when something is to be done; of an answer: when it is too late
  Attempt attempt_;
  Hold hold_;
  RecordedCall release_;
  std::optional<std::int64_t> stopped_at_;
  bool doubted_ = false;
  GuestTally tally_;
};

}  // namespace mortise::model
