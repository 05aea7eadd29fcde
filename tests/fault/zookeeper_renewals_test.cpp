// SPDX-License-Identifier: MIT
// Goal: what is asked of several holds at once is answered for each as soon as it is known, however
// many sessions have them and however often it is asked. Method: a backend whose sessions the test
// reads one by one, or not at all, and whose clock it moves ahead.
#include "base/piecemeal_renewal.hpp"
#include "fault/zookeeper_fixture.hpp"
#include "support/hand_host.hpp"
#include "zookeeper/zookeeper_backend.hpp"

#include <algorithm>
#include <set>
#include <vector>

namespace mortise::fault {
namespace {

using test::HandHost;

/// Notes what is told before all is.
class HeardRenewal final : public base::PiecemealRenewal {
 public:
  using PiecemealRenewal::PiecemealRenewal;
  void learned(std::size_t index) noexcept override { heard_.insert(index); }
  [[nodiscard]] bool heard(std::size_t index) const { return heard_.contains(index); }
  [[nodiscard]] Answer answer(std::size_t index) { return items().at(index).answer; }

 private:
  std::set<std::size_t> heard_;
};

class ZooKeeperRenewals : public ZooKeeperTest {
 protected:
  void TearDown() override {
    if (backend_) backend_->stop();
  }
  void begin(const zookeeper::Settings& settings) {
    backend_ = std::make_unique<zookeeper::ZooKeeperBackend>(settings);
    backend_->start(host_);
  }
  void begin(const std::string& at) { begin(zookeeper::Settings::parse(at)); }
  [[nodiscard]] HandHost& host() { return host_; }
  void pass(std::chrono::milliseconds time) {
    static_cast<void>(host_.run_until([] { return false; }, HandHost::all, time));
  }
  /// Takes one more; it waits if it has to.
  void take(Mode mode = Mode::exclusive) {
    const std::uint64_t number = holds_.size() + 1;
    const auto asked =
        std::make_shared<Acquisition>(Acquisition::Request{.attempt = {1, 2, number},
                                                           .name = "n" + std::to_string(number),
                                                           .mode = mode,
                                                           .lease = 60s,
                                                           .wait = true});
    backend_->acquire(asked);
    ASSERT_TRUE(host_.run_until([&] { return asked->done(); }));
    ASSERT_NE(asked->grant().number, 0U);
    holds_.push_back({.name = asked->request().name,
                      .attempt = asked->request().attempt,
                      .number = asked->grant().number,
                      .mode = mode});
    counted_from_ = asked->grant().counted_from;
  }
  /// @return since when the last of them is counted.
  [[nodiscard]] Instant counted_from() const noexcept { return counted_from_; }
  [[nodiscard]] const HoldId& hold(std::size_t which) const { return holds_.at(which); }
  [[nodiscard]] std::shared_ptr<HeardRenewal> renew(const std::vector<HoldId>& holds) {
    std::vector<Renewal::Item> items;
    items.reserve(holds.size());
    for (const HoldId& each : holds) items.push_back({.hold = each, .lease = 60s});
    const auto renewal = std::make_shared<HeardRenewal>(std::move(items));
    backend_->renew(renewal);
    return renewal;
  }
  /// In the order in which they were opened.
  [[nodiscard]] std::vector<const Source*> sessions() const {
    std::vector<const Source*> all;
    for (const Source* const source : host_.sources()) {
      if (source->descriptor() >= 0) all.push_back(source);
    }
    return all;
  }

