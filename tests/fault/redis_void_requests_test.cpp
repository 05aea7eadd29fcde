// SPDX-License-Identifier: MIT
// Goal: the answer to a request that arrived too late does not end what an earlier request for the
// same attempt has begun. Method: the backend alone, polled by the test; its clock is set back, so
// that the next request is void when it arrives.
#include "fault/redis_fixture.hpp"
#include "support/hand_host.hpp"

#include <cstdint>
#include <memory>

namespace mortise::fault {
namespace {

using test::HandHost;

class RedisVoidRequests : public RedisTest {
 protected:
  void SetUp() override {
    RedisTest::SetUp();
    if (IsSkipped()) return;
    proxy_.emplace(server().port());
    backend_ = redis::backend(proxy_->url());
    backend_->start(host_);
  }
  void TearDown() override {
    if (backend_) backend_->stop();
  }
  [[nodiscard]] std::shared_ptr<Inspection> ask() {
    auto question = std::make_shared<Inspection>("a");
    backend_->inspector()->inspect(question);
    return question;
  }
  /// Reads the answers to all requests up to now.
  [[nodiscard]] bool read_answers() {
    const auto question = ask();
    return host_.run_until([&] { return question->done(); });
  }
  /// @return how many scripts the server has run.
  [[nodiscard]] std::uint64_t scripts() {
    auto stats = server().talk().command_stats();
    return stats["evalsha"] + stats["eval"];
  }

  HandHost host_;
  std::optional<Proxy> proxy_;
  std::unique_ptr<Backend> backend_;
};

// Its caller takes the attempt back while the void request is under way.
// Promise: L3
TEST_F(RedisVoidRequests, DoNotEndAnAttemptThatIsTakenBack) {
  Client other = client();
  Lock theirs = other.make_lock("a");
  theirs.lock();
  const auto waits = std::make_shared<Acquisition>(Acquisition::Request{
      .attempt = {1, 2, 3}, .name = "a", .lease = 60s, .label = "test", .wait = true});
  backend_->acquire(waits);
  ASSERT_TRUE(host_.run_until([&] { return waiting("a") == 1; }));
  ASSERT_TRUE(read_answers());
  host_.step(-10s);
  // By the next inbox each waiter asks again. The answers lie unread.
  std::uint64_t before = scripts();
  server().talk().expect_ok({"CLIENT", "KILL", "TYPE", "pubsub"});
  ASSERT_TRUE(host_.run_until([&] { return scripts() > before; }, HandHost::those_of_pushes));
  before = scripts();
  const auto question = ask();
  ASSERT_TRUE(eventually([&] { return scripts() > before; }));
  proxy_->hold_requests(true, Proxy::Connections::commands);
  backend_->cancel(waits);
  ASSERT_TRUE(host_.run_until([&] { return question->done(); }));
  EXPECT_FALSE(waits->done()) << "it stands in the queue";
  EXPECT_EQ(waiting("a"), 1U);
  proxy_->hold_requests(false, Proxy::Connections::commands);
  ASSERT_TRUE(host_.run_until([&] { return waits->done(); }));
  EXPECT_EQ(waiting("a"), 0U);
  EXPECT_EQ(theirs.release(), Released::released);
}

}  // namespace
}  // namespace mortise::fault
