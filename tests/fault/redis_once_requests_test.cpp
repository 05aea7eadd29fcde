// SPDX-License-Identifier: MIT
// Goal: what the library asks of keys becomes what the server decides: runs, records, conclusions
// that survive lost answers, and waiters that a push ends. Method: backends without the library's
// half, through a proxy that loses what it is told to.
#include "fault/redis_once.hpp"
#include "fault/redis_proxied.hpp"
#include "redis/store/redis_backend.hpp"
#include "support/one_shot_host.hpp"

namespace mortise::fault {
namespace {

/// A client's backend.
class KeyUser {
 public:
  KeyUser(const std::string& url, std::uint64_t client)
      : client_(client), backend_(redis::Settings::parse(url)) {
    backend_.start(host_);
    const auto check = std::make_shared<Check>();
    backend_.check(check);
    run(*check);
  }
  KeyUser(const KeyUser&) = delete;
  KeyUser& operator=(const KeyUser&) = delete;
  ~KeyUser() { backend_.stop(); }

  [[nodiscard]] redis::RedisBackend& backend() { return backend_; }
  bool run(const Operation& operation, std::chrono::milliseconds at_most = 10s) {
    host_.run(operation, at_most);
    return operation.done();
  }
  std::shared_ptr<Acquisition> begin(Memory memory = {}, std::string key = "a") {
    if (memory.keep.count() == 0) memory.keep = 24h;
    const auto operation = std::make_shared<Acquisition>(Acquisition::Request{
        .attempt = {.client_high = 1, .client_low = client_, .sequence = ++sequence_},
        .name = std::move(key),
        .mode = Mode::once,
        .lease = 30s,
        .label = "mine",
        .wait = true,
        .memory = std::make_shared<Memory>(std::move(memory))});
    backend_.acquire(operation);
    return operation;
  }
  /// @return one that is done, as it must be.
  std::shared_ptr<Acquisition> begun(Memory memory = {}, std::string key = "a") {
    auto operation = begin(std::move(memory), std::move(key));
    EXPECT_TRUE(run(*operation));
    return operation;
  }
  [[nodiscard]] static HoldId hold(const Acquisition& of) {
    return {of.request().name, of.request().attempt, of.grant().number, Mode::once};
  }
  std::shared_ptr<Release> conclude(const Acquisition& of, KeyState state, std::string bytes) {
    Conclusion conclusion{.state = state,
                          .bytes = std::move(bytes),
                          .run = of.grant().run,
                          .memory = of.request().memory};
    const auto release = std::make_shared<Release>(
        hold(of), std::make_shared<const Conclusion>(std::move(conclusion)));
    backend_.release(release);
    return release;
  }
  Released concluded(const Acquisition& of, KeyState state, std::string bytes) {
    const auto release = conclude(of, state, std::move(bytes));
    EXPECT_TRUE(run(*release)) << release->trouble().value_or(Failure()).text;
    return release->outcome();
  }
  Released give_back(const Acquisition& of) {
    const auto release = std::make_shared<Release>(hold(of));
    backend_.release(release);
    EXPECT_TRUE(run(*release));
    return release->outcome();
  }
  mortise::Record recall(Recollection::Kind kind, std::string key = "a") {
    const auto operation = std::make_shared<Recollection>(kind, std::move(key));
    backend_.recall(operation);
    EXPECT_TRUE(run(*operation));
    EXPECT_TRUE(operation->record()) << operation->failure().text;
    return operation->record() ? *operation->record() : mortise::Record();
  }
  mortise::Record look(std::string key = "a") {
    return recall(Recollection::Kind::look, std::move(key));
  }
  mortise::Record forget() { return recall(Recollection::Kind::forget); }

 private:
  const std::uint64_t client_;
  std::uint64_t sequence_ = 0;
  test::OneShotHost host_;
  redis::RedisBackend backend_;
};

class RedisOnceRequests : public ProxiedRedisTest {
 protected:
  [[nodiscard]] KeyUser& mine() {
    if (!mine_) mine_.emplace(proxy().url(), 7);
    return *mine_;
  }
  [[nodiscard]] KeyUser& other() {
    if (!other_) other_.emplace(server().url(), 8);
    return *other_;
  }

