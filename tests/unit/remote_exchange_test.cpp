// SPDX-License-Identifier: MIT
// Goal: each call of a client is sent when it can be, in order, and again as long as a caller or
// the client wants it; a lost connection and a failed allocation forget none. Method: the exchange
// and the courses of attempts, with a store that writes down what it is to send.
#include "remote/courses.hpp"
#include "remote/exchange.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <utility>
#include <vector>

namespace mortise::remote {
namespace {

using namespace std::chrono_literals;

struct Way {
  bool is_up = false;
  bool may_come_up = true;
  std::size_t room = 100;
  std::uint64_t connection = 1;
  int wanted = 0;
  int wanted_now = 0;
  Failure why_down{};
};

/// @tparam each_connection see remote::Exchange
template <bool each_connection>
struct ParcelOf {
  std::shared_ptr<Operation> operation{};
  Purpose kind = Purpose::question;
  std::chrono::nanoseconds lease{};
  Instant asked{};
  Instant since{};
  bool once = false;

  using Attempt = std::shared_ptr<Acquisition>;
  static ParcelOf of(Purpose purpose, std::shared_ptr<Operation> operation, Instant now) {
    return {.operation = std::move(operation), .kind = purpose, .asked = now};
  }
  [[nodiscard]] Purpose purpose() const { return kind; }
  [[nodiscard]] bool is_bound() const { return false; }
  static constexpr bool asks_on_each_connection = each_connection;
  [[nodiscard]] Attempt successor() const {
    return is_release(kind) ? releasing().successor() : nullptr;
  }
  [[nodiscard]] Attempt shared_acquisition() const {
    return std::static_pointer_cast<Acquisition>(operation);
  }
  [[nodiscard]] const AttemptId& attempt() const { return shared_acquisition()->request().attempt; }
  [[nodiscard]] const Release& releasing() const { return static_cast<Release&>(*operation); }
};

struct Nothing {};
using Attempts = Courses<Nothing>;
using Parcel = ParcelOf<true>;
using Post = Exchange<Parcel, Way, Attempts>;
/// Of a store whose requests may go by any connection.
using Freight = Exchange<ParcelOf<false>, Way, Attempts>;

/// A letter for each call: "t" for a take, and so on.
char letter_of(Purpose purpose) { return "tluCrgwqhR"[static_cast<int>(purpose)]; }

template <class Exchange>
class PostOffice final : public Exchange::Store, public Exchange::Routes {
 public:
  using Call = typename Exchange::Calls::value_type;
  Way& line_of(const Call& /*call*/) override { return *way; }
  [[nodiscard]] LineState state_of(const Way& line) const noexcept override {
    const bool is_up = line.is_up && !(is_lost_soon && std::exchange(was_asked, true));
    return {is_up ? line.connection : 0, line.room > 0, line.may_come_up};
  }
  Failure want(Way& line, bool now) override {
    ++line.wanted;
    if (now) ++line.wanted_now;
    if (becomes_known) version_now += std::exchange(becomes_known, 0);
    if (comes_up_soon) line.is_up = true;
    return line.why_down;
  }
  [[nodiscard]] std::uint64_t version() const noexcept override { return version_now; }
  [[nodiscard]] bool is_settled() const noexcept override { return settled; }
  void use(Way& /*line*/, const Call& /*call*/) override {}
  [[nodiscard]] bool sends_instead(Call& /*call*/) override { return false; }
  void lost(Way& /*line*/, std::list<Call>& /*calls*/) override {}
  bool send(Way& line, Call& call) override {
    if (without_memory) throw std::bad_alloc();
    if (!line.is_up) return false;
    sent += letter_of(call.kind);
    --line.room;
    if (call.kind == Purpose::take) {
      static_cast<void>(courses->asked(call.shared_acquisition(), line.connection));
    }
    if (caller != nullptr) {
      // The answer arrives before this function returns. Then no other object has the call.
      const std::weak_ptr<Operation> operation = std::exchange(call.operation, nullptr);
      caller->reset();
      if (operation.expired()) ++freed;
    }
    return true;
  }
  void note_lost(const Way& /*line*/, Call& call) noexcept override {
    noted += letter_of(call.kind);
  }
  void lost_route(Way& /*line*/) override { ++lost_routes; }
  void break_lines() noexcept override { ++broken; }
  void sooner() override { ++sooner_count; }
  std::string take_sent() { return std::exchange(sent, {}); }

