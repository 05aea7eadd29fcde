// SPDX-License-Identifier: MIT
// Goal: a connection may end at any step of taking, waiting and leaving, and of a run, before the
// server has a request or after it has answered it: what the caller is told is what the server
// knows, and no node is left behind (S5). Method: the proxy ends the connection at the nth request,
// for every n until there is none so late any more.
#include "fault/zookeeper_fixture.hpp"
#include "zookeeper/lock_path.hpp"

#include <ostream>

namespace mortise::fault {
namespace {

constexpr std::size_t most_steps = 40;

// A session that is cut off, and comes back, on a machine that does much else: it is not to end by
// itself. Where it is to end, the server ends it.
constexpr const char* long_session = "session=20s&margin=300ms";

enum class Parent { missing, there };
enum class Session { lives, ends };

struct Cut {
  Proxy::Moment moment;
  Parent parent;
  Session session;
};

std::string name_of(const Cut& cut) {
  return std::string(cut.moment == Proxy::Moment::request ? "LostRequest" : "LostReply") +
         (cut.parent == Parent::there ? "" : "WithoutParent") +
         (cut.session == Session::lives ? "" : "AndTheSessionEnds");
}

std::ostream& operator<<(std::ostream& out, const Cut& cut) { return out << name_of(cut); }

class ZooKeeperSteps : public ZooKeeperTest, public ::testing::WithParamInterface<Cut> {
 protected:
  void SetUp() override {
    if (GetParam().session == Session::lives) {
      ZooKeeperTest::SetUp();
    } else {
      MORTISE_NEEDS(ZooKeeperServer::missing_handle());
      have_own({.handled = true});
    }
  }

  [[nodiscard]] Client client() { return Client(url(long_session)); }
  /// A client on the other side of the proxy, whose session stands.
  [[nodiscard]] Client proxied() {
    Client mine(proxied_url(long_session));
    mine.check(patience);
    return mine;
  }
  /// Has the connection end at the nth request from now. Where the session is to end, the client
  /// comes back only after that.
  void cut_at(std::size_t nth) {
    if (GetParam().session == Session::ends) proxy().reset_new(true);
    proxy().cut_at(nth, GetParam().moment);
  }
  /// Ends sessions behind the proxy once the connection has been cut. @return whether it was
  bool let_come_back(const std::future<void>& done, std::int64_t session) {
    const bool decided = eventually([&] { return !proxy().cut_is_ahead() || comes(done, 0s); });
    EXPECT_TRUE(decided);
    const bool cut = !proxy().cut_is_ahead();
    ended_ = cut && GetParam().session == Session::ends;
    if (ended_) server().expire(session);
    proxy().heal();
    return cut;
  }
  /// A lock of this name; its parent is there already if that is the case to look at.
  [[nodiscard]] std::string fresh_name(Client& user) {
    std::string name = "name " + std::to_string(++names_);
    if (GetParam().parent == Parent::there) make_parent(user, name);
    return name;
  }
  /// @return the session of the client, which holds "witness".
  [[nodiscard]] std::int64_t session_of_witness() { return owner_of(queue("witness").front()); }
  /// Has the witness held again where its session has ended.
  void hold(Lock& witness) {
    if (witness.hold_count() > 0 && !ended_) return;
    if (witness.hold_count() > 0) {
      EXPECT_TRUE(eventually([&] { return witness.lost().stop_requested(); }));
      EXPECT_EQ(witness.release(), Released::was_lost);
    }
    ASSERT_TRUE(witness.try_lock_for(patience));
    ended_ = false;
  }
  /// What one thread does with the lock while its connection is cut somewhere.
  void take_and_leave(Lock& lock, const std::string& about) {
    std::error_code error;
    const bool held = lock.try_lock_for(patience, error);
    EXPECT_TRUE(held) << about << ": " << error.message();
    if (!held) return;
    EXPECT_GT(lock.token().value(), 0U) << about;
    // Where the session ends meanwhile the lock may be lost.
    const bool lives = GetParam().session == Session::lives;
    if (lives) {
      EXPECT_EQ(queue(lock.name()).size(), 1U) << about;
    }
    const Released outcome = lock.release();
    if (lives) {
      EXPECT_EQ(outcome, Released::released) << about;
    }
  }
  static void run_a_key(Client& mine, Client& theirs, const std::string& key,
                        const std::string& about);

