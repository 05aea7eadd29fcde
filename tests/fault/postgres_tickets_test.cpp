// SPDX-License-Identifier: MIT
// Goal: where first come is first served, nobody passes whoever is first, and a waiter that has
// died keeps nobody waiting for longer than it takes to know that. Method: a waiter behind a proxy
// that lets nothing through, so that it stands in the queue and cannot come.
#include "fault/postgres_fixture.hpp"
#include "postgres/postgres_backend.hpp"
#include "support/one_shot_host.hpp"

#include <future>
#include <memory>
#include <optional>
#include <string>
#include <system_error>

namespace mortise::fault {
namespace {

constexpr const char* fair = "?mortise.fair=yes";
/// Without a word from a waiter for so long (sql/take.sql), it counts as dead.
constexpr std::chrono::seconds silence{3};

class PostgresTickets : public PostgresTest {
 protected:
  void SetUp() override {
    PostgresTest::SetUp();
    if (IsSkipped()) return;
    proxy_.emplace(server().port(), test::ProxyOptions{.protocol = test::ProxyProtocol::postgres});
  }
  [[nodiscard]] Client fair_client() { return Client(server().url() + fair); }
  [[nodiscard]] Client distant_client() {
    return Client(PostgresServer::url_by(proxy().port()) + fair);
  }
  [[nodiscard]] Proxy& proxy() { return *proxy_; }
  [[nodiscard]] bool come_to_have_tickets(int count) {
    return eventually(
        [&] { return see("select count(*) from mortise.ticket") == std::to_string(count); });
  }

