// SPDX-License-Identifier: MIT
// Goal: each of several observers receives every event. Method: two that write down what they
// receive.
#include <mortise/observer.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace mortise {
namespace {

using ::testing::ElementsAre;

class Notes final : public Observer {
 public:
  Notes(std::vector<std::string>& notes, std::string who) : notes_(notes), who_(std::move(who)) {}
  void waits(const Event& event) noexcept override { note("waits", event); }
  void wait_ended(const Event& event, const Failure& why) noexcept override {
    note("wait_ended " + why.text, event);
  }
  void granted(const Event& event) noexcept override { note("granted", event); }
  void contended(const Event& event) noexcept override { note("contended", event); }
  void renewed(const Event& event) noexcept override { note("renewed", event); }
  void lost(const Event& event, const Failure& why) noexcept override {
    note("lost " + why.text, event);
  }
  void released(const Event& event, Released outcome) noexcept override {
    note("released " + std::string(to_string(outcome)), event);
  }
  void failed(const Event& event, const Failure& why) noexcept override {
    note("failed " + why.text, event);
  }
  void wanted(const Event& event) noexcept override { note("wanted", event); }

 private:
  void note(const std::string& what, const Event& event) {
    notes_.push_back(who_ + ": " + what + ' ' + std::string(event.name));
  }
  std::vector<std::string>& notes_;
  const std::string who_;
};

TEST(Observers, EachReceivesEveryEventInTheirOrder) {
  std::vector<std::string> notes;
  const std::shared_ptr<Observer> both =
      observers({std::make_shared<Notes>(notes, "1"), std::make_shared<Notes>(notes, "2")});
  const Event event{.name = "x", .label = "me"};
  const Failure why(Errc::lost, "why");
  const auto received = [&](const auto& send) {
    notes.clear();
    send();
    return notes;
  };
  EXPECT_THAT(received([&] { both->waits(event); }), ElementsAre("1: waits x", "2: waits x"));
  EXPECT_THAT(received([&] { both->wait_ended(event, why); }),
              ElementsAre("1: wait_ended why x", "2: wait_ended why x"));
  EXPECT_THAT(received([&] { both->granted(event); }), ElementsAre("1: granted x", "2: granted x"));
  EXPECT_THAT(received([&] { both->contended(event); }),
              ElementsAre("1: contended x", "2: contended x"));
  EXPECT_THAT(received([&] { both->renewed(event); }), ElementsAre("1: renewed x", "2: renewed x"));
  EXPECT_THAT(received([&] { both->lost(event, why); }),
              ElementsAre("1: lost why x", "2: lost why x"));
  EXPECT_THAT(received([&] { both->released(event, Released::was_lost); }),
              ElementsAre("1: released was_lost x", "2: released was_lost x"));
  EXPECT_THAT(received([&] { both->failed(event, why); }),
              ElementsAre("1: failed why x", "2: failed why x"));
  EXPECT_THAT(received([&] { both->wanted(event); }), ElementsAre("1: wanted x", "2: wanted x"));
}

TEST(Observers, ANullPointerIsRefused) {
  try {
    static_cast<void>(observers({nullptr}));
    FAIL() << "it was accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.errc(), Errc::misconfigured);
  }
}

}  // namespace
}  // namespace mortise
