// SPDX-License-Identifier: MIT
// Goal: the two situations in which a quorum of leases excludes nobody — a holder that is paused
// between its look and its write, and servers whose clocks jump — are those in which the token
// does; and tokens grow over every sequence of majorities. Method: a store that checks tokens, and
// one that does not, under the same two writers.
#include "base/random_id.hpp"
#include "fault/redlock_fixture.hpp"
#include "model/process.hpp"
#include "model/seed.hpp"
#include "support/contract_process.hpp"
#include "support/free_port.hpp"

#include <algorithm>
#include <array>
#include <atomic>

namespace mortise::fault {
namespace {

/// What the locks protect: who wrote last, where older tokens are refused, and where they are not
/// looked at.
struct Shelf {
  std::atomic<std::uint64_t> token{0};
  std::atomic<int> writer{0};
  std::atomic<int> writer_of_trust{0};

  bool write(int who, Token with) {
    writer_of_trust.store(who);
    std::uint64_t last = token.load();
    do {
      if (with.value() < last) return false;
    } while (!token.compare_exchange_weak(last, with.value()));
    writer.store(who);
    return true;
  }
};

class RedlockFencing : public RedlockTest {
 protected:
  /// To a server whose clock has stepped forward a lease began so much earlier.
  void step_clock(std::size_t server, const std::string& name, std::chrono::microseconds by) {
    const std::int64_t ends = std::stoll(field(server, name, "ends"));
    servers()[server].talk().expect_ok(
        {"HSET", key(name), "ends", std::to_string(ends - by.count())});
  }
  /// Another attempt, that came no further, was given this number there.
  void raise_number(std::size_t server, const std::string& name, std::uint64_t number) {
    servers()[server].talk().expect_ok({"HSET", key(name), "max_grant", std::to_string(number)});
  }
  /// @return the greatest that it knows.
  [[nodiscard]] std::uint64_t number_at(std::size_t server, const std::string& name) {
    const auto number_in = [&](const char* which) {
      return std::stoull("0" + field(server, name, which));
    };
    return std::max<std::uint64_t>(number_in("grant"), number_in("max_grant"));
  }
  /// A client that cannot reach these two of five.
  [[nodiscard]] Client client_without(std::size_t one, std::size_t other) {
    std::vector<std::uint16_t> ports;
    // Chosen when the servers have theirs.
    while (servers().size() > 0 && nobody_[0] == nobody_[1]) {
      nobody_ = {test::free_port(), test::free_port()};
    }
    for (std::size_t i = 0; i < servers().size(); ++i) {
      const bool reached = i != one && i != other;
      ports.push_back(reached ? servers()[i].port() : nobody_[i == one ? 0 : 1]);
    }
    return Client(test::redlock_url(ports));
  }

