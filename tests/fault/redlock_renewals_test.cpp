// SPDX-License-Identifier: MIT
// Goal: several threads may read the answers of the servers to one renewal at a time. Method: the
// backend alone; one thread polls each server, and one of the servers has lost its votes. The
// thread sanitizer sees whether two threads use one field.
#include <mortise/redlock.hpp>

#include "base/tuned_source.hpp"
#include "fault/redlock_fixture.hpp"
#include "support/hand_host.hpp"

#include <poll.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace mortise::fault {
namespace {

using test::HandHost;

class RedlockRenewals : public RedlockTest {
 protected:
  static constexpr std::size_t names = 64;

  void SetUp() override {
    RedlockTest::SetUp();
    if (IsSkipped()) return;
    backend_ = redlock::backend(servers(3).url());
    backend_->start(host_);
    const auto check = std::make_shared<Check>();
    backend_->check(check);
    ASSERT_TRUE(host_.run_until([&] { return check->done(); }));
  }
  void TearDown() override {
    if (backend_) backend_->stop();
  }
  [[nodiscard]] static std::string name_of(std::size_t number) {
    return "name" + std::to_string(number);
  }
  /// @return how many of the names have a vote at that server.
  [[nodiscard]] std::size_t votes(std::size_t server) {
    return static_cast<std::size_t>(servers()[server].talk().command(with_keys("EXISTS")).integer);
  }
  void lose_votes(std::size_t server) {
    servers()[server].talk().expect_ok(with_keys("DEL"));
    ASSERT_EQ(votes(server), 0U);
  }
  /// Takes all names, at all servers.
  [[nodiscard]] std::vector<Renewal::Item> take_all() {
    std::vector<std::shared_ptr<Acquisition>> attempts;
    for (std::size_t i = 0; i < names; ++i) {
      attempts.push_back(std::make_shared<Acquisition>(Acquisition::Request{
          .attempt = {1, 2, i + 1}, .name = name_of(i), .lease = 60s, .label = "test"}));
      backend_->acquire(attempts.back());
    }
    EXPECT_TRUE(host_.run_until([&] {
      return std::all_of(attempts.begin(), attempts.end(),
                         [](const auto& each) { return each->done(); }) &&
             votes(0) + votes(1) + votes(2) == 3 * names;
    }));
    std::vector<Renewal::Item> items;
    for (const auto& each : attempts) {
      const HoldId hold{.name = each->request().name,
                        .attempt = each->request().attempt,
                        .number = each->grant().number};
      items.push_back({.hold = hold, .lease = 60s});
    }
    return items;
  }
  /// Polls the two sources of a server.
  void poll(std::size_t server) {
    const std::array<Source*, 2> sources{host_.sources().at(2 * server),
                                         host_.sources().at(2 * server + 1)};
    std::array<pollfd, 2> polled{};
    for (std::size_t i = 0; i < sources.size(); ++i) {
      polled.at(i) = {sources.at(i)->descriptor(), sources.at(i)->interest(), 0};
    }
    ::poll(polled.data(), polled.size(), 1);
    const Instant now = host_.clock()->now();
    for (std::size_t i = 0; i < sources.size(); ++i) {
      const short events = polled.at(i).revents;
      if (events != 0 || sources.at(i)->due() <= now) sources.at(i)->ready(events, now);
      auto* const tuned = dynamic_cast<base::TunedSource*>(sources.at(i));
      if (tuned != nullptr && tuned->gathering()) tuned->send_gathered();
    }
  }

  HandHost host_;
  std::unique_ptr<Backend> backend_;

 private:
  [[nodiscard]] static RedisTalk::Command with_keys(const char* command) {
    RedisTalk::Command words{command};
    for (std::size_t i = 0; i < names; ++i) words.push_back(key(name_of(i)));
    return words;
  }
};

TEST_F(RedlockRenewals, AreAnsweredByServersThatSeveralThreadsRead) {
  const std::vector<Renewal::Item> holds = take_all();
  for (int round = 0; round < 10; ++round) {
    lose_votes(2);
    const auto renewal = std::make_shared<Renewal>(holds);
    backend_->renew(renewal);
    std::atomic<bool> ends{false};
    std::vector<std::jthread> readers;
    for (std::size_t server = 0; server < 3; ++server) {
      readers.emplace_back([this, &ends, server] {
        while (!ends.load()) poll(server);
      });
    }
    EXPECT_TRUE(eventually([&] { return renewal->done() && votes(2) == names; }));
    ends = true;
    readers.clear();
    ASSERT_TRUE(renewal->done());
    for (const Renewal::Item& each : renewal->items()) {
      EXPECT_EQ(each.answer, Renewal::Answer::renewed) << each.hold.name;
    }
  }
}

}  // namespace
}  // namespace mortise::fault
