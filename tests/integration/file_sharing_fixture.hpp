// SPDX-License-Identifier: MIT
// What the tests of readers and of permits in a directory share: requests of every mode, and
// children that hold something.
#pragma once

#include "integration/file_fixture.hpp"
#include "model/process.hpp"
#include "support/asleep.hpp"

#include <sys/mman.h>
#include <sys/syscall.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <new>
#include <set>
#include <thread>
#include <utility>
#include <vector>

namespace mortise::file {

// What this process and its children tell each other.
struct SharingBoard {
  std::atomic<int> stage{0};
  std::atomic<std::uint64_t> number{0};
  std::atomic<pid_t> pid{0};
  std::atomic<int> readers{0};
  std::atomic<int> writers{0};
  std::atomic<int> permits{0};
  std::atomic<int> wrong{0};
};

class FileSharingTest : public FileTest {
 public:
  FileSharingTest()
      : board_(::new (::mmap(nullptr, sizeof(SharingBoard), PROT_READ | PROT_WRITE,
                             MAP_SHARED | MAP_ANONYMOUS, -1, 0)) SharingBoard) {}
  ~FileSharingTest() override { ::munmap(board_, sizeof(SharingBoard)); }

 protected:
  using User = test::BackendUser;
  using Attempt = std::shared_ptr<Acquisition>;

  [[nodiscard]] SharingBoard& board() const { return *board_; }
  [[nodiscard]] bool reaches(int stage) const {
    const Instant until = BootClock::now() + soon;
    while (board_->stage.load() < stage && BootClock::now() < until) std::this_thread::yield();
    return board_->stage.load() >= stage;
  }
  static void for_ever() {
    for (;;) ::pause();
  }

  /// A request of that mode, not sent yet; of permits there are so many.
  static Attempt request(User& user, Mode mode, bool wait, std::uint32_t permits = 0,
                         const std::optional<AttemptId>& beside = {}) {
    Acquisition::Request out = user.attempt("a", wait)->request();
    out.mode = mode;
    out.permits = permits;
    out.beside = beside;
    return std::make_shared<Acquisition>(std::move(out));
  }
  static bool granted(const Attempt& attempt) {
    return attempt->done() && attempt->grant().number != 0;
  }
  /// One try. @return the hold, or nothing.
  static std::optional<HoldId> take(User& user, Mode mode, std::uint32_t permits = 0,
                                    const std::optional<AttemptId>& beside = {}) {
    const Attempt attempt = request(user, mode, false, permits, beside);
    user.backend().acquire(attempt);
    return granted(attempt) ? std::optional(User::hold_of(*attempt)) : std::nullopt;
  }
  static std::optional<HoldId> read(User& user) { return take(user, Mode::shared); }
  static std::optional<HoldId> write(User& user) { return take(user, Mode::exclusive); }
  /// @return what one try fails with.
  static Failure failure_of(User& user, Mode mode, std::uint32_t permits = 0) {
    const Attempt attempt = request(user, mode, false, permits);
    user.backend().acquire(attempt);
    return attempt->done() ? attempt->failure() : Failure();
  }
  /// A request that waits: it has been sent, and was not granted at once.
  static Attempt waits(User& user, Mode mode, std::uint32_t permits = 0) {
    Attempt attempt = request(user, mode, true, permits);
    user.backend().acquire(attempt);
    EXPECT_FALSE(attempt->done());
    return attempt;
  }
  /// It asks, and does not ask again: it is served as long as it waits, by what the rest does.
  [[nodiscard]] bool served(User& user, const Attempt& attempt, const std::function<void()>& rest) {
    std::atomic<pid_t> thread_id{0};
    std::atomic<bool> in_time{false};
    std::thread thread([&] {
      thread_id.store(static_cast<pid_t>(::syscall(SYS_gettid)));
      in_time.store(user.wait(attempt, soon));
    });
    while (thread_id.load() == 0) std::this_thread::yield();
    const bool asleep = test::falls_asleep(thread_id.load(), {SYS_futex_waitv, SYS_futex});
    rest();
    thread.join();
    return asleep && in_time.load() && granted(attempt);
  }
  /// Two users of a thread each, who are given permits at the same moments.
  /// @return how many numbers there were, and how many of them more than once
  std::pair<std::size_t, std::size_t> draw_at_once(std::uint32_t permits) {
    std::vector<std::uint64_t> numbers[2];
    std::vector<std::thread> threads;
    for (std::vector<std::uint64_t>& mine : numbers) {
      threads.emplace_back([&] {
        const auto client = user();
        const Instant until = BootClock::now() + std::chrono::milliseconds(500);
        while (BootClock::now() < until) {
          const auto hold = take(*client, Mode::permit, permits);
          if (!hold) continue;
          mine.push_back(hold->number);
          client->release(*hold);
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    std::set<std::uint64_t> different(numbers[0].begin(), numbers[0].end());
    different.insert(numbers[1].begin(), numbers[1].end());
    const std::size_t all = numbers[0].size() + numbers[1].size();
    return {all, all - different.size()};
  }
  /// The last grant was made by a clock that was ahead: the next number is that one more.
  void put_the_number_ahead(Mode mode) const {
    const auto ahead = static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::microseconds>(
            (std::chrono::system_clock::now() + std::chrono::hours(1)).time_since_epoch())
            .count());
    FileTest::write(directory() + "/" + file_name("a", mode), &ahead, sizeof ahead, 16);
  }

  /// In a child: takes it, says so, and does the rest while it holds it.
  std::function<int()> holding(Mode mode, std::uint32_t permits,
                               const std::function<void(User&, const HoldId&)>& then) {
    return [this, mode, permits, then] {
      const auto client = user();
      const auto hold = take(*client, mode, permits);
      if (!hold) return 1;
      board_->number.store(hold->number);
      board_->stage.store(1);
      then(*client, *hold);
      return 0;
    };
  }

 private:
  SharingBoard* board_;
};

}  // namespace mortise::file
