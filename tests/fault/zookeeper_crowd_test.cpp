// SPDX-License-Identifier: MIT
// Goal: thousands of waiters on one name are served one by one in the order in which they came, and
// nobody is woken in vain; thousands of holds outlive a restart of their server. Method: processes
// that drive a backend by hand with many attempts each, and a client with many locks.
#include "base/random_id.hpp"
#include "fault/zookeeper_fixture.hpp"
#include "model/process.hpp"
#include "support/contract_process.hpp"
#include "zookeeper/zookeeper_backend.hpp"

#include <poll.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

namespace mortise::fault {
namespace {

// Long enough for a server that is busy with everybody's arrival.
constexpr const char* in_long = "session=30s&margin=300ms";

/// Polls a backend's sources, and asks nothing again.
class Driver final : public Host {
 public:
  [[nodiscard]] const std::shared_ptr<Clock>& clock() const noexcept override { return clock_; }
  void attach(Source& source) override { sources_.push_back(&source); }
  void detach(Source& source) noexcept override { std::erase(sources_, &source); }
  void changed(Source& /*source*/) noexcept override {}
  void hold_lost(const HoldId& /*hold*/, Failure why) override { loss_ = std::move(why); }
  /// @return why a hold was lost; clear = none was.
  [[nodiscard]] const Failure& loss() const noexcept { return loss_; }

  void drive(std::chrono::milliseconds at_most) {
    std::vector<pollfd> polled;
    Instant until = clock_->now() + at_most;
    const std::vector<Source*> sources = sources_;
    for (const Source* const source : sources) {
      polled.push_back({.fd = source->descriptor(), .events = source->interest(), .revents = 0});
      until = std::min(until, source->due());
    }
    const auto time = std::chrono::ceil<std::chrono::milliseconds>(until - clock_->now());
    ::poll(polled.data(), polled.size(), static_cast<int>(std::max(time, 0ms).count()));
    const Instant now = clock_->now();
    for (std::size_t i = 0; i < sources.size(); ++i) {
      const bool there = std::count(sources_.begin(), sources_.end(), sources[i]) > 0;
      if (there && (polled[i].revents != 0 || sources[i]->due() <= now)) {
        sources[i]->ready(polled[i].revents, now);
      }
    }
  }

 private:
  const std::shared_ptr<Clock> clock_ = Clock::real();
  std::vector<Source*> sources_;
  Failure loss_;
};

/// What all processes see.
struct CrowdBoard {
  std::atomic<std::size_t> there{0};  // nodes in the queue, as seen last
  std::atomic<int> inside{0};
  std::atomic<std::uint64_t> last{0};  // the number of the last grant
  std::atomic<std::size_t> served{0};
  [[nodiscard]] std::string text() const {
    return std::to_string(served.load()) + " were served, " + std::to_string(there.load()) +
           " nodes were in the queue";
  }
};

/// Whether a crowd still moves. How long all of it takes depends on the machine; a wake-up that is
/// lost shows as a time in which nobody comes and nobody is served.
class Standstill {
 public:
  explicit Standstill(const CrowdBoard& board) : board_(board) {}
  [[nodiscard]] bool has_come() {
    const auto now = std::chrono::steady_clock::now();
    const auto seen = std::pair(board_.there.load(), board_.served.load());
    if (std::exchange(seen_, seen) != seen) moved_ = now;
    return now - moved_ > 3 * patience;
  }

 private:
  const CrowdBoard& board_;
  std::pair<std::size_t, std::size_t> seen_;
  std::chrono::steady_clock::time_point moved_ = std::chrono::steady_clock::now();
};

/// So many attempts of one backend; each gives the lock back as soon as it has it.
class Crowd {
 public:
  Crowd(const std::string& url, const std::string& name, std::size_t size, CrowdBoard& board)
      : board_(board) {
    auto settings = zookeeper::Settings::parse(url);
    // Of some 330 bytes each: one session has no room for all.
    settings.most_watched = std::min(settings.most_watched, size * 200);
    backend_ = std::make_unique<zookeeper::ZooKeeperBackend>(settings);
    backend_->start(driver_);
    const std::uint64_t mine = base::random_bits();
    for (std::size_t i = 0; i < size; ++i) {
      coming_.push_back(std::make_shared<Acquisition>(
          Acquisition::Request{.attempt = {.client_high = mine, .client_low = 1, .sequence = i + 1},
                               .name = name,
                               .lease = 60s,
                               .label = "crowd",
                               .wait = true}));
    }
  }
  Crowd(const Crowd&) = delete;
  Crowd& operator=(const Crowd&) = delete;
  ~Crowd() { backend_->stop(); }

