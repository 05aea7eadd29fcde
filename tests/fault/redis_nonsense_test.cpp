// SPDX-License-Identifier: MIT
// Goal: what frees a name, is not executed, and is answered with what makes no sense, is said again
// by the next connection: a caller's own cancel, its release, and what the backend itself gives
// back. Method: a proxy has the server execute another command in its place.
#include "fault/redis_proxied.hpp"
#include "fault/redis_script.hpp"

namespace mortise::fault {
namespace {

const LockOptions long_lease{.lease = 20s};
const std::string ping = "*1\r\n$4\r\nPING\r\n";

class RedisNonsense : public ProxiedRedis<RedisScriptTest> {
 protected:
  /// @return the last `ready_client()`, as the scripts name it: by what it has held.
  [[nodiscard]] std::string its_id() { return hold_of("first").attempt.substr(0, 16); }
  /// Far sooner than by the lease.
  void expect_freed() {
    EXPECT_TRUE(eventually([&] { return !is_held("a"); }, 4s)) << "held for nobody";
    EXPECT_FALSE(proxy().replacement_is_ahead()) << "nothing was answered with nonsense";
  }
};

// The server has granted it, and the answer is lost with its connection.
// Promise: S5
TEST_F(RedisNonsense, AsTheAnswerToACallersCancelHasItCancelledAgain) {
  Client mine = ready_client();
  Lock lock = mine.make_lock("a", long_lease);
  proxy().delay(300ms, 300ms, Proxy::Direction::to_client);
  Worker worker;
  std::error_code error;
  auto tried = worker.start([&] { return lock.try_lock_for(400ms, error); });
  ASSERT_TRUE(eventually([&] { return is_held("a"); }));
  proxy().freeze(true, Proxy::Connections::commands);
  proxy().delay(0ns, 0ns);
  proxy().replace_request(ping);
  ASSERT_TRUE(comes(tried));
  EXPECT_FALSE(tried.get());
  expect_freed();
}

// Promise: S5
TEST_F(RedisNonsense, AsTheAnswerToAReleaseHasItReleasedAgain) {
  Client mine = ready_client();
  for (const std::string& instead : {ping, std::string("*2\r\n$4\r\nECHO\r\n$1\r\nZ\r\n")}) {
    Lock lock = mine.make_lock("a", long_lease);
    ASSERT_TRUE(lock.try_lock_for(patience));
    proxy().replace_request(instead);
    std::error_code error;
    EXPECT_EQ(lock.release(error), Released::released);
    EXPECT_FALSE(error) << error.message();
    expect_freed();
  }
}

// A grant for nobody is pushed, as where its caller has gone: no library is behind its release.
// Promise: S5
TEST_F(RedisNonsense, AsTheAnswerToWhatIsGivenBackHasItGivenBackAgain) {
  Client mine = ready_client();
  const std::string orphan = its_id() + "999";
  const Ask tries{.waits = false, .lease = 20'000};
  ASSERT_EQ(word_of(call(redis::scripts::acquire, asking(orphan, tries, 'w'))), "granted");
  proxy().replace_request(ping);
  const std::string push = "G " + orphan + ' ' + std::to_string(number()) + " 1 20000 " + key("a");
  ASSERT_EQ(server().talk().command({"PUBLISH", "mortise:inbox:" + its_id(), push}).integer, 1);
  expect_freed();
}

}  // namespace
}  // namespace mortise::fault
