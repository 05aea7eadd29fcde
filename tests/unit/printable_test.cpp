// SPDX-License-Identifier: MIT
// Goal: no byte of a name, a label or a server moves a terminal or forges the line of a log.
// Method: each kind of hostile character, in `printable()` and in everything that text leaves by.
#include "base/printable.hpp"

#include <mortise/listing.hpp>
#include <mortise/listing_operation.hpp>
#include <mortise/memory.hpp>
#include <mortise/mortise.hpp>
#include <mortise/operation.hpp>

#include "base/error_words.hpp"
#include "support/eventually.hpp"
#include "support/hostile_names.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace mortise::base {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using namespace std::string_literals;

// Each with what is printed for it.
const std::pair<std::string, std::string> hostile[] = {
    {"\0"s, R"(\x00)"},
    {"\n", R"(\x0a)"},
    {"\r", R"(\x0d)"},
    {"\x1b[2J", R"(\x1b[2J)"},
    {"\x7f", R"(\x7f)"},
    {"\xc2\x80", R"(\xc2\x80)"},                  // U+0080, the first of C1
    {"\xc2\x9b", R"(\xc2\x9b)"},                  // U+009B, "ESC [" in one character
    {"\xc2\x9f", R"(\xc2\x9f)"},                  // the last of C1
    {"\xd8\x9c", R"(\xd8\x9c)"},                  // U+061C
    {"\xe2\x80\x8e", R"(\xe2\x80\x8e)"},          // U+200E
    {"\xe2\x80\x8f", R"(\xe2\x80\x8f)"},          // U+200F
    {"\xe2\x80\xa8", R"(\xe2\x80\xa8)"},          // U+2028
    {"\xe2\x80\xa9", R"(\xe2\x80\xa9)"},          // U+2029
    {"\xe2\x80\xaa", R"(\xe2\x80\xaa)"},          // U+202A
    {"\xe2\x80\xae", R"(\xe2\x80\xae)"},          // U+202E
    {"\xe2\x81\xa6", R"(\xe2\x81\xa6)"},          // U+2066
    {"\xe2\x81\xa9", R"(\xe2\x81\xa9)"},          // U+2069
    {"\xf3\xa0\x81\x81", R"(\xf3\xa0\x81\x81)"},  // U+E0041, a tag
    {"\xff", R"(\xff)"},
    {"\xc3", R"(\xc3)"},                          // cut short
    {"\xc0\x8a", R"(\xc0\x8a)"},                  // an overlong line feed
    {"\xed\xa0\x80", R"(\xed\xa0\x80)"},          // a surrogate
    {"\xf4\x90\x80\x80", R"(\xf4\x90\x80\x80)"},  // beyond U+10FFFF
};

TEST(PrintableTest, EscapesEveryByteThatIsNotVisibleUtf8) {
  for (const auto& [bytes, shown] : hostile) {
    EXPECT_FALSE(is_printable(bytes)) << shown;
    EXPECT_EQ(printable("a" + bytes + "b"), "a" + shown + "b");
  }
}

TEST(PrintableTest, LeavesVisibleTextAsItIs) {
  for (const std::string text : {"", "orders/42", R"(a\b "c" 'd')", "\xc3\xbc \xe4\xb8\xad",
                                 "\xf0\x9f\x94\x92", "\xc2\xa0"}) {
    EXPECT_TRUE(is_printable(text));
    EXPECT_EQ(printable(text), text);
  }
}

TEST(PrintableTest, IsCutBetweenTwoCharacters) {
  EXPECT_EQ(beginning_of("abc", 3), "abc");
  EXPECT_EQ(beginning_of("abc", 2), "ab");
  EXPECT_EQ(beginning_of("a\xc3\xbcz", 2), "a");
  EXPECT_EQ(beginning_of("a\xc3\xbcz", 3), "a\xc3\xbc");
  EXPECT_EQ(beginning_of("\xf0\x9f\x94\x92", 3), "");
  EXPECT_EQ(beginning_of("\xf0\x9f\x94\x92", 0), "");
  const std::string none(10, '\x80');
  EXPECT_EQ(beginning_of(none, 8), none.substr(0, 8)) << "it is no UTF-8";
}

TEST(PrintableTest, ChangesNothingTheSecondTime) {
  for (const std::string& name : test::hostile_names()) {
    const std::string once = printable(name);
    EXPECT_TRUE(is_printable(once));
    EXPECT_EQ(printable(once), once);
  }
}