  /// @return why not each was served, in turn and alone; empty = each was.
  [[nodiscard]] std::string be_served() {
    Standstill standstill(board_);
    while (!coming_.empty() || !waiting_.empty() || !leaving_.empty()) {
      let_come();
      if (standstill.has_come()) return "nothing moves: " + what_is_open();
      driver_.drive(100ms);
      if (driver_.loss()) return "a hold was lost: " + driver_.loss().text;
      for (const auto& one : waiting_) {
        if (!one->done()) continue;
        if (std::string why = serve(*one); !why.empty()) return why;
      }
      std::erase_if(waiting_, [](const auto& one) { return one->done(); });
      for (const auto& one : leaving_) {
        if (one->done() && one->outcome() != Released::released) {
          return "a release did not free it: " + one->failure().text;
        }
      }
      std::erase_if(leaving_, [](const auto& one) { return one->done(); });
    }
    return {};
  }

 private:
  // Each asks for a list of the queue when it comes. Thousands of such lists at once, of a megabyte
  // each, are more than the server's memory holds.
  void let_come() {
    constexpr std::size_t at_once = 50;
    std::erase_if(arriving_, [](const auto& one) {
      return one->done() || one->progress() == Acquisition::Progress::queued;
    });
    for (; !coming_.empty() && arriving_.size() < at_once; coming_.pop_back()) {
      waiting_.push_back(coming_.back());
      arriving_.push_back(coming_.back());
      backend_->acquire(coming_.back());
    }
  }
  /// @return why it was not served in turn and alone; empty = it was.
  [[nodiscard]] std::string serve(const Acquisition& granted) {
    const std::uint64_t number = granted.grant().number;
    if (number == 0) return "it was not granted: " + granted.failure().text;
    if (board_.inside.fetch_add(1) != 0) return "two hold the lock";
    // A number is the moment at which its node was made: whoever came first has the smaller one.
    if (board_.last.exchange(number) >= number) return "a later one was served first";
    ++board_.served;
    board_.inside.fetch_sub(1);
    leaving_.push_back(std::make_shared<Release>(HoldId{
        .name = granted.request().name, .attempt = granted.request().attempt, .number = number}));
    backend_->release(leaving_.back());
    return {};
  }
  [[nodiscard]] std::string what_is_open() const {
    const auto queued = std::count_if(waiting_.begin(), waiting_.end(), [](const auto& one) {
      return one->progress() == Acquisition::Progress::queued;
    });
    std::string text = std::to_string(coming_.size()) + " are to come; " +
                       std::to_string(waiting_.size()) + " wait, of which " +
                       std::to_string(queued) + " know that they do; " +
                       std::to_string(leaving_.size()) + " leave";
    const auto troubled = std::find_if(waiting_.begin(), waiting_.end(),
                                       [](const auto& one) { return one->in_trouble(); });
    if (troubled != waiting_.end()) text += "; trouble: " + (*troubled)->trouble()->text;
    return text;
  }

