// SPDX-License-Identifier: MIT
// Goal: one server of a quorum that is known by a host name is followed when that name moves,
// although the old server goes on. Method: a child process whose hosts are written by the test.
#include "fault/redlock_fixture.hpp"
#include "model/process.hpp"
#include "support/private_names.hpp"

#include <algorithm>

namespace mortise::fault {
namespace {

constexpr const char* node_name = "redlock.moving.example";

class RedlockHostNames : public RedlockTest {
 protected:
  /// @return whether the library is connected to that address of the first server.
  [[nodiscard]] static bool is_connected_to(RedisTalk& talk, const std::string& address) {
    const auto all = talk.clients();
    return std::any_of(all.begin(), all.end(), [&](const auto& each) {
      return each.at("name") == "mortise" && each.at("laddr").starts_with(address + ':');
    });
  }
};

TEST_F(RedlockHostNames, AMovedOneIsFollowedAlthoughTheOldServerGoesOn) {
  RedisServerOptions options;
  options.lines = {"bind 127.0.0.1 127.0.0.3"};
  std::string url = servers(3, options).url();
  const std::string number = "127.0.0.1";
  url.replace(url.find(number), number.size(), node_name);
  const model::TemporaryDirectory directory;
  model::Process child = model::Process::fork_child([&] {
    const auto leads_to = [](const char* to) { return std::string(to) + ' ' + node_name + '\n'; };
    test::PrivateHosts hosts(directory.file("hosts"), leads_to("127.0.0.1"));
    if (!hosts.works()) return test::no_name_spaces;
    RedisTalk talk = servers()[0].talk();
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
    mine.check(10s);
    if (!eventually([&] { return is_connected_to(talk, "127.0.0.1"); })) return 1;
    hosts.write(leads_to("127.0.0.3"));
    // Each question has two seconds of this clock for its answer, and a thread of this machine asks
    // it; if that thread is late, the next question is as good.
    const bool left = eventually([&] {
      std::this_thread::sleep_for(30ms);
      clock->advance(2s);
      return !is_connected_to(talk, "127.0.0.1");
    });
    if (!left) return 2;
    return eventually([&] {
      mine.check(10s);
      return is_connected_to(talk, "127.0.0.3");
    })
               ? 0
               : 3;
  });
  const auto exit = child.wait_for(60s);
  ASSERT_TRUE(exit) << "it hangs";
  if (exit->code == test::no_name_spaces) GTEST_SKIP() << "name spaces of its own need rights";
  EXPECT_EQ(exit->code, 0);
}

}  // namespace
}  // namespace mortise::fault
