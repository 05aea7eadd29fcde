// SPDX-License-Identifier: MIT
// Goal: each request carries the words that its script reads. Method: the commands as a server gets
// them, taken apart.
#include "redlock/requests.hpp"
#include "redlock/scripts.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace mortise::redlock {
namespace {

using namespace std::chrono_literals;
using Words = std::vector<std::string>;

constexpr AttemptId attempt{.client_high = 1, .client_low = 2, .sequence = 0xab};
const std::string text = "AAAAAQAAAAAAAAACCr";

Words words_of(std::string_view bytes) {
  Words words;
  std::size_t at = bytes.find("\r\n") + 2;
  while (at < bytes.size()) {
    const std::size_t end = bytes.find("\r\n", at);
    const std::size_t size = std::stoul(std::string(bytes.substr(at + 1, end - at - 1)));
    words.emplace_back(bytes.substr(end + 2, size));
    at = end + 2 + size + 2;
  }
  return words;
}

template <class Write>
Words written(Write write) {
  std::string bytes;
  write(Requests("shop:"), bytes);
  return words_of(bytes);
}

Words call(const redis::Script& script, Words words) {
  Words all{"EVALSHA", std::string(script.sha), "1", "shop:{na%7Bme}"};
  all.insert(all.end(), words.begin(), words.end());
  return all;
}

constexpr redis::ServerTime moment{1'700'000'000'000'000};
const std::string moment_text = "1700000000000000";

TEST(RedlockRequestsTest, AVoteIsAskedForUntilAMomentAndWithTheNumberThatIsProposed) {
  const Acquisition::Request request{.attempt = attempt,
                                     .name = "na{me",
                                     .mode = Mode::exclusive,
                                     .lease = 1500ms,
                                     .label = "label",
                                     .wait = true};
  EXPECT_EQ(written([&](const Requests& requests, std::string& out) {
              requests.take(out, {.step = 7, .void_after = moment}, request,
                            {.interested = false, .steps_back = Manners::StepsBack::for_others},
                            4711);
            }),
            call(scripts::acquire, {text, "7", moment_text, "1500", "4711", "label", "01"}));
}

TEST(RedlockRequestsTest, AReaderHasAScriptOfItsOwn) {
  Acquisition::Request request{
      .attempt = attempt, .name = "na{me", .mode = Mode::shared, .lease = 1500ms};
  EXPECT_EQ(written([&](const Requests& requests, std::string& out) {
              requests.take(out, {.step = 7, .void_after = moment}, request, {.interested = true},
                            4711);
            }),
            call(scripts::share, {text, "7", moment_text, "1500", "4711", "", "10", ""}));
  request.beside = AttemptId{.client_high = 1, .client_low = 2, .sequence = 0xac};
  EXPECT_EQ(written([&](const Requests& requests, std::string& out) {
              requests.take(out, {.step = 7, .void_after = moment}, request, {}, 4711);
            }),
            call(scripts::share,
                 {text, "7", moment_text, "1500", "4711", "", "00", text.substr(0, 16) + "Cs"}));
  const HoldId hold{.name = "na{me", .attempt = attempt, .number = 9, .mode = Mode::shared};
  EXPECT_EQ(written([&](const Requests& requests, std::string& out) {
              requests.relock(out, {.step = 2, .void_after = moment}, hold, 30s);
            }),
            call(scripts::share, {text, "2", moment_text, "30000", "9", "", "hold"}));
}

TEST(RedlockRequestsTest, AStrangersHoldIsReleasedByItsNumberAndAnOwnOneByItsAttempt) {
  const HoldId hold{.name = "na{me", .attempt = attempt, .number = 9};
  EXPECT_EQ(written([&](const Requests& requests, std::string& out) {
              requests.release(out, {.step = 3}, hold);
            }),
            call(scripts::release, {text, "9", "3", "1", ""}));
  EXPECT_EQ(written([&](const Requests& requests, std::string& out) {
              requests.undo(out, {.step = 3}, hold.name, attempt, false);
            }),
            call(scripts::release, {text, "", "3", "0", ""}));
  EXPECT_EQ(written([&](const Requests& requests, std::string& out) {
              requests.undo(out, {.step = 3}, hold.name, attempt, true, 61s);
            }),
            call(scripts::release, {text, "", "3", "1", "61000"}))
      << "by an administrator";
}

TEST(RedlockRequestsTest, OthersNameTheHoldTheyMean) {
  const HoldId hold{.name = "na{me", .attempt = attempt, .number = 9};
  EXPECT_EQ(written([&](const Requests& requests, std::string& out) {
              requests.settle(out, {.step = 4}, hold);
            }),
            call(scripts::settle, {text, "4", "9"}));
  EXPECT_EQ(written([&](const Requests& requests, std::string& out) {
              requests.relock(out, {.step = 2, .void_after = moment}, hold, 30s);
            }),
            call(scripts::acquire, {text, "2", moment_text, "30000", "9", "", "hold"}));
  EXPECT_EQ(written([&](const Requests& requests, std::string& out) {
              requests.inspect(out, {}, hold.name);
            }),
            call(scripts::inspect, {""}));
  EXPECT_EQ(written([&](const Requests& requests, std::string& out) {
              requests.whose(out, {}, hold.name);
            }),
            call(scripts::inspect, {"who"}));
  EXPECT_EQ(
      written([&](const Requests& requests, std::string& out) { requests.check(out, {}); }),
      (Words{"EVALSHA", std::string(scripts::inspect.sha), "1", "shop:{mortise.check}", "write"}));
  EXPECT_EQ(written([&](const Requests& requests, std::string& out) {
              requests.renew(out, {}, {{.hold = hold, .lease = 1s}, {.hold = hold, .lease = 2s}});
            }),
            (Words{"EVALSHA", std::string(scripts::renew.sha), "2", "shop:{na%7Bme}",
                   "shop:{na%7Bme}", text, "9", "1000", text, "9", "2000"}));
}

TEST(RedlockRequestsTest, AServerThatForgotAScriptGetsItsText) {
  const Words words = written([&](const Requests& requests, std::string& out) {
    requests.inspect(out, {.whole = true}, "name");
  });
  EXPECT_EQ(words.at(0), "EVAL");
  EXPECT_EQ(words.at(1), scripts::inspect.text);
}

TEST(RedlockRequestsTest, EachClientHasItsInbox) {
  EXPECT_EQ(Requests("shop:").inbox(attempt), "shop:inbox:AAAAAQAAAAAAAAAC");
}

}  // namespace
}  // namespace mortise::redlock
