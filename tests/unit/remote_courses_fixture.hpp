// SPDX-License-Identifier: MIT
// The courses of a client's attempts, and three of its operations.
#pragma once

#include "remote/courses.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>

namespace mortise::remote {

class CoursesFixture : public ::testing::Test {
 protected:
  struct Nothing {};
  using Table = Courses<Nothing>;
  using Entry = Table::Entry;

  static AttemptId id_of(std::uint64_t sequence) { return {1, 2, sequence}; }
  static HoldId hold_of(std::uint64_t sequence, std::uint64_t number = 77) {
    return {.name = "a", .attempt = id_of(sequence), .number = number};
  }
  static std::shared_ptr<Acquisition> operation_of(std::uint64_t sequence) {
    return std::make_shared<Acquisition>(Acquisition::Request{
        .attempt = id_of(sequence), .name = "a", .lease = std::chrono::seconds(30), .wait = true});
  }
  [[nodiscard]] AttemptCourse::State state_of(std::uint64_t sequence) const {
    return table_.ask(id_of(sequence), [](const auto& course) { return course.state(); });
  }
  void hold(std::uint64_t sequence, std::uint64_t number = 77) {
    EXPECT_EQ(table_.held(id_of(sequence), number, start, start + std::chrono::seconds(30)),
              number);
  }

  static inline const Instant start{std::chrono::hours(1)};

  std::mutex mutex_;
  NewsBoard board_;
  Table table_{mutex_, &board_};
  const std::shared_ptr<Acquisition> one_ = operation_of(1);
  const std::shared_ptr<Acquisition> two_ = operation_of(2);
  const std::shared_ptr<Acquisition> three_ = operation_of(3);
};

}  // namespace mortise::remote
