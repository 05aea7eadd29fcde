// SPDX-License-Identifier: MIT
// Goal: a release that is sent again does not put its successor, which was taken back meanwhile,
// into the queue once more. Method: a backend alone, whose replies are read when the test says so.
#include <mortise/backend.hpp>

#include "fault/redis_script.hpp"

#include <algorithm>

namespace mortise::fault {
namespace {

/// What a backend sees of the library; one thread does all the work.
class PatientHost final : public Host {
 public:
  [[nodiscard]] const std::shared_ptr<Clock>& clock() const noexcept override { return clock_; }
  void attach(Source& source) override { sources_.push_back(&source); }
  void detach(Source& source) noexcept override { std::erase(sources_, &source); }
  void changed(Source& /*source*/) noexcept override {}
  void hold_lost(const HoldId& /*hold*/, Failure /*why*/) override {}

  /// Reads what comes. @return whether the operation is done in time
  [[nodiscard]] bool read_until_done(const Operation& operation) {
    return read_until([&] { return operation.done(); });
  }
  /// Reads what comes. @return whether both connections are up in time, and await nothing
  [[nodiscard]] bool read_until_quiet() {
    return read_until([&] {
      return std::count_if(sources_.begin(), sources_.end(), [](const Source* source) {
               return source->descriptor() >= 0 && !source->outstanding();
             }) == 2;
    });
  }

 private:
  template <class Condition>
  [[nodiscard]] bool read_until(Condition condition) {
    return eventually([&] {
      const std::vector<Source*> sources = sources_;
      for (Source* const source : sources) source->ready(0, clock_->now());
      return condition();
    });
  }

  std::shared_ptr<Clock> clock_ = Clock::real();
  std::vector<Source*> sources_;
};

class RedisSuccessors : public RedisScriptTest {
 protected:
  [[nodiscard]] static std::shared_ptr<Acquisition> attempt_of(std::uint64_t sequence) {
    return std::make_shared<Acquisition>(Acquisition::Request{
        .attempt = {1, 2, sequence}, .name = "a", .lease = 30s, .label = "test", .wait = true});
  }
};

TEST_F(RedisSuccessors, ThatWereTakenBackStayOutOfTheQueue) {
  PatientHost host;
  const std::unique_ptr<Backend> backend = redis::backend(server().url());
  backend->start(host);
  const auto mine = attempt_of(1);
  backend->acquire(mine);
  ASSERT_TRUE(host.read_until_done(*mine));
  ASSERT_TRUE(host.read_until_quiet()) << "without an inbox nobody waits";
  const RedisTalk hears = listen("z");
  ASSERT_EQ(acquire('z'), "queued");

  const auto next = attempt_of(2);
  const auto release = std::make_shared<Release>(
      HoldId{.name = "a", .attempt = mine->request().attempt, .number = mine->grant().number},
      next);
  backend->release(release);
  ASSERT_TRUE(eventually([&] { return holds('z') && waiting("a") == 1; }));
  // Nothing of that is read; its caller gives up, and the release is repeated.
  backend->cancel(next);
  backend->release(release);
  const auto look = std::make_shared<Inspection>("a");
  backend->inspector()->inspect(look);
  ASSERT_TRUE(host.read_until_done(*look));
  EXPECT_TRUE(next->done());
  EXPECT_EQ(next->grant().number, 0U);
  ASSERT_TRUE(release->done());
  EXPECT_EQ(release->outcome(), Released::released);
  EXPECT_EQ(waiting("a"), 0U);
  EXPECT_THAT(queued("a"), IsEmpty());
  backend->stop();
}

}  // namespace
}  // namespace mortise::fault
