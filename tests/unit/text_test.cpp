// SPDX-License-Identifier: MIT
// Goal: what users write to their logs has a text form: each enumerator its own name, a token its
// digits whatever the stream's format, the library its version. Method: all values, one by one.
#include <mortise/capabilities.hpp>
#include <mortise/duration.hpp>
#include <mortise/error.hpp>
#include <mortise/holder.hpp>
#include <mortise/mode.hpp>
#include <mortise/record.hpp>
#include <mortise/token.hpp>
#include <mortise/version.hpp>

#include <gtest/gtest.h>

#include <iomanip>
#include <limits>
#include <locale>
#include <set>
#include <sstream>
#include <string>
#include <unordered_set>

namespace mortise {
namespace {

using namespace std::chrono_literals;

template <class Value>
std::string streamed(const Value& value) {
  std::ostringstream out;
  out << value;
  return out.str();
}

/// The texts of `first` to `last`, which are all different; and the value behind them has none.
template <class Enum>
std::set<std::string> texts_of(Enum first, Enum last) {
  std::set<std::string> texts;
  int count = 0;
  for (int i = static_cast<int>(first); i <= static_cast<int>(last); ++i, ++count) {
    const auto value = static_cast<Enum>(i);
    texts.emplace(to_string(value));
    EXPECT_EQ(streamed(value), to_string(value));
  }
  EXPECT_EQ(texts.size(), static_cast<std::size_t>(count));
  EXPECT_EQ(texts.count("unknown value"), 0U);
  EXPECT_EQ(to_string(static_cast<Enum>(static_cast<int>(last) + 1)), "unknown value");
  return texts;
}

TEST(TextTest, OfAnEnumeratorIsItsName) {
  using Texts = std::set<std::string>;
  EXPECT_EQ(texts_of(Support::no, Support::unknown), (Texts{"no", "unknown", "yes"}));
  EXPECT_EQ(texts_of(Released::released, Released::unknown),
            (Texts{"released", "unknown", "was_lost"}));
  EXPECT_EQ(texts_of(Mode::exclusive, Mode::permit),
            (Texts{"exclusive", "once", "permit", "shared"}));
  EXPECT_EQ(texts_of(KeyState::absent, KeyState::failed),
            (Texts{"absent", "failed", "pending", "succeeded"}));
  EXPECT_EQ(texts_of(Repeat::after_failure, Repeat::always),
            (Texts{"after_failure", "always", "never"}));
  EXPECT_EQ(texts_of(Errc::timeout, Errc::mismatch).count("in_doubt"), 1U);
}

TEST(TextTest, OfATokenIsItsDigitsWhateverTheStream) {
  const Token token((std::uint64_t{1} << 53) + 1);
  EXPECT_EQ(to_string(token), "9007199254740993");
  std::ostringstream out;
  struct Grouped : std::numpunct<char> {
    [[nodiscard]] std::string do_grouping() const override { return "\3"; }
  };
  out.imbue(std::locale(std::locale::classic(), new Grouped));
  out << std::hex << token << '|' << std::setw(3) << Token();
  EXPECT_EQ(out.str(), "9007199254740993|  0");
}

TEST(TextTest, TokensAreHashed) {
  std::unordered_set<Token> seen{Token(1), Token(2), Token(1)};
  EXPECT_EQ(seen.size(), 2U);
  EXPECT_EQ(seen.count(Token(2)), 1U);
}

TEST(TextTest, TheVersionIsThatOfTheProject) {
  EXPECT_EQ(version(), MORTISE_VERSION);
  EXPECT_EQ(version(), MORTISE_PROJECT_VERSION) << "CMake has it from the same header";
}

TEST(DurationTest, AnOptionTakesEachDurationThatFits) {
  TimeOption<std::chrono::milliseconds> time = 2s;
  EXPECT_EQ(time, 2000ms);
  time = std::chrono::minutes(1);
  EXPECT_EQ(time, 60s);
  time = time * 2;
  EXPECT_EQ(time.count(), 120'000);
  const TimeOption<std::chrono::nanoseconds> finer = time;
  EXPECT_EQ(finer, 2min);
  static_assert(!std::is_convertible_v<std::chrono::microseconds, decltype(time)>,
                "it would lose a part");
  static_assert(!std::is_default_constructible_v<decltype(time)>, "braces are the other overload");
}

TEST(DurationTest, AWaitIsRoundedUpAndNeverOverflows) {
  using Tenths = std::chrono::duration<std::int64_t, std::ratio<1, 10'000'000'000>>;
  EXPECT_EQ(wait_of(Tenths(1)), 1ns);
  EXPECT_EQ(wait_of(-1s), 0ns);
  EXPECT_EQ(wait_of(std::chrono::hours::max()), forever);
  EXPECT_EQ(wait_of(std::chrono::duration<double>(std::numeric_limits<double>::quiet_NaN())), 0ns);
  EXPECT_EQ(wait_of(0.5s), 500ms);
}

}  // namespace
}  // namespace mortise
