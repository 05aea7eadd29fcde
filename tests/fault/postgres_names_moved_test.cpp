// SPDX-License-Identifier: MIT
// Goal: a cut connection costs no hold although the first host is dead, and a name that moves to
// another server is followed although the old one goes on. Method: a child process whose hosts are
// written by the test, and addresses of loopback, of which one drops what comes.
#include "fault/postgres_fixture.hpp"
#include "model/process.hpp"
#include "support/contract_process.hpp"
#include "support/private_names.hpp"

#include <atomic>
#include <thread>

namespace mortise::fault {
namespace {

constexpr const char* first = "127.0.0.1:";
constexpr const char* moving = "postgres.moving.example";

class PostgresHostNames : public PostgresTest {
 protected:
  [[nodiscard]] std::string url_with(const std::string& hosts) {
    std::string url = server().url();
    const std::string old = first + std::to_string(server().port());
    return url.replace(url.find(old), old.size(), hosts);
  }
  [[nodiscard]] std::string port() { return ':' + std::to_string(server().port()); }
};

// Promise: L8
TEST_F(PostgresHostNames, ACutConnectionCostsNoHoldWhereTheFirstHostIsDead) {
  const std::string url = url_with("127.0.0.2" + port() + ',' + first + port().substr(1));
  struct Took {
    std::atomic<std::int64_t> again{0};
  };
  const contract::Shared<Took> took;
  model::Process child = model::Process::fork_child([&] {
    if (!test::keep_silent_at("127.0.0.2", server().port(), false)) return 1;
    Client mine(url);
    LockOptions brief;
    brief.lease = 5s;
    Lock lock = mine.make_lock("a", brief);
    lock.lock();
    test::PostgresTalk talk = server().talk();
    took->again = test::best_of(5, 1s, [&] {
                    talk.value("select count(pg_terminate_backend(pid)) from (" +
                               std::string(sessions) + ") as ours");
                    return duration_of([&] { mine.check(10s); });
                  }).count();
    return lock.valid_for() > 0s ? 0 : 2;
  });
  const auto exit = child.wait_for(60s);
  ASSERT_TRUE(exit) << "it hangs";
  EXPECT_EQ(exit->code, 0) << "1: no dead address; 2: the hold is lost";
  EXPECT_LT(std::chrono::nanoseconds(took->again), 1s) << "the good host is not remembered";
}

TEST_F(PostgresHostNames, AMovedOneIsFollowedAlthoughTheOldServerGoesOn) {
  static_cast<void>(server({.settings = {"listen_addresses = '127.0.0.1,127.0.0.3'"}}));
  const std::string url = url_with(moving + port());
  const model::TemporaryDirectory directory;
  model::Process child = model::Process::fork_child([&] {
    const auto leads_to = [](const char* where) {
      return std::string(where) + ' ' + moving + '\n';
    };
    test::PrivateHosts hosts(directory.file("hosts"), leads_to("127.0.0.1"));
    if (!hosts.works()) return test::no_name_spaces;
    test::PostgresTalk talk = server().talk();
    const auto clock = std::make_shared<ManualClock>();
    ClientOptions with_clock;
    with_clock.clock = clock;
    Client mine(url, with_clock);
    std::jthread ticks([&](const std::stop_token& stop) {
      while (!stop.stop_requested()) {
        clock->advance(1ms);
        std::this_thread::sleep_for(1ms);
      }
    });
    const std::string count = "select count(*) from (" + std::string(sessions) + ") as ours";
    mine.check(10s);
    if (talk.value(count) == "0") return 1;
    for (int i = 0; i < 60; ++i) {
      clock->advance(2s);
      std::this_thread::sleep_for(2ms);
    }
    if (talk.value(count) == "0") return 2;
    hosts.write(leads_to("127.0.0.3"));
    // Each question has two seconds of this clock for its answer, and a thread of this machine asks
    // it; if that thread is late, the next question is as good.
    const bool left = eventually([&] {
      std::this_thread::sleep_for(30ms);
      clock->advance(2s);
      return talk.value(count) == "0";
    });
    if (!left) return 3;
    mine.check(10s);
    return talk.value(count) == "0" ? 4 : 0;
  });
  const auto exit = child.wait_for(60s);
  ASSERT_TRUE(exit) << "it hangs";
  if (exit->code == test::no_name_spaces) GTEST_SKIP() << "name spaces of its own need rights";
  EXPECT_EQ(exit->code, 0);
}

}  // namespace
}  // namespace mortise::fault