  Attempts* courses = nullptr;
  Way* way = nullptr;
  bool settled = true;
  bool without_memory = false;
  bool is_lost_soon = false;   // after the exchange has asked for the state of the line
  bool comes_up_soon = false;  // after it has asked, and before it wants the line
  std::shared_ptr<Operation>* caller = nullptr;  // leaves during the next `send()`
  int freed = 0;                                 // how many operations were freed during `send()`
  mutable bool was_asked = false;
  std::uint64_t version_now = 1;
  std::uint64_t becomes_known = 0;
  std::string sent;
  std::string noted;
  int lost_routes = 0;
  int broken = 0;
  int sooner_count = 0;
};

class RemoteExchange : public ::testing::Test {
 protected:
  RemoteExchange() {
    store_.courses = &courses_;
    store_.way = &way_;
    exchange_.follow(store_);
    exchange_.waiting().add_line(way_);
    exchange_.waiting().add_line(other_);
  }
  static std::shared_ptr<Acquisition> attempt_of(std::uint64_t sequence) {
    return std::make_shared<Acquisition>(
        Acquisition::Request{.attempt = {1, 2, sequence}, .name = "a", .lease = 30s, .wait = true});
  }
  std::shared_ptr<Operation> submit(Purpose purpose) {
    std::shared_ptr<Operation> operation = std::make_shared<Inspection>("a");
    if (purpose == Purpose::release || purpose == Purpose::give_back) {
      operation = std::make_shared<Release>(HoldId{.name = "a", .number = 7});
    } else if (purpose == Purpose::renew) {
      operation = std::make_shared<Renewal>(std::vector<Renewal::Item>{});
    }
    exchange_.submit({.operation = operation, .kind = purpose});
    return operation;
  }
  void come_up() {
    way_.is_up = true;
    ++way_.connection;
    exchange_.connected(way_);
  }
  void break_off(Post::Calls unanswered = {}, bool final = false) {
    way_.is_up = false;
    exchange_.lost(way_, {final ? Errc::denied : Errc::unavailable, "gone"}, final, true,
                   std::move(unanswered));
  }
  Post::Calls under_way(Purpose purpose, std::shared_ptr<Operation> operation) {
    return {{.operation = std::move(operation), .kind = purpose, .since = clock_->now()}};
  }
  /// @return an attempt that was sent, and that the server has put into its queue.
  std::shared_ptr<Acquisition> attempt_in_the_queue() {
    way_.is_up = true;
    std::shared_ptr<Acquisition> attempt = attempt_of(1);
    exchange_.ask(attempt);
    courses_.on(attempt->request().attempt, [](auto& entry) { entry.course.wait(); });
    return attempt;
  }
  void refuse_for_good(Purpose purpose, const std::shared_ptr<Operation>& operation) {
    exchange_.refused(Parcel::of(purpose, operation, clock_->now()),
                      {Errc::denied, "no permission"}, true);
  }
  /// The attempt is gone for its caller, and a request for it was lost.
  void lose_a_request(const std::shared_ptr<Acquisition>& attempt, std::chrono::seconds due) {
    courses_.request_lost(attempt, {1us, 1, clock_->now()}, clock_->now() + due);
  }

