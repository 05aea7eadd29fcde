// SPDX-License-Identifier: MIT
// Goal: six members make a backend, and each optional interface adds its own calls.
// Method: a backend with the six members, with each interface added alone, and with all of them.
#include <mortise/backend.hpp>
#include <mortise/mortise.hpp>

#include "support/eventually.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

namespace mortise {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

/// The behaviour of the store.
struct Conduct {
  bool grants = true;
  std::function<void(Renewal&)> on_renew = [](Renewal& renewal) {
    for (Renewal::Item& each : renewal.items()) each.answer = Renewal::Answer::lost;
    renewal.answered();
  };
  std::atomic<int> acquires{0};
};

class PlainBackend : public Backend {
 public:
  explicit PlainBackend(std::shared_ptr<Conduct> conduct) : conduct_(std::move(conduct)) {}
  [[nodiscard]] StoreDescription describe() const override { return {.name = "plain"}; }
  void start(Host& host) override { host_ = &host; }
  void acquire(const std::shared_ptr<Acquisition>& operation) override {
    const Instant sent = operation->sent(host_->clock()->now());
    if (conduct_->grants) {
      operation->granted({.number = ++number_, .counted_from = sent});
    } else {
      operation->queued(std::nullopt);
    }
    ++conduct_->acquires;
  }
  void cancel(const std::shared_ptr<Acquisition>& operation) override { operation->busy({}); }
  void renew(const std::shared_ptr<Renewal>& operation) override { conduct_->on_renew(*operation); }
  void release(const std::shared_ptr<Release>& operation) override {
    operation->answered(Released::released);
  }

 private:
  const std::shared_ptr<Conduct> conduct_;
  Host* host_ = nullptr;
  std::atomic<std::uint64_t> number_{0};
};

/// A plain backend with some of the interfaces.
class RichBackend final : public PlainBackend,
                          private Records,
                          private Inspector,
                          private Catalog,
                          private Enforcer {
 public:
  explicit RichBackend(std::set<Feature> has)
      : PlainBackend(std::make_shared<Conduct>()), has_(std::move(has)) {}
  [[nodiscard]] Records* records() noexcept override { return has(Feature::once); }
  [[nodiscard]] Inspector* inspector() noexcept override { return has(Feature::holders); }
  [[nodiscard]] Catalog* catalog() noexcept override { return has(Feature::lists); }
  [[nodiscard]] Enforcer* enforcer() noexcept override { return has(Feature::forces); }
  [[nodiscard]] std::string why_not(Feature feature) const override {
    return feature == Feature::lists ? "ask the operator" : "";
  }

 private:
  RichBackend* has(Feature feature) noexcept { return has_.contains(feature) ? this : nullptr; }
  void recall(const std::shared_ptr<Recollection>& operation) override {
    operation->answered(std::make_shared<const Record>());
  }
  void inspect(const std::shared_ptr<Inspection>& operation) override {
    operation->answered(Holder{.label = "inspected"});
  }
  void list(const std::shared_ptr<Listing>& operation) override {
    operation->answered({.names = {"listed"}});
  }
  void queue(const std::shared_ptr<QueueLook>& operation) override {
    operation->answered({.holders = {{.label = "queued"}}});
  }
  void find(const std::shared_ptr<QueueLook>& operation) override {
    operation->answered({.holders = {{.label = "found", .token = token_of(7)}}});
  }
  void end(const std::shared_ptr<Release>& operation) override {
    operation->answered(operation->found() != nullptr && operation->hold().number == 7
                            ? Released::released
                            : Released::was_lost);
  }

  const std::set<Feature> has_;
};

using Calls = std::map<Feature, std::function<void(Client&)>>;

/// A call for each feature.
const Calls& calls() {
  static const Calls all{
      {Feature::shared,
       [](Client& one) { static_cast<void>(one.make_lock("a", {.mode = Mode::shared})); }},
      {Feature::permits, [](Client& one) { static_cast<void>(one.make_semaphore("a", 2)); }},
      {Feature::once, [](Client& one) { static_cast<void>(one.make_once("a").look()); }},
      {Feature::holders,
       [](Client& one) { EXPECT_EQ(one.make_lock("a").holder().value().label, "inspected"); }},
      {Feature::lists, [](Client& one) { EXPECT_EQ(one.list("").names.at(0), "listed"); }},
      {Feature::queues,
       [](Client& one) { EXPECT_EQ(one.queue("a").holders.at(0).label, "queued"); }},
      {Feature::forces,
       [](Client& one) { EXPECT_EQ(one.force_release("a").at(0).label, "found"); }}};
  return all;
}

/// @return the features whose calls work. The others must fail with `unsupported` and the name of
/// the store.
std::set<Feature> works(Client& one) {
  std::set<Feature> features;
  for (const auto& [feature, call] : calls()) {
    try {
      call(one);
      features.insert(feature);
    } catch (const Error& error) {
      EXPECT_EQ(error.errc(), Errc::unsupported) << error.what();
      EXPECT_THAT(error.what(), StartsWith("plain: it "));
    }
  }
  return features;
}

std::set<Feature> reported(const Client& one) {
  const Capabilities can = one.capabilities();
  std::set<Feature> features;
  const auto add = [&](Support support, Feature feature) {
    if (support == Support::yes) features.insert(feature);
  };
  add(can.shared_mode, Feature::shared);
  add(can.permits, Feature::permits);
  add(can.once, Feature::once);
  add(can.holders, Feature::holders);
  add(can.lists, Feature::lists);
  add(can.queues, Feature::queues);
  add(can.forces, Feature::forces);
  return features;
}

TEST(PlainBackend, HasLocksAndNothingElse) {
  Client client(std::make_unique<PlainBackend>(std::make_shared<Conduct>()));
  Lock lock = client.make_lock("a");
  lock.lock();
  EXPECT_EQ(lock.token(), token_of(1));
  EXPECT_EQ(lock.release(), Released::released);
  EXPECT_THAT(works(client), ElementsAre());
  EXPECT_THAT(reported(client), ElementsAre());
}

TEST(PlainBackend, EachInterfaceAddsItsOwnCalls) {
  const std::map<Feature, std::set<Feature>> cases{
      {Feature::once, {Feature::once}},
      {Feature::holders, {Feature::holders}},
      {Feature::lists, {Feature::lists, Feature::queues}},
      {Feature::forces, {Feature::forces}}};
  for (const auto& [interface, features] : cases) {
    Client client(std::make_unique<RichBackend>(std::set{interface}));
    EXPECT_EQ(works(client), features);
    EXPECT_EQ(reported(client), features);
  }
  const std::set all{Feature::once, Feature::holders, Feature::lists, Feature::forces};
  Client client(std::make_unique<RichBackend>(all));
  const std::set features{Feature::once, Feature::holders, Feature::lists, Feature::queues,
                          Feature::forces};
  EXPECT_EQ(works(client), features);
  EXPECT_EQ(reported(client), features);
}

TEST(PlainBackend, GivesTheReasonForAMissingFeature) {
  Client client(std::make_unique<RichBackend>(std::set<Feature>{}));
  try {
    static_cast<void>(client.list(""));
    ADD_FAILURE() << "it listed names";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), StartsWith("plain: it cannot list the held names: ask the operator"));
  }
}