 private:
  HandHost host_;
  std::unique_ptr<Backend> backend_;
  std::vector<HoldId> holds_;
  Instant counted_from_{};
};

TEST_F(ZooKeeperRenewals, OfASessionWaitForNoOtherOne) {
  auto settings = zookeeper::Settings::parse(url("session=4s&margin=300ms"));
  settings.most_owned = 100;  // has no room for another one
  begin(settings);
  take();
  take();
  const std::vector<const Source*> two = sessions();
  ASSERT_EQ(two.size(), 2U);
  const auto renewal = renew({hold(0), hold(1)});
  const auto all_but_the_second = [&](const Source& source) { return &source != two[1]; };
  ASSERT_TRUE(host().run_until([&] { return renewal->heard(0); }, all_but_the_second, 900ms));
  EXPECT_EQ(renewal->answer(0), Renewal::Answer::renewed);
  EXPECT_FALSE(renewal->done());
  EXPECT_TRUE(host().run_until([&] { return renewal->done(); }));
}

// What an attempt watches while it waits has room when it has a new connection.
TEST_F(ZooKeeperRenewals, NeedNoRoomForWhatIsWatched) {
  auto settings = zookeeper::Settings::parse(url());
  settings.most_watched = 100;
  begin(settings);
  for (int i = 0; i < 4; ++i) take();
  EXPECT_EQ(sessions().size(), 1U) << "one after the other";
}

// A client's readers that never pause ask so whether anybody waits, one question at a time. A
// writer waited for as long as the answer did.
TEST_F(ZooKeeperRenewals, OfReadersAreAnsweredAsSoonAsItIsKnownWhoWaits) {
  begin(url("session=10s"));
  take(Mode::shared);
  const Instant asked = host().clock()->now();
  const auto renewal = renew({hold(0)});
  ASSERT_TRUE(host().run_until([&] { return renewal->done(); }));
  ASSERT_EQ(renewal->answer(0), Renewal::Answer::renewed);
  EXPECT_FALSE(renewal->items()[0].wanted);
  EXPECT_GE(renewal->items()[0].wanted_as_of, asked) << "of the time of the last pulse";
  EXPECT_LT(renewal->items()[0].counted_from, counted_from() + 200ms) << "it waited for a pulse";
}

// Pulses have proven enough by then. Answered at once it told what was known a renewal ago, and
// readers were kept out a second longer by a writer that had given up.
TEST_F(ZooKeeperRenewals, OfReadersTellWhoWaitsNowWhateverWasProvenBefore) {
  begin(url("session=10s"));
  take(Mode::shared);
  for (int i = 0; i < 5; ++i) {
    host().step(1s);
    pass(50ms);
  }
  const Instant asked = host().clock()->now();
  const auto renewal = renew({hold(0)});
  ASSERT_TRUE(host().run_until([&] { return renewal->done(); }));
  ASSERT_EQ(renewal->answer(0), Renewal::Answer::renewed);
  EXPECT_GE(renewal->items()[0].counted_from, counted_from() + 1s) << "by the pulses";
  EXPECT_GE(renewal->items()[0].wanted_as_of, asked) << "by the queue as it was before";
}

// But what is to be renewed is.
TEST_F(ZooKeeperRenewals, OfReadersGainWhereTheyAreDue) {
  begin(url("session=10s"));
  take(Mode::shared);
  host().step(4s);
  const auto renewal = renew({hold(0)});
  ASSERT_TRUE(host().run_until([&] { return renewal->done(); }));
  ASSERT_EQ(renewal->answer(0), Renewal::Answer::renewed);
  EXPECT_GE(renewal->items()[0].counted_from, counted_from() + 400ms);
}

// The library asks again where an answer takes it too long, and both are answered by one pulse.
TEST_F(ZooKeeperRenewals, OfOneHoldAreRenewedAsOftenAsTheyAreAsked) {
  begin(url());
  take();
  pass(300ms);
  const auto once = renew({hold(0)});
  const auto again = renew({hold(0)});
  EXPECT_FALSE(once->done());
  ASSERT_TRUE(host().run_until([&] { return once->done() && again->done(); }));
  EXPECT_EQ(once->answer(0), Renewal::Answer::renewed);
  EXPECT_EQ(again->answer(0), Renewal::Answer::renewed);
}

// The library waits a second for an answer before it takes it for lost.
TEST_F(ZooKeeperRenewals, OfALongSessionAreAnsweredWithinASecond) {
  begin(url("session=30s&margin=300ms"));
  take();
  // A pulse is due two seconds later, and a tenth of the session is three.
  host().step(7s);
  const auto renewal = renew({hold(0)});
  ASSERT_TRUE(host().run_until([&] { return renewal->done(); }, HandHost::all, 1s));
  EXPECT_EQ(renewal->answer(0), Renewal::Answer::renewed);
}

TEST_F(ZooKeeperRenewals, OfWhatIsLostAreToldAtOnce) {
  begin(url());
  take();
  pass(300ms);
  HoldId other = hold(0);
  ++other.number;
  const auto renewal = renew({other, hold(0)});
  EXPECT_TRUE(renewal->heard(0));
  EXPECT_EQ(renewal->answer(0), Renewal::Answer::lost);
  EXPECT_FALSE(renewal->done());
  ASSERT_TRUE(host().run_until([&] { return renewal->done(); }));
  EXPECT_EQ(renewal->answer(1), Renewal::Answer::renewed);
}

}  // namespace
}  // namespace mortise::fault