 private:
  std::optional<Proxy> proxy_;
};

// Promise: L5
TEST_F(PostgresTickets, WhoIsFirstIsNotPassedByANewcomer) {
  Client mine = fair_client();
  Client newcomer = fair_client();
  newcomer.check(patience);
  Lock lock = mine.make_lock("a");
  lock.lock();
  Party first(distant_client(), "a");
  auto served = first.start();
  ASSERT_TRUE(come_to_have_tickets(1));
  ASSERT_GT(proxy().freeze(true), 0U);
  EXPECT_EQ(lock.release(), Released::released);
  // Free, and promised to somebody whom nobody can tell at the moment.
  EXPECT_FALSE(newcomer.make_lock("a").try_lock());
  EXPECT_FALSE(lock.try_lock()) << "who had it last is a newcomer, too";
  EXPECT_FALSE(is_held("a"));
  proxy().freeze(false);
  ASSERT_TRUE(comes(served, silence));
  EXPECT_EQ(first.release(), Released::released);
  EXPECT_TRUE(come_to_have_tickets(0));
  EXPECT_TRUE(newcomer.make_lock("a").try_lock());
}

// The lease of the run is over when the server can be reached again. The request is repeated, and
// the answer to it is that another client comes first: it has not looked at the run. Promise: O3
TEST_F(PostgresTickets, ARunThatNoClientKnowsOfIsUndoneAlthoughAnotherClientComesFirst) {
  Client mine = distant_client();
  Once key = mine.make_once("a", {.repeat = Repeat::always, .wait = 5s, .lease = 20s});
  key.begin().succeed("first");
  proxy().refuse(true);
  proxy().lose_reply(1);
  auto begun = std::async(std::launch::async, [&key] {
    std::error_code error;
    return static_cast<bool>(key.begin(error));
  });
  ASSERT_TRUE(eventually([&] { return see("select state from mortise.once") == "P"; }));
  PostgresTalk other = server().user();
  EXPECT_THAT(other.value("select encode(mortise.begin_key('a', decode('" + std::string(48, '9') +
                          "', 'hex'), 1000000, '', 1 + 2, '', 2, 1000000, 'infinity'), 'escape')"),
              ::testing::StartsWith("Q"));
  server().talk().run(
      "update mortise.run_ticket set contact = clock_timestamp() + interval '1 hour';"
      "update mortise.run set expires_at = clock_timestamp()");
  proxy().lose_reply(0);
  proxy().refuse(false);
  EXPECT_FALSE(begun.get());
  EXPECT_TRUE(eventually([&] { return see("select state from mortise.once") == "Y"; }))
      << "the outcome that stood before is lost";
}

// The same of a caller that has given up: its cancel is repeated before the first one is answered.
// The second answer comes when the attempt is decided, but its request left before that.
// Promise: O3
TEST_F(PostgresTickets, ARunThatNoClientKnowsOfIsUndoneAlthoughItsCancelIsRepeated) {
  Client first = fair_client();
  first.make_once("a", {.repeat = Repeat::always}).begin().succeed("first");
  postgres::PostgresBackend backend(
      postgres::Settings::parse(PostgresServer::url_by(proxy().port()) + fair));
  test::OneShotHost host(Clock::real());
  backend.start(host);
  const auto check = std::make_shared<Check>();
  backend.check(check);
  host.run(*check, 10s);
  ASSERT_TRUE(check->done());
  const auto memory = std::make_shared<Memory>();
  memory->repeat = Repeat::always;
  const auto operation = std::make_shared<Acquisition>(Acquisition::Request{
      .attempt = {1, 2, 3}, .name = "a", .mode = Mode::once, .lease = 20s, .memory = memory});
  proxy().refuse(true);
  proxy().lose_reply(1);
  backend.acquire(operation);
  for (int i = 0; i < 500 && !operation->in_trouble(); ++i) host.run(*operation, 10ms);
  ASSERT_TRUE(operation->in_trouble());
  EXPECT_EQ(see("select state from mortise.once"), "P");
  server().talk().run("update mortise.run set expires_at = clock_timestamp()");
  backend.cancel(operation);
  proxy().lose_reply(0);
  proxy().refuse(false);
  const std::uint64_t before = proxy().commands();
  for (int i = 0; i < 500 && proxy().commands() == before; ++i) host.run(*operation, 1ms);
  backend.cancel(operation);
  host.run(*operation, 10s);
  EXPECT_TRUE(operation->done());
  const auto never_done = std::make_shared<Check>();
  EXPECT_TRUE(eventually([&] {
    host.run(*never_done, 20ms);
    return see("select state from mortise.once") == "Y";
  })) << "the outcome that stood before is lost";
  backend.stop();
}

// The waiter was told of a lock that it does not want any more: that must not be the end of it.
TEST_F(PostgresTickets, WhoIsFirstAndLeavesWhenHeWasToldHasTheNextTold) {
  Client mine = fair_client();
  Lock lock = mine.make_lock("a");
  lock.lock();
  const auto attempt = [](char digit) { return "decode('" + std::string(48, digit) + "', 'hex')"; };
  PostgresTalk first = server().user();
  PostgresTalk second = server().user();
  second.run("listen mortise_" + std::string(32, '2'));
  for (const char digit : {'1', '2'}) {
    EXPECT_THAT(first.value("select mortise.take('a', " + attempt(digit) +
                            ", 1000000, '', 1 + 2, '', 'infinity')"),
                ::testing::StartsWith("Q "));
  }
  EXPECT_EQ(lock.release(), Released::released);
  EXPECT_FALSE(second.notification(100ms)) << "it was told before its turn";
  EXPECT_EQ(first.value("select mortise.cancel('a', " + attempt('1') + ", false)"), "W");
  first.run("select mortise.wake('{a}')");
  EXPECT_EQ(second.notification(patience), "61 " + std::string(48, '2'));
}

TEST_F(PostgresTickets, WhoHasDiedIsPassedOver) {
  Client mine = fair_client();
  Lock lock = mine.make_lock("a");
  lock.lock();
  Party dead(distant_client(), "a");
  auto never_served = dead.start();
  ASSERT_TRUE(come_to_have_tickets(1));
  Party second(fair_client(), "a");
  auto served = second.start();
  ASSERT_TRUE(come_to_have_tickets(2));
  proxy().refuse(true);
  ASSERT_GT(proxy().freeze(true), 0U);
  EXPECT_EQ(lock.release(), Released::released);
  ASSERT_TRUE(comes(served, silence + 2s)) << "a dead waiter keeps the name";
  EXPECT_FALSE(comes_within(never_served, 0s));
  EXPECT_EQ(second.release(), Released::released);
}

}  // namespace
}  // namespace mortise::fault