 private:
  std::array<std::uint16_t, 2> nobody_{};  // ports where nobody listens
};

TEST_F(RedlockFencing, AHolderThatIsPausedBeyondItsLeaseIsRefusedByItsToken) {
  static_cast<void>(servers());
  const contract::Shared<Shelf> shelf;
  const contract::Line line;
  const contract::Line goes_on;
  const std::string url = servers().url();
  model::Process paused = model::Process::fork_child([&] {
    Client mine(url);
    Lock lock = mine.make_lock("a", {.lease = 500ms});
    const Guard guard(lock);
    // It looks, and then is paused: no lease helps.
    if (guard.valid_for() == 0ns) return 1;
    line.tell('h');
    if (goes_on.hear(10s) != 'g') return 2;
    return shelf->write(1, guard.token()) ? 3 : 0;
  });
  ASSERT_EQ(line.hear(patience), 'h');
  ASSERT_TRUE(paused.stop());
  goes_on.tell('g');
  Client mine = client();
  Lock lock = mine.make_lock("a");
  ASSERT_TRUE(taken_within(lock, 500ms + 1s));
  EXPECT_TRUE(shelf->write(2, lock.token()));
  paused.resume();
  const auto exit = paused.wait_for(patience);
  ASSERT_TRUE(exit);
  EXPECT_EQ(exit->code, 0) << "3: its write went through";
  EXPECT_EQ(shelf->writer.load(), 2);
  EXPECT_EQ(shelf->writer_of_trust.load(), 1) << "without tokens the new holder's write is lost";
  EXPECT_EQ(lock.release(), Released::released);
}

TEST_F(RedlockFencing, AHolderWhoseServersClocksJumpIsRefusedByItsToken) {
  Client mine = ready_client();
  Client other = ready_client();
  Lock lock = mine.make_lock("a", {.lease = 20s, .renew = false});
  Lock theirs = other.make_lock("a", {.lease = 20s, .renew = false});
  lock.lock();
  EXPECT_TRUE(eventually([&] { return holds("a") == servers().size(); }));
  EXPECT_FALSE(theirs.try_lock());
  for (const std::size_t i : {1U, 2U, 4U}) step_clock(i, "a", 25s);
  ASSERT_TRUE(taken_within(theirs, 2s));
  EXPECT_GT(lock.valid_for(), 0ns) << "two hold it: no lease helps";
  EXPECT_GT(theirs.valid_for(), 0ns);
  EXPECT_GT(theirs.token(), lock.token());
  Shelf shelf;
  EXPECT_TRUE(shelf.write(1, lock.token()));
  EXPECT_TRUE(shelf.write(2, theirs.token()));
  EXPECT_FALSE(shelf.write(1, lock.token()));
  EXPECT_EQ(shelf.writer.load(), 2);
  EXPECT_EQ(shelf.writer_of_trust.load(), 1) << "without tokens the new holder's write is lost";
  EXPECT_EQ(theirs.release(), Released::released);
  static_cast<void>(lock.release());
}

// Each grant is by another majority, and on each server some names are ahead.
// Promise: S2
TEST_F(RedlockFencing, TokensGrowOverAnySequenceOfMajorities) {
  base::SplitMix random(model::test_seed());
  std::vector<Client> clients;
  clients.reserve(10);
  for (std::size_t out = 0; out < 5; ++out) {
    for (std::size_t also = out + 1; also < 5; ++also) clients.push_back(client_without(out, also));
  }
  Token last;
  for (int i = 0; i < 150; ++i) {
    Lock lock = clients[random.next() % clients.size()].make_lock("a", {.lease = 20s});
    if (i % 5 == 4) raise_number(random.next() % 5, "a", last.value() / 1024 + random.next() % 100);
    ASSERT_TRUE(lock.try_lock_for(patience)) << i;
    EXPECT_GT(lock.token(), last) << i;
    last = lock.token();
    ASSERT_EQ(lock.release(), Released::released) << i;
  }
}

// One server has seen more than the others: whoever meets it takes its number to a majority.
TEST_F(RedlockFencing, ANumberThatOneServerKnowsIsWrittenToAMajorityBeforeTheGrant) {
  Client meets = client_without(3, 4);
  Lock lock = meets.make_lock("a", {.lease = 20s});
  lock.lock();
  const std::uint64_t first = lock.token().value() / 1024;
  lock.unlock();
  expect_free("a");
  // Far ahead of every clock, as a client whose clock is wrong would have left it.
  const std::uint64_t ahead = first + 1'000'000'000'000;
  raise_number(0, "a", ahead);
  lock.lock();
  const Token token = lock.token();
  EXPECT_GT(token.value() / 1024, ahead);
  for (const std::size_t i : {0U, 1U, 2U}) EXPECT_GT(number_at(i, "a"), ahead) << i;
  lock.unlock();
  // Majorities that have never met that server, and have one of the others in common with it.
  for (const std::size_t common : {1U, 2U}) {
    Client other = client_without(0, 3 - common);
    Lock next = other.make_lock("a", {.lease = 20s});
    next.lock();
    EXPECT_GT(next.token(), token) << common;
    next.unlock();
  }
}

// A round whose number was settled below what this server gave is lost; the next one of the same
// attempt must not find the settled number there.
TEST_F(RedlockFencing, AVoteThatIsAskedForAgainGetsTheGreatestNumberThatTheServerGave) {
  static_cast<void>(servers(3));
  RedisTalk talk = servers()[0].talk();
  const std::string attempt(48, 'a');
  const auto call = [&](const redis::Script& script, std::vector<std::string> words) {
    RedisTalk::Command command{"EVAL", std::string(script.text), "1", key("a"), attempt};
    command.insert(command.end(), words.begin(), words.end());
    return talk.expect_ok(command).items;
  };
  const std::vector<std::string> take{"1", "8000000000000000", "20000", "1700000000000000", "label",
                                      "00"};
  raise_number(0, "a", 1'800'000'000'000'000);
  ASSERT_EQ(call(redlock::scripts::acquire, take).at(2).integer, 1'800'000'000'000'001);
  ASSERT_EQ(call(redlock::scripts::settle, {"1", "1700000000000005"}).at(0).text, "higher");
  EXPECT_EQ(call(redlock::scripts::acquire, take).at(2).integer, 1'800'000'000'000'001);
  EXPECT_EQ(number_at(0, "a"), 1'800'000'000'000'001U);
}

// A client whose wall clock is an hour behind proposes what the servers have long passed.
TEST_F(RedlockFencing, TokensGrowAlthoughTheServersAreAheadOfTheClientsClock) {
  Client mine = ready_client();
  Lock lock = mine.make_lock("a", {.lease = 20s});
  lock.lock();
  Token last = lock.token();
  lock.unlock();
  expect_free("a");
  for (std::size_t i = 0; i < servers().size(); ++i) {
    raise_number(i, "a", last.value() / 1024 + 3'600'000'000);
  }
  for (int i = 0; i < 20; ++i) {
    lock.lock();
    EXPECT_GT(lock.token().value() / 1024, last.value() / 1024) << i;
    EXPECT_GT(lock.token().value() / 1024, 3'600'000'000U);
    last = lock.token();
    EXPECT_EQ(lock.release(), Released::released);
  }
}

}  // namespace
}  // namespace mortise::fault