 private:
  std::optional<KeyUser> mine_;
  std::optional<KeyUser> other_;
};

TEST_F(RedisOnceRequests, RunAKeyAndAreToldOfIt) {
  const auto first = mine().begun({.fingerprint = "print"});
  EXPECT_EQ(first->grant().run, 1U);
  const std::string bytes("\0 any", 5);
  EXPECT_EQ(mine().concluded(*first, KeyState::succeeded, bytes), Released::released);
  const auto second = other().begun({.fingerprint = "print"});
  ASSERT_TRUE(second->record());
  EXPECT_EQ(second->record()->state, KeyState::succeeded);
  EXPECT_EQ(second->record()->bytes, bytes);
  EXPECT_EQ(second->record()->number, first->grant().number);
  const auto third = other().begun({.fingerprint = "other"});
  ASSERT_TRUE(third->record());
  EXPECT_EQ(third->record()->fingerprint, "print");
  EXPECT_EQ(mine().look().bytes, bytes);
  EXPECT_FALSE(mine().forget().held);
  EXPECT_EQ(mine().look().state, KeyState::absent);
  EXPECT_EQ(other().begun()->grant().run, 1U);
  EXPECT_TRUE(mine().forget().held) << "what runs is not forgotten";
  EXPECT_EQ(mine().look().state, KeyState::pending);
}

TEST_F(RedisOnceRequests, CarryNamesAndBytesOfEveryKind) {
  std::string every;
  for (int byte = 0; byte < 256; ++byte) every += static_cast<char>(byte);
  for (const std::string& key : {std::string("x!"), std::string("{x}!"), std::string("x}!"),
                                 std::string("!"), every, std::string(512, '}')}) {
    const auto run = mine().begun({.fingerprint = every.substr(0, longest_fingerprint)}, key);
    ASSERT_EQ(run->grant().run, 1U) << key;
    std::string bytes;
    while (bytes.size() < longest_outcome) bytes += every;
    EXPECT_EQ(mine().concluded(*run, KeyState::failed, bytes), Released::released);
    EXPECT_EQ(other().look(key).bytes, bytes);
    EXPECT_EQ(other().look(key).state, KeyState::failed);
    EXPECT_EQ(other().look(key).fingerprint, every.substr(0, longest_fingerprint));
  }
}

TEST_F(RedisOnceRequests, ThatWaitAreToldByAPush) {
  const auto first = mine().begun();
  const auto waits = other().begin();
  EXPECT_FALSE(other().run(*waits, 200ms));
  EXPECT_EQ(waits->progress(), Acquisition::Progress::queued);
  EXPECT_EQ(mine().concluded(*first, KeyState::succeeded, "done"), Released::released);
  // Sooner than it would ask by itself, which nobody does here.
  ASSERT_TRUE(other().run(*waits, 5s));
  ASSERT_TRUE(waits->record());
  EXPECT_EQ(waits->record()->bytes, "done");
}

TEST_F(RedisOnceRequests, ThatWaitHaveTheNextRunByAPush) {
  const auto first = mine().begun();
  const auto waits = other().begin();
  EXPECT_FALSE(other().run(*waits, 200ms));
  EXPECT_EQ(mine().give_back(*first), Released::released);
  ASSERT_TRUE(other().run(*waits, 5s));
  EXPECT_EQ(waits->grant().run, 2U);
  EXPECT_GT(waits->grant().number, first->grant().number);
  const auto renewal = std::make_shared<Renewal>(
      std::vector<Renewal::Item>{{.hold = KeyUser::hold(*waits), .lease = 30s}});
  other().backend().renew(renewal);
  ASSERT_TRUE(other().run(*renewal));
  EXPECT_EQ(renewal->items().front().answer, Renewal::Answer::renewed);
  EXPECT_EQ(mine().concluded(*first, KeyState::succeeded, "late"), Released::was_lost);
  EXPECT_EQ(other().concluded(*waits, KeyState::succeeded, "done"), Released::released);
  EXPECT_EQ(mine().look().bytes, "done");
}

TEST_F(RedisOnceRequests, ThatAreTakenBackLeaveNothing) {
  const auto first = mine().begun();
  const auto waits = other().begin();
  EXPECT_FALSE(other().run(*waits, 200ms));
  other().backend().cancel(waits);
  ASSERT_TRUE(other().run(*waits));
  EXPECT_EQ(waits->grant().number, 0U);
  EXPECT_FALSE(waits->record());
  EXPECT_EQ(mine().give_back(*first), Released::released);
  EXPECT_EQ(mine().begun()->grant().run, 2U) << "nobody else was granted it";
}

// Each of them once, with the server's answer lost: the same as if it had come.
TEST_F(RedisOnceRequests, WhoseAnswersAreLostAreAnsweredAsTheyWere) {
  const auto lose_next = [&] {
    EXPECT_FALSE(proxy().cut_is_ahead()) << "the one before was not lost";
    proxy().cut_at(1, Proxy::Moment::reply);
  };
  lose_next();
  const auto first = mine().begun();
  EXPECT_EQ(first->grant().run, 1U);
  lose_next();
  EXPECT_EQ(mine().concluded(*first, KeyState::failed, "no"), Released::released);
  EXPECT_EQ(mine().look().bytes, "no");
  lose_next();
  const auto told = mine().begun({.repeat = Repeat::never});
  ASSERT_TRUE(told->record());
  EXPECT_EQ(told->record()->bytes, "no");
  // Another one has run it by the time that it is said again.
  const auto again = mine().begun();
  EXPECT_EQ(again->grant().run, 2U);
  proxy().refuse(true);
  lose_next();
  const auto release = mine().conclude(*again, KeyState::failed, "still no");
  EXPECT_FALSE(mine().run(*release, 300ms));
  EXPECT_EQ(other().look().bytes, "still no");
  const auto theirs = other().begun();
  EXPECT_EQ(theirs->grant().run, 3U);
  proxy().refuse(false);
  ASSERT_TRUE(mine().run(*release));
  EXPECT_EQ(release->outcome(), Released::released) << "its record stands";
  EXPECT_EQ(other().concluded(*theirs, KeyState::succeeded, "yes"), Released::released);
  lose_next();
  EXPECT_FALSE(mine().forget().held);
  EXPECT_FALSE(proxy().cut_is_ahead());
  EXPECT_EQ(other().look().state, KeyState::absent);
}

TEST_F(RedisOnceRequests, ThatForgetDoNotForgetWhatWasRecordedSince) {
  const auto first = other().begun();
  ASSERT_EQ(other().concluded(*first, KeyState::succeeded, "one"), Released::released);
  static_cast<void>(mine().look());
  proxy().refuse(true);
  proxy().cut_at(2, Proxy::Moment::reply);  // it has looked, and forgets
  const auto forget = std::make_shared<Recollection>(Recollection::Kind::forget, "a");
  mine().backend().recall(forget);
  EXPECT_FALSE(mine().run(*forget, 300ms));
  ASSERT_EQ(other().look().state, KeyState::absent);
  const auto second = other().begun();
  ASSERT_EQ(second->grant().run, 1U);
  proxy().refuse(false);
  ASSERT_TRUE(mine().run(*forget));
  EXPECT_EQ(forget->failure().code, Errc::in_doubt) << "the first time it was";
  EXPECT_EQ(other().concluded(*second, KeyState::succeeded, "two"), Released::released);
  EXPECT_EQ(other().look().bytes, "two");
}

TEST_F(RedisOnceRequests, WithoutMemoryFailAndTheHoldStands) {
  const auto first = mine().begun();
  server().talk().expect_ok({"CONFIG", "SET", "maxmemory", "1"});
  const auto refused = mine().conclude(*first, KeyState::succeeded, "done");
  ASSERT_TRUE(mine().run(*refused));
  EXPECT_EQ(refused->failure().code, Errc::exhausted);
  EXPECT_THAT(refused->failure().text, HasSubstr("OOM"));
  EXPECT_TRUE(mine().look().held);
  server().talk().expect_ok({"CONFIG", "SET", "maxmemory", "0"});
  EXPECT_EQ(mine().concluded(*first, KeyState::succeeded, "done"), Released::released);
  EXPECT_EQ(mine().look().bytes, "done");
}

TEST_F(RedisOnceRequests, BesideRedissonAreOfNoConcernToIt) {
  KeyUser beside(server().url() + "?interop=redisson", 9);
  const auto first = beside.begun({}, "a{}");
  ASSERT_EQ(first->grant().run, 1U);
  EXPECT_EQ(server().talk().command({"EXISTS", "a{}"}).integer, 0);
  const auto lock = std::make_shared<Acquisition>(
      Acquisition::Request{.attempt = {.client_high = 1, .client_low = 9, .sequence = 99},
                           .name = "b",
                           .lease = 30s,
                           .wait = true});
  beside.backend().acquire(lock);
  ASSERT_TRUE(beside.run(*lock));
  const auto renewal = std::make_shared<Renewal>(std::vector<Renewal::Item>{
      {.hold = KeyUser::hold(*first), .lease = 30s},
      {.hold = {"b", lock->request().attempt, lock->grant().number}, .lease = 30s}});
  beside.backend().renew(renewal);
  ASSERT_TRUE(beside.run(*renewal));
  EXPECT_EQ(renewal->items()[0].answer, Renewal::Answer::renewed);
  EXPECT_EQ(renewal->items()[1].answer, Renewal::Answer::renewed);
  EXPECT_EQ(other().begin({}, "a{}")->request().mode, Mode::once);
  EXPECT_EQ(beside.concluded(*first, KeyState::succeeded, "done"), Released::released);
  EXPECT_EQ(other().look("a{}").bytes, "done");
}

}  // namespace
}  // namespace mortise::fault
