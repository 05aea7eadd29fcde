// SPDX-License-Identifier: MIT
// Goal: who waits hears each server that says that the lock may be free, also one that had nothing
// to do with its holder: that one may have another majority by now, which has told somebody else.
// Method: the backend alone, which nobody has ask again, and votes that the test gives by hand.
#include "fault/redlock_fixture.hpp"
#include "redlock/redlock_backend.hpp"
#include "remote/one_shot.hpp"

#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>

namespace mortise::fault {
namespace {

class RedlockWords : public RedlockTest {
 protected:
  std::string call(std::size_t server, const redis::Script& script,
                   std::initializer_list<std::string_view> arguments) {
    std::vector<std::string> words{"EVAL", std::string(script.text), "1", key("a")};
    words.insert(words.end(), arguments.begin(), arguments.end());
    return servers()[server].talk().expect_ok(words).text;
  }
  void vote(std::size_t server, std::string_view attempt) {
    ASSERT_TRUE(call(server, redlock::scripts::acquire, {attempt, "q000", "1", "30000", "", "7"})
                    .starts_with("G "));
  }
  /// Nobody is told.
  void lose_votes(std::size_t server) { servers()[server].talk().expect_ok({"DEL", key("a")}); }
  [[nodiscard]] bool is_listed(std::size_t server) { return !field(server, "a", "i").empty(); }
};

// Promise: L2
TEST_F(RedlockWords, OfAServerThatTheHolderHasNotAreHeardAsWell) {
  static_cast<void>(servers(3));
  for (const std::size_t i : {0U, 1U}) ASSERT_NO_FATAL_FAILURE(vote(i, "holder"));
  ASSERT_NO_FATAL_FAILURE(vote(2, "other"));
  remote::OneShotHost host;
  redlock::RedlockBackend backend(redlock::Settings::parse(servers().url()));
  backend.start(host);
  const auto asked = std::make_shared<Acquisition>(Acquisition::Request{
      .attempt = {1, 2, 3}, .name = "a", .lease = 30s, .label = "", .wait = true});
  backend.acquire(asked);
  EXPECT_TRUE(eventually([&] {
    host.run(*asked, 10ms);
    return is_listed(0) && is_listed(1) && is_listed(2);
  }));
  host.run(*asked, 100ms);  // what it asked by then is answered
  for (const std::size_t i : {0U, 1U}) lose_votes(i);
  EXPECT_EQ(call(2, redlock::scripts::release, {"other ", "q01", "1"}), "F");
  host.run(*asked, patience);
  EXPECT_NE(asked->grant().number, 0U) << words("a");
  backend.stop();
}

}  // namespace
}  // namespace mortise::fault