  const std::shared_ptr<ManualClock> clock_ = std::make_shared<ManualClock>();
  std::mutex mutex_;
  Attempts courses_{mutex_};
  Way way_;
  Way other_;
  PostOffice<Post> store_;
  Post exchange_{store_, courses_, clock_};
};

TEST_F(RemoteExchange, SendsWhatWaitsForAConnectionInOrder) {
  const auto release = submit(Purpose::release);
  const auto question = submit(Purpose::question);
  const auto hint = submit(Purpose::hint);
  EXPECT_EQ(store_.take_sent(), "");
  EXPECT_EQ(way_.wanted, 3);
  EXPECT_EQ(way_.wanted_now, 2) << "a hint is worth no connection of its own";
  come_up();
  EXPECT_EQ(store_.take_sent(), "rq") << "each hint is given by the next connection anyway";
  const auto next = submit(Purpose::release);
  EXPECT_EQ(store_.take_sent(), "r");
}

TEST_F(RemoteExchange, KeepsTheOperationOfAWaitingCallWhileItIsSent) {
  come_up();
  way_.room = 0;
  auto first = submit(Purpose::question);
  store_.caller = &first;
  way_.room = 1;
  const auto second = submit(Purpose::question);
  EXPECT_EQ(store_.take_sent(), "q");
  EXPECT_EQ(first, nullptr);
  EXPECT_EQ(store_.freed, 0);
}

TEST_F(RemoteExchange, ReportsWhyThereIsNoConnection) {
  way_.why_down = {Errc::unavailable, "no route"};
  const auto release = submit(Purpose::release);
  ASSERT_TRUE(release->in_trouble());
  exchange_.put(alone(Parcel{.operation = release, .kind = Purpose::release}));
  EXPECT_EQ(way_.wanted_now, 1) << "a repeated one waits out the back-off";
}

TEST_F(RemoteExchange, LetsAWindowOfCallsLeave) {
  way_.is_up = true;
  way_.room = 1;
  const auto first = submit(Purpose::question);
  const auto second = submit(Purpose::release);
  const auto third = submit(Purpose::question);
  EXPECT_EQ(store_.take_sent(), "q");
  exchange_.let_leave(way_);
  EXPECT_EQ(store_.take_sent(), "");
  way_.room = 1;
  const auto late = submit(Purpose::renew);
  EXPECT_EQ(store_.take_sent(), "r") << "in order: the new one is the last";
  way_.room = 5;
  exchange_.let_leave(way_);
  EXPECT_EQ(store_.take_sent(), "qw");
  way_.room = 0;
  const auto route = submit(Purpose::route);
  EXPECT_EQ(store_.take_sent(), "R") << "all others wait for that";
}

// A renewal has no caller that keeps it: only its call does.
// Promise: L8
TEST_F(RemoteExchange, SendsACallThatWaitedForRoomAlthoughNoCallerKeepsIt) {
  come_up();
  way_.room = 0;
  static_cast<void>(submit(Purpose::renew));
  static_cast<void>(submit(Purpose::release));
  static_cast<void>(submit(Purpose::hint));
  way_.room = 3;
  exchange_.let_leave(way_);
  EXPECT_EQ(store_.take_sent(), "wrh");
}

// Another thread has reported the loss by then.
TEST_F(RemoteExchange, WantsAConnectionThatIsLostWhileACallWaitsForRoom) {
  way_.is_up = true;
  way_.room = 0;
  store_.is_lost_soon = true;
  const auto question = submit(Purpose::question);
  EXPECT_EQ(way_.wanted, 1);
  store_.is_lost_soon = false;
  way_.room = 1;
  come_up();
  EXPECT_EQ(store_.take_sent(), "q");
}

// The thread that reads has looked for waiting calls before that.
TEST_F(RemoteExchange, SendsACallWhoseConnectionComesUpBeforeTheCallWaits) {
  store_.comes_up_soon = true;
  const auto release = submit(Purpose::release);
  EXPECT_EQ(store_.take_sent(), "r");
  way_.is_up = false;
  lose_a_request(attempt_of(1), 0s);
  exchange_.look(clock_->now(), false);
  EXPECT_EQ(store_.take_sent(), "l");
}

TEST_F(RemoteExchange, AsksWhichCallGoesWhereFirst) {
  store_.settled = false;
  const auto question = submit(Purpose::question);
  const auto route = submit(Purpose::route);
  come_up();
  EXPECT_EQ(store_.take_sent(), "R");
  const auto release = submit(Purpose::release);
  EXPECT_EQ(store_.take_sent(), "");
  store_.settled = true;
  exchange_.moved();
  EXPECT_EQ(store_.take_sent(), "qr");
}

TEST_F(RemoteExchange, ForgetsNothingThatFreesWhenAConnectionIsLost) {
  way_.is_up = true;
  const auto release = std::make_shared<Release>(HoldId{});
  const auto waits = attempt_of(1);
  exchange_.ask(waits);
  EXPECT_EQ(store_.take_sent(), "t");
  Post::Calls unanswered = under_way(Purpose::take, waits);
  unanswered.splice(unanswered.end(), under_way(Purpose::release, release));
  break_off(std::move(unanswered));
  EXPECT_EQ(store_.noted, "tr");
  EXPECT_TRUE(waits->in_trouble());
  EXPECT_GT(way_.wanted, 0);
  come_up();
  EXPECT_EQ(store_.take_sent(), "rt");
}

TEST_F(RemoteExchange, FailsWhatTheNextConnectionCannotDo) {
  const auto waits = attempt_of(1);
  exchange_.ask(waits);
  const auto question = submit(Purpose::question);
  const auto release = submit(Purpose::release);
  break_off({}, true);
  EXPECT_EQ(waits->failure().code, Errc::denied);
  EXPECT_EQ(question->failure().code, Errc::denied);
  EXPECT_FALSE(release->done()) << "it frees what other clients wait for";
  come_up();
  EXPECT_EQ(store_.take_sent(), "r");
}

TEST_F(RemoteExchange, CompletesARenewalWithoutAnAnswer) {
  const auto renewal = std::make_shared<Renewal>(std::vector<Renewal::Item>{});
  way_.is_up = false;
  exchange_.lost(way_, {Errc::unavailable, "gone"}, false, false,
                 under_way(Purpose::renew, renewal));
  EXPECT_TRUE(renewal->done());
  EXPECT_TRUE(renewal->in_trouble());
}

// All connections of a store stand still. No event reports the end of that, and a lease goes on.
TEST_F(RemoteExchange, CompletesARenewalIfNoConnectionCanBeMade) {
  way_.may_come_up = false;
  way_.why_down = {Errc::unavailable, "no answer in time"};
  const auto renewal = submit(Purpose::renew);
  EXPECT_TRUE(renewal->done());
  EXPECT_TRUE(renewal->in_trouble());
}

// The same: calls that have ended by then are dropped when the store sends the waiting calls again.
// Promise: L7
TEST_F(RemoteExchange, KeepsNoCallsThatHaveEndedWhileNoConnectionComes) {
  std::vector<std::weak_ptr<Operation>> ended;
  for (int i = 0; i < 100; ++i) {
    const auto question = submit(Purpose::question);
    question->failed({Errc::timeout, "its caller has gone"});
    ended.push_back(question);
  }
  const auto waits = submit(Purpose::question);
  exchange_.send_again(exchange_.waiting().take(way_));
  for (const auto& each : ended) EXPECT_TRUE(each.expired());
  come_up();
  EXPECT_EQ(store_.take_sent(), "q");
}

// A cancel that is given up after a minute is no answer: a lost request may still have its hold.
// Promise: S5
TEST_F(RemoteExchange, LooksAtAnAttemptWhoseCancelIsGivenUp) {
  const auto gone = attempt_of(1);
  way_.is_up = true;
  exchange_.ask(gone);
  EXPECT_EQ(store_.take_sent(), "t");
  lose_a_request(gone, 0s);
  EXPECT_TRUE(courses_.cancelled(gone));
  way_.is_up = false;
  exchange_.put(under_way(Purpose::cancel, gone));
  clock_->advance(61s);
  break_off();
  EXPECT_TRUE(gone->done());
  come_up();
  EXPECT_EQ(store_.take_sent(), "l");
}

// The same of an attempt that the client takes back by itself.
// Promise: S5
TEST_F(RemoteExchange, LooksAtAnAbandonedAttemptThatIsGivenUp) {
  const auto gone = attempt_of(1);
  way_.is_up = true;
  exchange_.ask(gone);
  lose_a_request(gone, 0s);
  way_.is_up = false;
  gone->failed({Errc::denied, ""});
  exchange_.abandon(gone);
  store_.take_sent();
  clock_->advance(61s);
  come_up();
  EXPECT_EQ(store_.take_sent(), "l");
}

// The lost request waits in its commit, and its row is locked.
// Promise: S5
TEST_F(RemoteExchange, RepeatsALookForMoreThanAMinute) {
  const auto gone = attempt_of(1);
  lose_a_request(gone, 0s);
  way_.is_up = true;
  exchange_.look(clock_->now(), false);
  EXPECT_EQ(store_.take_sent(), "l");
  const auto first = Parcel::of(Purpose::look, gone, clock_->now());
  clock_->advance(100s);
  exchange_.repeat_at(first, clock_->now());
  exchange_.tick(clock_->now());
  EXPECT_EQ(store_.take_sent(), "l");
  clock_->advance(100s);
  exchange_.repeat_at(first, clock_->now());
  exchange_.tick(clock_->now());
  EXPECT_EQ(store_.take_sent(), "") << "no request can arrive so late";
}

// Its cancel is under way by another line.
TEST_F(RemoteExchange, WantsNoConnectionForAnAttemptThatIsBeingCancelled) {
  const auto cancelled = attempt_of(1);
  way_.is_up = true;
  exchange_.ask(cancelled);
  EXPECT_TRUE(courses_.cancelled(cancelled));
  lose_a_request(cancelled, 5s);
  break_off();
  EXPECT_EQ(way_.wanted, 0);
}

TEST_F(RemoteExchange, TellsTheStoreThatARouteWasLost) {
  const auto route = std::make_shared<Inspection>("a");
  break_off(under_way(Purpose::route, route));
  EXPECT_EQ(store_.lost_routes, 1);
  come_up();
  EXPECT_EQ(store_.take_sent(), "") << "the store asks anew";
}

TEST_F(RemoteExchange, SendsNothingThatNobodyWants) {
  const auto question = submit(Purpose::question);
  question->failed({Errc::timeout, "its caller has gone"});
  auto orphan = submit(Purpose::give_back);
  const auto release = submit(Purpose::release);
  orphan.reset();
  clock_->advance(2min);
  come_up();
  EXPECT_EQ(store_.take_sent(), "r");
}

TEST_F(RemoteExchange, LooksAtAnAttemptAsSoonAsItsCallGoesElsewhere) {
  const auto gone = attempt_of(1);
  lose_a_request(gone, 0s);
  store_.becomes_known = 1;  // while the look is kept, which waits for no other connection
  exchange_.look(clock_->now(), false);
  EXPECT_EQ(way_.wanted, 2) << "it was begun once more";
  lose_a_request(attempt_of(2), 0s);
  way_.is_up = true;
  exchange_.look(clock_->now(), true);
  EXPECT_EQ(store_.take_sent(), "ll");
}

TEST_F(RemoteExchange, WakesTheSleepingThreadForALookThatIsDueLater) {
  const auto gone = attempt_of(1);
  way_.is_up = true;
  exchange_.look(gone->request().attempt);
  EXPECT_EQ(store_.sooner_count, 0);
  lose_a_request(gone, 5s);
  exchange_.look(gone->request().attempt);
  EXPECT_EQ(store_.take_sent(), "");
  EXPECT_EQ(store_.sooner_count, 1);
  EXPECT_EQ(exchange_.due(), clock_->now() + 5s);
  clock_->advance(5s);
  exchange_.tick(clock_->now());
  EXPECT_EQ(store_.take_sent(), "l");
}

TEST_F(RemoteExchange, TakesAFailedAllocationForALostConnection) {
  const auto release = submit(Purpose::release);
  store_.without_memory = true;
  come_up();
  EXPECT_EQ(store_.broken, 1);
  store_.without_memory = false;
  come_up();
  EXPECT_EQ(store_.take_sent(), "r");
  store_.without_memory = true;
  const auto failed = attempt_of(1);
  static_cast<void>(courses_.asked(failed, way_.connection));
  failed->failed({Errc::denied, ""});
  exchange_.abandon(failed);
  EXPECT_EQ(store_.broken, 2);
  lose_a_request(attempt_of(2), 0s);
  exchange_.tick(clock_->now());
  EXPECT_EQ(store_.broken, 3);
  store_.without_memory = false;
  come_up();
  EXPECT_EQ(store_.take_sent(), "ul");
}

TEST_F(RemoteExchange, KeepsANewCallThatItHasNoMemoryToSend) {
  come_up();
  store_.without_memory = true;
  const auto attempt = attempt_of(1);
  exchange_.ask(attempt);
  const auto release = submit(Purpose::release);
  EXPECT_EQ(store_.noted, "tr") << "whether it has left is not known";
  EXPECT_EQ(store_.broken, 2);
  store_.without_memory = false;
  break_off();
  come_up();
  EXPECT_EQ(store_.take_sent(), "rt");
}

TEST_F(RemoteExchange, RepeatsACallAtItsMoment) {
  const auto release = std::make_shared<Release>(HoldId{});
  way_.is_up = true;
  exchange_.repeat_at({.operation = release, .kind = Purpose::give_back, .since = clock_->now()},
                      clock_->now() + 1s);
  EXPECT_EQ(store_.sooner_count, 1);
  EXPECT_EQ(exchange_.due(), clock_->now() + 1s);
  exchange_.tick(clock_->now());
  EXPECT_EQ(store_.take_sent(), "");
  clock_->advance(1s);
  exchange_.tick(clock_->now());
  EXPECT_EQ(store_.take_sent(), "g");
}

TEST_F(RemoteExchange, RepeatsWhatWasRefusedForNowIfNoCallerDoes) {
  const auto release = std::make_shared<Release>(HoldId{}, attempt_of(9));
  const auto back = std::make_shared<Release>(HoldId{});
  const auto question = std::make_shared<Inspection>("a");
  const Failure busy{Errc::unavailable, "busy"};
  way_.is_up = true;
  exchange_.refused({.operation = release, .kind = Purpose::release}, busy, false);
  exchange_.refused({.operation = back, .kind = Purpose::give_back, .since = clock_->now()}, busy,
                    false);
  exchange_.refused({.operation = question, .kind = Purpose::question}, busy, false);
  EXPECT_TRUE(release->in_trouble());
  EXPECT_TRUE(release->successor()->in_trouble());
  EXPECT_TRUE(back->in_trouble());
  EXPECT_EQ(question->failure().code, Errc::unavailable);
  clock_->advance(1s);
  exchange_.tick(clock_->now());
  EXPECT_EQ(store_.take_sent(), "g");
}

TEST_F(RemoteExchange, AsksForAnAttemptThatWasRefusedForNowWhenItsCallerDoes) {
  const auto waits = attempt_of(1);
  way_.is_up = true;
  exchange_.ask(waits);
  exchange_.refused(Parcel::of(Purpose::take, waits, clock_->now()), {Errc::unavailable, "busy"},
                    false);
  EXPECT_TRUE(waits->in_trouble());
  clock_->advance(1min);
  exchange_.tick(clock_->now());
  EXPECT_EQ(store_.take_sent(), "t");
  EXPECT_FALSE(courses_.cancelled(waits)) << "the server did nothing";
}

TEST_F(RemoteExchange, LooksForAHoldOfAnAttemptThatWasRefusedForGood) {
  const auto waits = attempt_of(1);
  const Failure denied{Errc::denied, "no permission"};
  way_.is_up = true;
  exchange_.ask(waits);
  lose_a_request(waits, 5s);
  exchange_.refused(Parcel::of(Purpose::take, waits, clock_->now()), denied, true);
  EXPECT_EQ(waits->failure().code, Errc::denied);
  EXPECT_EQ(store_.take_sent(), "t");
  EXPECT_EQ(store_.sooner_count, 1) << "the look is due later";
  clock_->advance(5s);
  exchange_.tick(clock_->now());
  EXPECT_EQ(store_.take_sent(), "l");
  exchange_.refused(Parcel::of(Purpose::look, waits, clock_->now()), denied, true);
  EXPECT_EQ(exchange_.due(), never) << "the next look would be refused as well";
  EXPECT_FALSE(courses_.is_any_pending(clock_->now()));
}

// Its rights were withdrawn meanwhile, or the server has no memory for more.
// Promise: L3
TEST_F(RemoteExchange, TakesAnAttemptOutOfTheQueueWhoseRepetitionIsRefusedForGood) {
  const auto waits = attempt_in_the_queue();
  refuse_for_good(Purpose::take, waits);
  EXPECT_EQ(waits->failure().code, Errc::denied);
  EXPECT_EQ(store_.take_sent(), "tu");
}

// The cancel waits for room while the refusal is read. By the refusal its caller has an error, and
// does not repeat it.
// Promise: L3
TEST_F(RemoteExchange, TakesACancelledAttemptOutOfTheQueueWhoseRepetitionIsRefusedForGood) {
  const auto waits = attempt_in_the_queue();
  exchange_.ask(waits);
  way_.room = 0;
  cancel(exchange_, courses_, Parcel{.operation = waits, .kind = Purpose::cancel});
  EXPECT_EQ(store_.take_sent(), "tt");
  refuse_for_good(Purpose::take, waits);
  way_.room = 2;
  exchange_.let_leave(way_);
  EXPECT_EQ(store_.take_sent(), "Cu");
}

// Promise: L3
TEST_F(RemoteExchange, TakesASuccessorOutOfTheQueueWhoseReleaseIsRefusedForGood) {
  const auto next = attempt_in_the_queue();
  refuse_for_good(Purpose::release, std::make_shared<Release>(HoldId{}, next));
  EXPECT_EQ(next->failure().code, Errc::denied);
  EXPECT_EQ(store_.take_sent(), "tu");
}

/// The courses, while another thread asks for the attempt right after its caller has found that the
/// server knows nothing of it.
struct AskedMeanwhile {
  Attempts& courses;
  std::function<void()> ask;
  bool cancelled(const std::shared_ptr<Acquisition>& operation) const {
    const bool is_known = courses.cancelled(operation);
    if (!operation->done()) ask();
    return is_known;
  }
};

// Promise: L3
TEST_F(RemoteExchange, TakesBackWhatANewConnectionAskedForMeanwhile) {
  const auto waits = attempt_of(1);
  exchange_.ask(waits);
  EXPECT_EQ(store_.take_sent(), "") << "there is no connection";
  AskedMeanwhile courses{courses_, [&] {
                           way_.is_up = true;
                           exchange_.ask(waits);
                         }};
  cancel(exchange_, courses, Parcel{.operation = waits, .kind = Purpose::cancel});
  EXPECT_TRUE(waits->done());
  EXPECT_EQ(store_.take_sent(), "tC");
}

// Promise: S5
TEST_F(RemoteExchange, LooksAtAnAttemptThatIsOverAlthoughARequestForItWasLost) {
  const auto waits = attempt_of(1);
  way_.is_up = true;
  exchange_.ask(waits);
  EXPECT_EQ(store_.take_sent(), "t");
  lose_a_request(waits, 5s);
  EXPECT_EQ(exchange_.due(), never) << "its own next request shows what the lost one took";
  waits->busy({});
  exchange_.over(waits->request().attempt);
  EXPECT_EQ(store_.sooner_count, 1) << "a thread sleeps, and the look is due";
  clock_->advance(5s);
  exchange_.tick(clock_->now());
  EXPECT_EQ(store_.take_sent(), "l");
}

// No caller waits, and no other call would have the client connect.
// Promise: S5
TEST_F(RemoteExchange, WantsAConnectionForALookThatWasLost) {
  const auto gone = attempt_of(1);
  lose_a_request(gone, 0s);
  way_.is_up = true;
  exchange_.look(clock_->now(), false);
  EXPECT_EQ(store_.take_sent(), "l");
  break_off(under_way(Purpose::look, gone));
  EXPECT_EQ(way_.wanted, 1);
  come_up();
  EXPECT_EQ(store_.take_sent(), "l");
  courses_.executed(gone->request().attempt, 2us, 1, clock_->now());
  courses_.over(gone->request().attempt);
  break_off();
  EXPECT_EQ(way_.wanted, 1) << "nothing is left to look at";
}

// Promise: S5
TEST_F(RemoteExchange, SendsOneOfSeveralCopiesOfALostCall) {
  const auto release = std::make_shared<Release>(HoldId{});
  way_.is_up = true;
  Post::Calls unanswered = under_way(Purpose::release, release);
  unanswered.splice(unanswered.end(), under_way(Purpose::release, release));
  break_off(std::move(unanswered));
  EXPECT_EQ(store_.noted, "rr");
  come_up();
  EXPECT_EQ(store_.take_sent(), "r");
  unanswered = under_way(Purpose::release, release);
  unanswered.splice(unanswered.end(), under_way(Purpose::release, release));
  exchange_.lost(way_, {Errc::unavailable, "gone"}, false, true, std::move(unanswered));
  EXPECT_EQ(store_.take_sent(), "r") << "another connection is up";
}

// A store with several connections for all names: another one is up when one of them is lost.
TEST_F(RemoteExchange, SendsWhatWasLostByAnotherConnectionAtOnce) {
  const auto waits = attempt_of(1);
  const auto release = std::make_shared<Release>(HoldId{});
  way_.is_up = true;
  exchange_.ask(waits);
  EXPECT_EQ(store_.take_sent(), "t");
  lose_a_request(attempt_of(2), 0s);
  exchange_.lost(way_, {Errc::unavailable, "gone"}, false, true,
                 under_way(Purpose::release, release));
  EXPECT_EQ(store_.take_sent(), "rl");
  EXPECT_FALSE(waits->in_trouble()) << "it was asked for by the other one";
}

// The servers of a URL are up, and belong to two clusters: nothing may be sent to either.
TEST_F(RemoteExchange, FailsAttemptsIfItIsFoundThatNoLineIsTheirs) {
  store_.settled = false;
  way_.is_up = true;
  const auto waits = attempt_of(1);
  const auto question = std::make_shared<Inspection>("a");
  exchange_.ask(waits);
  exchange_.submit({.operation = question, .kind = Purpose::question});
  lose_a_request(attempt_of(2), 0s);
  exchange_.lost(way_, {Errc::misconfigured, "two clusters"}, true, false, {});
  EXPECT_EQ(waits->failure().code, Errc::misconfigured);
  EXPECT_EQ(question->failure().code, Errc::misconfigured);
  EXPECT_EQ(store_.take_sent(), "");
}

TEST_F(RemoteExchange, SendsAgainWhatWasMisreadIfItFrees) {
  const auto release = std::make_shared<Release>(HoldId{});
  const auto question = std::make_shared<Inspection>("a");
  const Failure why{Errc::protocol, "rubbish"};
  exchange_.misread(way_, {.operation = release, .kind = Purpose::release}, why);
  exchange_.misread(way_, {.operation = question, .kind = Purpose::question}, why);
  EXPECT_EQ(question->failure().code, Errc::protocol);
  EXPECT_FALSE(release->done());
  EXPECT_EQ(store_.noted, "r");
  come_up();
  EXPECT_EQ(store_.take_sent(), "r");
}

TEST_F(RemoteExchange, KeepsACallWhereItsConnectionWasLost) {
  const auto release = std::make_shared<Release>(HoldId{});
  way_.is_up = true;
  store_.way = &other_;  // the name has moved since the call was sent
  exchange_.misread(way_, {.operation = release, .kind = Purpose::give_back},
                    {Errc::protocol, "rubbish"});
  EXPECT_TRUE(exchange_.waiting().any(way_));
  break_off();
  EXPECT_TRUE(exchange_.waiting().any(other_)) << "it goes where the name is now";
  EXPECT_GT(other_.wanted, 0);
}

TEST_F(RemoteExchange, ForgetsAReleaseThatIsRefusedForGood) {
  const auto waits = attempt_of(1);
  way_.is_up = true;
  exchange_.ask(waits);
  const HoldId hold{.name = "a", .attempt = waits->request().attempt, .number = 7};
  ASSERT_EQ(courses_.held(hold.attempt, hold.number, clock_->now(), clock_->now() + 30s), 7U);
  courses_.on(hold.attempt, [](auto& entry) { return entry.course.reject(7); });
  exchange_.refused({.operation = std::make_shared<Release>(hold), .kind = Purpose::give_back},
                    {Errc::denied, "no permission"}, true);
  EXPECT_TRUE(courses_.asked(waits, way_.connection)) << "its caller still waits";
}

// Thousands of calls that are not concerned may wait there.
TEST_F(RemoteExchange, AsksForNothingAgainButWhatWasLostIfAnyConnectionWillDo) {
  PostOffice<Freight> store;
  store.courses = &courses_;
  store.way = &way_;
  Freight freight(store, courses_, clock_);
  freight.waiting().add_line(way_);
  const auto waits = attempt_of(1);
  const auto lost = attempt_of(2);
  way_.is_up = true;
  freight.ask(waits);
  freight.ask(lost);
  EXPECT_EQ(store.take_sent(), "tt");
  way_.is_up = false;
  freight.lost(way_, {Errc::unavailable, "gone"}, false, true,
               {ParcelOf<false>::of(Purpose::take, lost, clock_->now())});
  const auto late = attempt_of(3);
  freight.ask(late);
  EXPECT_EQ(store.take_sent(), "");
  way_.is_up = true;
  freight.connected(way_);
  EXPECT_EQ(store.take_sent(), "tt") << "the lost one, and the one that came since";
}

TEST_F(RemoteExchange, GivesWhatIsLeftWhenItCloses) {
  const auto release = submit(Purpose::release);
  EXPECT_EQ(exchange_.close().size(), 1U);
  break_off();
  EXPECT_EQ(way_.wanted, 1) << "no line is wanted any more";
}

}  // namespace
}  // namespace mortise::remote
