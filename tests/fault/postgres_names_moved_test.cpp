// SPDX-License-Identifier: MIT
// Goal: a cut connection costs no hold although the first host is dead, and a name that moves to
// another server is followed although the old one goes on. Method: a child process whose hosts are
// written by the test, and addresses of loopback, of which one drops what comes.
#include "fault/moved_name.hpp"
#include "fault/postgres_fixture.hpp"
#include "model/process.hpp"
#include "support/contract_process.hpp"
#include "support/private_names.hpp"

#include <atomic>

namespace mortise::fault {
namespace {

constexpr const char* first = "127.0.0.1:";

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
                    return own_duration_of([&] { mine.check(10s); });
                  }).count();
    return lock.valid_for() > 0s ? 0 : 2;
  });
  const auto exit = child.wait_for(60s);
  ASSERT_TRUE(exit) << "it hangs";
  EXPECT_EQ(exit->code, 0) << "1: no dead address; 2: the hold is lost";
  EXPECT_LT(std::chrono::nanoseconds(took->again), 1s) << "the good host is not remembered";
}

TEST_F(PostgresHostNames, AMovedOneIsFollowedAlthoughTheOldServerGoesOn) {
  const std::string all =
      std::string("127.0.0.1,") + MovedName::old_address + ',' + MovedName::new_address;
  const std::uint16_t number = server({.settings = {"listen_addresses = '" + all + "'"}}).port();
  expect_to_follow(url_with(MovedName::name + port()), number);
}

}  // namespace
}  // namespace mortise::fault
