// SPDX-License-Identifier: MIT
// The table of a Redis client's attempts, three of its operations, and a clock reading.
#pragma once

#include "redis/store/attempts.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>

namespace mortise::redis {

class AttemptsFixture : public ::testing::Test {
 protected:
  static AttemptId id_of(std::uint64_t sequence) { return {1, 2, sequence}; }
  static std::shared_ptr<Acquisition> operation_of(std::uint64_t sequence) {
    return std::make_shared<Acquisition>(Acquisition::Request{
        .attempt = id_of(sequence), .name = "a", .lease = std::chrono::seconds(30), .wait = true});
  }
  static Push grant_of(std::uint64_t sequence, std::uint64_t number = 77) {
    return {.kind = Push::Kind::granted,
            .attempt = id_of(sequence),
            .number = number,
            .granted_at = reading.at,
            .lease = std::chrono::seconds(2),
            .key = "m:{a}"};
  }

  /// Its operation is done.
  void took(const Acquisition& operation) {
    const Grant& grant = operation.grant();
    attempts_.on(operation.request().attempt, [&](auto& entry) {
      entry.course.take(grant.number, grant.counted_from + grant.lease);
    });
  }

  static inline const Instant start{std::chrono::hours(1)};
  static inline const Reading reading{start, std::chrono::seconds(1'700'000'000)};

  std::mutex mutex_;
  Attempts attempts_{mutex_};
  const std::shared_ptr<Acquisition> one_ = operation_of(1);
  const std::shared_ptr<Acquisition> two_ = operation_of(2);
  const std::shared_ptr<Acquisition> three_ = operation_of(3);
};

}  // namespace mortise::redis