TEST(PrintableTest, EveryFailureIsPrintable) {
  for (const auto& [bytes, shown] : hostile) {
    Failure failure(Errc::protocol, "server: " + bytes);
    EXPECT_EQ(failure.text, "server: " + shown);
    failure.text += "; " + bytes;
    EXPECT_THAT(failure.words(), HasSubstr("; " + shown));
    EXPECT_THAT(Error(failure).what(), HasSubstr("server: " + shown + "; " + shown));
    EXPECT_EQ(words_of(Error(failure)), "server: " + shown + "; " + shown);
  }
}

TEST(PrintableTest, WhatABackendSaysIsPrintable) {
  for (const auto& [bytes, shown] : hostile) {
    Failure why(Errc::unavailable, "store");
    why.text += bytes;
    Check check;
    check.trouble(why);
    EXPECT_EQ(check.trouble()->text, "store" + shown);
    check.failed(why);
    EXPECT_EQ(check.failure().text, "store" + shown);

    Acquisition acquisition({.attempt = {1, 2, 3}, .name = "a"});
    acquisition.queued(Holder{.label = bytes});
    EXPECT_EQ(acquisition.holder()->label, shown);
    acquisition.busy(Holder{.label = "till" + bytes});
    EXPECT_EQ(acquisition.holder()->label, "till" + shown);

    Inspection inspection("a");
    inspection.answered(Holder{.label = bytes});
    EXPECT_EQ(inspection.holder()->label, shown);

    QueueLook look("a", 10);
    look.answered({.holders = {{.label = bytes}}, .waiters = {{.label = bytes}}});
    EXPECT_EQ(look.queue().holders.at(0).label, shown);
    EXPECT_EQ(look.queue().waiters.at(0).label, shown);
  }
}

/// Notes what it is told to have failed.
class Failures final : public Observer {
 public:
  void failed(const Event& /*event*/, const Failure& why) noexcept override { note(why); }
  void lost(const Event& /*event*/, const Failure& why) noexcept override {
    note(why);
    losses.fetch_add(1);
  }
  std::atomic<std::size_t> losses{0};
  [[nodiscard]] std::vector<std::string> texts() {
    const std::lock_guard lock(mutex_);
    return texts_;
  }

 private:
  void note(const Failure& why) {
    const std::lock_guard lock(mutex_);
    texts_.push_back(why.text);
  }
  std::mutex mutex_;
  std::vector<std::string> texts_;
};

TEST(PrintableTest, NoObserverIsToldTheBytesOfAName) {
  using namespace std::chrono_literals;
  const auto failures = std::make_shared<Failures>();
  memory::Server server;
  Client client(server.backend(), {.observer = failures});
  std::vector<Lock> locks;
  for (const std::string& name : test::hostile_names()) {
    locks.push_back(client.make_lock(name, {.lease = 1s}));
    locks.back().lock();
  }
  server.set_reachable(false);
  ASSERT_TRUE(test::eventually([&] { return failures->losses == locks.size(); }));
  const std::vector<std::string> texts = failures->texts();
  EXPECT_GT(texts.size(), locks.size()) << "renewals have failed before";
  for (const std::string& text : texts) EXPECT_TRUE(is_printable(text)) << text;
}

TEST(PrintableTest, NoCallShowsTheBytesOfAName) {
  using namespace std::chrono_literals;
  memory::Server server;
  Client mine(server.backend());
  Client other(server.backend());
  for (const std::string& name : test::hostile_names()) {
    Lock held = other.make_lock(name);
    const std::scoped_lock hold(held);
    std::error_code ec;
    Lock lock = mine.make_lock(name);
    const Guard guard(lock, {.wait = 0ms}, ec);
    EXPECT_EQ(ec, Errc::timeout);
    EXPECT_TRUE(is_printable(guard.error_text())) << guard.error_text();
    const Guards guards = mortise::lock_all({lock}, {.wait = 0ms}, ec);
    EXPECT_TRUE(is_printable(guards.error_text())) << guards.error_text();
    try {
      lock.unlock();
      ADD_FAILURE() << "it is not held";
    } catch (const Error& error) {
      EXPECT_TRUE(is_printable(error.what())) << error.what();
    }
  }
  try {
    static_cast<void>(mine.make_lock(std::string(600, '\n')));
    ADD_FAILURE() << "accepted";
  } catch (const Error& error) {
    EXPECT_TRUE(is_printable(error.what())) << error.what();
  }
}

}  // namespace
}  // namespace mortise::base
