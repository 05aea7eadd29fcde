// SPDX-License-Identifier: MIT
// Goal: a long run can be checked whole, and one fault in it is found. Method: a large history of a
// busy service, without a fault and with one.
#include "model/build.hpp"
#include "model/checker.hpp"
#include "model/history.hpp"
#include "model/script.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <ctime>
#include <iostream>
#include <string>

namespace mortise::model {
namespace {

// The checker's own time: what else the machine does must not decide a test.
std::int64_t processor_ns() {
  timespec used{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return std::int64_t{used.tv_sec} * 1'000'000'000 + used.tv_nsec;
}

// `holds` holds of `names` names by turns, each with its release, as a busy service leaves them.
Script busy_service(std::uint64_t holds, std::uint32_t names) {
  Script script;
  script.events().reserve(holds * 4);
  for (std::uint64_t i = 0; i < holds; ++i) {
    const auto time = static_cast<std::int64_t>(i * 10);
    const Script::Client client{static_cast<std::uint32_t>(i * 7 % 16), 0};
    // A waiter comes long before its turn.
    const auto hold = script.acquire(client, static_cast<std::uint32_t>(i % names), i / names + 1,
                                     time - 5'000, time + 5);
    script.release(hold, time + 7, time + 9);
  }
  return script;
}

TEST(CheckerSpeed, TakesAMillionHoldsInAboutASecond) {
  // The thread sanitizer slows it down some fifteen times; the bound stays, the load does not.
  constexpr std::uint64_t holds = under_thread_sanitizer ? 250'000 : 1'000'000;
  Script script = busy_service(holds, 100);
  const std::int64_t begin = processor_ns();
  const Report good = check(script.events());
  const double seconds = static_cast<double>(processor_ns() - begin) / 1e9;
  EXPECT_TRUE(good.ok()) << good.text();
  EXPECT_EQ(good.counts.granted, holds);
  std::cout << "checked " << holds << " holds in " << seconds << " s of processor time\n";
  RecordProperty("seconds", std::to_string(seconds));
  EXPECT_LT(seconds, under_sanitizer ? 5.0 : 2.0);

  // One needle: the hold in the middle keeps the name until after the next one's grant.
  Event& release = script.events()[4 * (holds / 2) + 2];
  ASSERT_EQ(release.operation, Operation::release);
  release.time += 1'000;
  script.events()[4 * (holds / 2) + 3].time += 1'000;
  const Report bad = check(script.events());
  ASSERT_EQ(bad.faults, 1U) << bad.text();
  EXPECT_TRUE(bad.has(Fault::overlap)) << bad.text();
  EXPECT_EQ(bad.violations[0].first.op, release.hold);
  EXPECT_EQ(bad.violations[0].second.token, bad.violations[0].first.token + 1);
}

}  // namespace
}  // namespace mortise::model