TEST(PlainBackend, ChecksByTheRenewalOfAHoldOfNoClient) {
  const auto conduct = std::make_shared<Conduct>();
  Client client(std::make_unique<PlainBackend>(conduct));
  int renewals = 0;
  conduct->on_renew = [&](Renewal& renewal) {
    ASSERT_EQ(renewal.items().size(), 1U);
    EXPECT_EQ(renewal.items().front().hold.attempt.sequence, 0U) << "a hold of a client";
    ++renewals;
    renewal.items().front().answer = Renewal::Answer::lost;
    renewal.answered();
  };
  std::error_code ec;
  client.check(test::patience, ec);
  EXPECT_FALSE(ec) << ec.message();
  EXPECT_EQ(renewals, 1);

  conduct->on_renew = [](Renewal& renewal) { renewal.failed({Errc::denied, "no permission"}); };
  try {
    client.check(test::patience);
    ADD_FAILURE() << "the check passed";
  } catch (const Error& error) {
    EXPECT_EQ(error.errc(), Errc::denied);
    EXPECT_THAT(error.what(), HasSubstr("no permission"));
  }
  conduct->on_renew = [](Renewal& renewal) { renewal.answered(); };
  client.check(test::patience, ec);
  EXPECT_EQ(ec, Errc::unavailable) << "the store did not report what it has";
  conduct->on_renew = [](Renewal&) {};
  client.check(1ms, ec);
  EXPECT_EQ(ec, Errc::unavailable) << "the store is silent";
}

// Promise: L4
TEST(PlainBackend, CloseEndsTheWaitsOfABackendWithoutStop) {
  const auto conduct = std::make_shared<Conduct>();
  conduct->grants = false;
  Client client(std::make_unique<PlainBackend>(conduct));
  Lock lock = client.make_lock("a");
  std::error_code ec;
  std::thread waiter([&] { lock.lock(ec); });
  EXPECT_TRUE(test::eventually([&] { return conduct->acquires.load() > 0; }));
  client.close();
  waiter.join();
  EXPECT_EQ(ec, Errc::closed);
}

}  // namespace
}  // namespace mortise
