// SPDX-License-Identifier: MIT
// Goal: keys, fingerprints, results and reasons are any bytes within their limits, none is taken
// for another, and what is beyond the limits is refused in words (O1, O3).
#include "support/contract_keys.hpp"

#include <string>
#include <vector>

namespace mortise::contract {
namespace {

MORTISE_TEST(Keys, AResultIsAnyBytes, Quality::once) {
  Client one = client();
  Client other = client();
  std::string every;
  for (int byte = 0; byte < 256; ++byte) every += static_cast<char>(byte);
  std::string longest;
  while (longest.size() < longest_outcome) longest += every;
  const std::vector<std::string> results{"",
                                         "x",
                                         every,
                                         std::string(1, '\0'),
                                         std::string("a\0b", 3),
                                         std::string("a\0", 2),
                                         "\r\n",
                                         "NULL",
                                         "\\x00",
                                         "'",
                                         "%s",
                                         std::string(longest_outcome, '\xff'),
                                         longest,
                                         longest.substr(1),
                                         every + every + "\n"};
  for (std::size_t i = 0; i < results.size(); ++i) {
    const std::string key = "key " + std::to_string(i);
    expect_success(one.make_once(key).run([&] { return results[i]; }), results[i]);
    expect_success(other.make_once(key).run(never_run()), results[i]);
    expect_success(other.make_once(key).look(), results[i]);
    const std::string failing = "failing " + std::to_string(i);
    expect_failure(one.make_once(failing).run([&](Run& run) { run.fail(results[i]); }), results[i]);
    expect_failure(other.make_once(failing, {.repeat = Repeat::never}).run(never_run()),
                   results[i]);
  }
}

MORTISE_TEST(Keys, AResultThatIsTooLongIsRefusedInWords, Quality::once) {
  Client one = client();
  Client other = client();
  const std::string too_long(longest_outcome + 1, 'x');
  Run run = one.make_once("key").begin();
  for (const bool success : {true, false}) {
    std::error_code ec;
    const Outcome refused = success ? run.succeed(too_long, ec) : run.fail(too_long, ec);
    EXPECT_EQ(refused.state(), KeyState::absent);
    EXPECT_EQ(ec, Errc::misconfigured);
    EXPECT_NE(run.error_text().find("65537"), std::string::npos) << run.error_text();
    EXPECT_LT(run.error_text().size(), 200U);
    EXPECT_THROW(run.succeed(too_long), Error);
    ASSERT_TRUE(run) << "a shorter one could not be recorded any more";
    EXPECT_TRUE(other.make_once("key").look().running());
  }
  expect_success(run.succeed(too_long.substr(1)), too_long.substr(1));
  EXPECT_FALSE(run);
  EXPECT_FALSE(run.error());

  std::error_code ec;
  const Outcome outcome = one.make_once("body").run([&] { return too_long; }, ec);
  EXPECT_EQ(ec, Errc::misconfigured);
  EXPECT_EQ(outcome.state(), KeyState::failed);
  EXPECT_NE(other.make_once("body").look().reason().find("65537"), std::string::npos);
}

MORTISE_TEST(Keys, AreAsHostileAsNames, Quality::once) {
  using namespace std::string_literals;
  Client one = client();
  Client other = client();
  std::vector<std::string> keys{"orders/42",
                                "orders/42/",
                                "/orders/42",
                                "orders//42",
                                "orders/./42",
                                "orders\\42",
                                "ORDERS/42",
                                "orders/42 ",
                                " orders/42",
                                "orders/42\n",
                                "orders/42\0"s,
                                "\0orders/42"s,
                                "orders%2F42",
                                "orders%2f42",
                                "orders%252F42",
                                "orders:42",
                                ".",
                                "..",
                                "%",
                                "%00",
                                "*",
                                "?",
                                "{a}",
                                "{b}",
                                "a",
                                "a.lock",
                                "a.once",
                                "a:once",
                                "'",
                                "\"",
                                "$(a)",
                                "a;b",
                                "\xff",
                                "\xff\xff",
                                "\xc0\x80",
                                std::string(512, 'x'),
                                std::string(511, 'x'),
                                std::string(511, 'x') + "y",
                                std::string(512, '\0'),
                                std::string(512, '\xff')};
  for (int byte = 0; byte < 256; ++byte)
    keys.push_back("b" + std::string(1, static_cast<char>(byte)));
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const std::string result = std::to_string(i);
    const Outcome outcome = one.make_once(keys[i]).run([&] { return result; });
    EXPECT_FALSE(outcome.replayed()) << ::testing::PrintToString(keys[i]) << " is another's, too";
  }
  for (std::size_t i = 0; i < keys.size(); ++i) {
    EXPECT_EQ(other.make_once(keys[i]).look().result(), std::to_string(i))
        << ::testing::PrintToString(keys[i]);
    EXPECT_EQ(other.make_once(keys[i]).key(), keys[i]);
  }
}

MORTISE_TEST(Keys, FingerprintsAreAnyBytes, Quality::once) {
  using namespace std::string_literals;
  Client one = client();
  Client other = client();
  const std::vector<std::string> prints{"",
                                        "a",
                                        "a\0"s,
                                        "\0"s,
                                        "A",
                                        "a ",
                                        "\xff",
                                        "%",
                                        "\r\n",
                                        std::string(128, '\0'),
                                        std::string(128, '\xff'),
                                        std::string(127, '\xff')};
  for (std::size_t i = 0; i < prints.size(); ++i) {
    const std::string key = std::to_string(i);
    expect_success(one.make_once(key, {.fingerprint = prints[i]}).run([] { return "done"; }),
                   "done");
    for (std::size_t k = 0; k < prints.size(); ++k) {
      std::error_code ec;
      const Outcome told = other.make_once(key, {.fingerprint = prints[k]}).run(never_run(), ec);
      EXPECT_EQ(ec, k == i ? std::error_code() : make_error_code(Errc::mismatch)) << i << ' ' << k;
      EXPECT_EQ(told.result(), k == i ? "done" : "");
    }
  }
}

MORTISE_TEST(Keys, OptionsThatCannotBeAreRefusedInWords, Quality::once) {
  Client one = client();
  const auto refused = [&](const std::string& key, const OnceOptions& options) -> std::string {
    try {
      static_cast<void>(one.make_once(key, options));
    } catch (const Error& error) {
      EXPECT_EQ(error.errc(), Errc::misconfigured);
      return error.what();
    }
    ADD_FAILURE() << "it was accepted";
    return {};
  };
  const auto expect_words = [](const std::string& text, const std::string& words) {
    EXPECT_NE(text.find(words), std::string::npos) << text;
    EXPECT_LT(text.size(), 300U);
  };
  expect_words(refused("", {}), "key");
  expect_words(refused(std::string(513, 'x'), {}), "513");
  expect_words(refused("key", {.keep = 999ms}), "OnceOptions::keep");
  expect_words(refused("key", {.keep = std::chrono::milliseconds::max()}), "OnceOptions::keep");
  expect_words(refused("key", {.fingerprint = std::string(129, 'f')}), "OnceOptions::fingerprint");
  expect_words(refused("key", {.lease = 99ms}), "OnceOptions::lease");
  expect_words(refused("key", {.label = std::string(129, 'l')}), "OnceOptions::label");
  expect_words(refused("key", {.label = "a\nb"}), "OnceOptions::label");
  static_cast<void>(one.make_once("key", {.keep = 24h * 3650, .wait = -1s}));
}

MORTISE_TEST(Keys, AreRefusedWhereNothingCanBeRemembered, Quality::no_once) {
  Client one = client();
  try {
    static_cast<void>(one.make_once("key"));
    ADD_FAILURE() << "it was accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.errc(), Errc::unsupported);
    EXPECT_NE(std::string(error.what()).find("remember"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace mortise::contract