 private:
  int names_ = 0;
  bool ended_ = false;
};

TEST_P(ZooKeeperSteps, OfTakingAndLeaving) {
  Client mine = proxied();
  Lock witness = mine.make_lock("witness");
  Worker worker;
  bool was_cut = true;
  std::size_t steps = 0;
  while (was_cut && steps < most_steps) {
    const std::string about = "step " + std::to_string(++steps);
    const std::string name = fresh_name(mine);
    hold(witness);
    const std::int64_t mine_now = session_of_witness();
    Lock lock = mine.make_lock(name);
    cut_at(steps);
    const std::future<void> done = worker.start([&] { take_and_leave(lock, about); });
    was_cut = let_come_back(done, mine_now);
    ASSERT_TRUE(comes(done)) << about;
    expect_free(name);
    ASSERT_FALSE(HasFailure()) << about;
  }
  EXPECT_LT(steps, most_steps);
  EXPECT_GT(steps, 3U) << "a take and a leave are three requests at least";
}

TEST_P(ZooKeeperSteps, OfWaiting) {
  Client mine = proxied();
  Client theirs = client();
  Lock witness = mine.make_lock("witness");
  Worker worker;
  bool was_cut = true;
  std::size_t steps = 0;
  while (was_cut && steps < most_steps) {
    const std::string about = "step " + std::to_string(++steps);
    const std::string name = fresh_name(theirs);
    Lock before = theirs.make_lock(name);
    before.lock();
    hold(witness);
    const std::int64_t mine_now = session_of_witness();
    Lock lock = mine.make_lock(name);
    cut_at(steps);
    const std::future<void> done = worker.start([&] { take_and_leave(lock, about); });
    // While it waits, or after it was told of its turn.
    static_cast<void>(eventually([&] { return !proxy().cut_is_ahead(); }, 300ms));
    EXPECT_FALSE(comes_within(done, 0s)) << about << ": two hold the lock";
    if (proxy().cut_is_ahead()) {
      EXPECT_EQ(before.release(), Released::released) << about;
      was_cut = let_come_back(done, mine_now);
    } else {
      was_cut = let_come_back(done, mine_now);
      EXPECT_TRUE(come_to_wait(name)) << about;
      EXPECT_FALSE(comes_within(done, 0s)) << about << ": two hold the lock";
      EXPECT_EQ(before.release(), Released::released) << about;
    }
    ASSERT_TRUE(comes(done)) << about;
    expect_free(name);
    ASSERT_FALSE(HasFailure()) << about;
  }
  EXPECT_LT(steps, most_steps);
  EXPECT_GT(steps, 3U);
}

/// What one thread does with a key while its connection is cut somewhere: what it is told of its
/// outcome is to be what another client sees.
void ZooKeeperSteps::run_a_key(Client& mine, Client& theirs, const std::string& key,
                               const std::string& about) {
  std::error_code error;
  mortise::Run run = mine.make_once(key, {.wait = patience}).begin(error);
  EXPECT_TRUE(run) << about << ": " << error.message();
  if (!run) return;
  const std::uint64_t number = run.number();
  const Outcome told = run.succeed(about, error);
  const Outcome seen = theirs.make_once(key).look();
  if (told.state() == KeyState::succeeded) {
    EXPECT_EQ(seen.result(), about);
    EXPECT_EQ(seen.number(), number) << about;
  } else if (told.lost()) {
    EXPECT_EQ(seen.state(), KeyState::pending) << about << ": it was told that nothing is recorded";
  } else {
    EXPECT_EQ(error, Errc::in_doubt) << about;
  }
  // Where the session ends meanwhile the run may be lost.
  if (GetParam().session == Session::lives) {
    EXPECT_FALSE(told.lost()) << about;
  }
}

TEST_P(ZooKeeperSteps, OfRunningAKey) {
  Client mine = proxied();
  Client theirs = client();
  Lock witness = mine.make_lock("witness");
  Worker worker;
  bool was_cut = true;
  std::size_t steps = 0;
  while (was_cut && steps < most_steps) {
    const std::string about = "step " + std::to_string(++steps);
    const std::string key = "key " + std::to_string(steps);
    hold(witness);
    const std::int64_t mine_now = session_of_witness();
    if (GetParam().parent == Parent::missing) {
      server().talk().remove_all(zookeeper::keys_path("/" + root()));
    }
    cut_at(steps);
    const std::future<void> done = worker.start([&] { run_a_key(mine, theirs, key, about); });
    was_cut = let_come_back(done, mine_now);
    ASSERT_TRUE(comes(done)) << about;
    const Outcome last = theirs.make_once(key, {.wait = patience}).run([] { return "in the end"; });
    EXPECT_EQ(last.state(), KeyState::succeeded) << about;
    ZooKeeperTalk talk = server().talk();
    EXPECT_TRUE(eventually([&] { return locks().queue_of_key(talk, key).empty(); })) << about;
    ASSERT_FALSE(HasFailure()) << about;
  }
  EXPECT_LT(steps, most_steps);
  EXPECT_GT(steps, 4U) << "a look, a begin and a conclusion are more";
}

INSTANTIATE_TEST_SUITE_P(
    ZooKeeperCut, ZooKeeperSteps,
    ::testing::Values(Cut{Proxy::Moment::request, Parent::there, Session::lives},
                      Cut{Proxy::Moment::reply, Parent::there, Session::lives},
                      Cut{Proxy::Moment::request, Parent::missing, Session::lives},
                      Cut{Proxy::Moment::reply, Parent::missing, Session::lives},
                      Cut{Proxy::Moment::request, Parent::there, Session::ends},
                      Cut{Proxy::Moment::reply, Parent::there, Session::ends}),
    [](const auto& one) { return name_of(one.param); });

}  // namespace
}  // namespace mortise::fault