  CrowdBoard& board_;
  Driver driver_;
  std::unique_ptr<Backend> backend_;
  std::vector<std::shared_ptr<Acquisition>> coming_;    // not asked for yet
  std::vector<std::shared_ptr<Acquisition>> arriving_;  // not known to wait yet
  std::vector<std::shared_ptr<Acquisition>> waiting_;
  std::vector<std::shared_ptr<Release>> leaving_;
};

class ZooKeeperCrowd : public ZooKeeperTest {
 protected:
  void be_served_in_turn(std::size_t processes, std::size_t of_each) {
    have_own({.jvm = {"-Xmx1g"}});  // of two such flags the last one counts
    // As long as both may be.
    const std::string below = root() + "/" + std::string(180, 'r');
    const std::string name(100, 'n');
    const std::string at = server().url(below + "?" + in_long);
    const contract::Shared<CrowdBoard> board;
    std::vector<model::Process> crowds;
    const contract::Line goes;
    for (std::size_t i = 0; i < processes; ++i) {
      crowds.push_back(model::Process::fork_child([&] {
        if (goes.hear(patience) != 'g') return 2;
        Crowd crowd(at, name, of_each, *board.operator->());
        const std::string why = crowd.be_served();
        if (why.empty()) return 0;
        std::fprintf(stderr, "a crowd of %zu: %s; %s\n", of_each, why.c_str(),
                     board->text().c_str());
        return 1;
      }));
    }
    Client mine(at);
    Lock lock = mine.make_lock(name);
    lock.lock();
    board->last = lock.token().value() / 1024;
    // All ephemeral nodes of this server are in that queue. The server tells their number beside
    // the requests of the crowd, which keep it from answering other requests for a while.
    const auto are_there = [&](std::size_t count) {
      try {
        board->there = static_cast<std::size_t>(server().figure("ephemerals_count"));
      } catch (const std::exception&) {
        return false;
      }
      return board->there == count;
    };
    for (std::size_t i = 0; i < processes; ++i) goes.tell('g');
    Standstill standstill(*board.operator->());
    while (!are_there(processes * of_each + 1)) {
      ASSERT_FALSE(standstill.has_come()) << "not all have come: " << board->text();
      std::this_thread::sleep_for(100ms);
    }
    EXPECT_GE(server().figure("num_alive_connections"),
              static_cast<std::int64_t>(2 * processes + 1));
    EXPECT_EQ(board->served.load(), 0U) << "two hold the lock";
    const std::int64_t before = server().figure("packets_sent");
    EXPECT_EQ(lock.release(), Released::released);
    for (model::Process& one : crowds) {
      std::optional<model::Exit> exit;
      while (!(exit = one.wait_for(1s))) {
        static_cast<void>(are_there(0));
        ASSERT_FALSE(standstill.has_come()) << board->text();
      }
      ASSERT_EQ(exit->code, 0) << "it has told above why; " << board->text();
    }
    EXPECT_EQ(board->served.load(), processes * of_each);
    // Of each turn: the answer to the leave, one event, a look at the queue, some heartbeats.
    const auto turns = static_cast<std::int64_t>(processes * of_each);
    EXPECT_LT(server().figure("packets_sent") - before, 8 * turns) << "a herd";
    EXPECT_TRUE(eventually([&] { return are_there(0); })) << board->text();
  }
};
class ZooKeeperCrowdLong : public ZooKeeperCrowd {};

// What each looks at is as long as the queue: of three times as many the work is nine times that.
// Promise: L6
TEST_F(ZooKeeperCrowd, OfSixteenHundredIsServedInTurnWithoutAHerd) { be_served_in_turn(2, 800); }
TEST_F(ZooKeeperCrowdLong, OfTwentyThousandIsServedInTurnWithoutAHerd) {
  be_served_in_turn(4, 5'000);
}

TEST_F(ZooKeeperCrowd, OfTenThousandHoldsOutlivesARestartOfTheServer) {
  constexpr std::size_t workers = 8;
  constexpr std::size_t of_each = 1'250;
  have_own();
  Client mine(url(in_long));
  std::vector<std::vector<Lock>> locks(workers);
  std::vector<std::unique_ptr<Worker>> threads;
  std::vector<std::future<std::size_t>> taken;
  for (std::size_t i = 0; i < workers; ++i) {
    threads.push_back(std::make_unique<Worker>());
    taken.push_back(threads.back()->start([&, i] {
      std::size_t count = 0;
      for (std::size_t j = 0; j < of_each; ++j) {
        locks[i].push_back(mine.make_lock(std::to_string(i) + "/" + std::to_string(j)));
        std::error_code error;
        count += locks[i].back().try_lock_for(patience, error) ? 1U : 0U;
      }
      return count;
    }));
  }
  for (auto& one : taken) EXPECT_EQ(one.get(), of_each);
  EXPECT_EQ(server().figure("ephemerals_count"), static_cast<std::int64_t>(workers * of_each));
  server().restart();
  mine.check(patience);
  std::vector<std::future<std::size_t>> left;
  for (std::size_t i = 0; i < workers; ++i) {
    left.push_back(threads[i]->start([&, i] {
      std::size_t count = 0;
      for (Lock& lock : locks[i]) {
        const bool held = lock.valid_for() > 0ns && !lock.lost().stop_requested();
        count += held && lock.release() == Released::released ? 1U : 0U;
      }
      return count;
    }));
  }
  for (auto& one : left) EXPECT_EQ(one.get(), of_each);
  EXPECT_TRUE(eventually([&] { return server().figure("ephemerals_count") == 0; }, 10s));
}

}  // namespace
}  // namespace mortise::fault
