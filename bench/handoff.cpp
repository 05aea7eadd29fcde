// SPDX-License-Identifier: MIT
#include "handoff.hpp"

#include "figure.hpp"
#include "process.hpp"

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstring>
#include <future>
#include <stdexcept>
#include <string>
#include <thread>

namespace mortise::bench {
namespace {

constexpr int warm_up = 100;
constexpr int samples = 1000;
constexpr std::chrono::microseconds look_again{30};
constexpr std::chrono::seconds patience{10};

struct Board {
  std::atomic<int> thread[2] = {0, 0};
  std::atomic<bool> coming[2] = {false, false};  // about to take: if it sleeps, it sleeps there
  std::atomic<std::int64_t> given_at{0};
  std::atomic<int> next{0};  // how many turns have begun
  std::atomic<bool> over{false};
  std::array<double, warm_up + samples> taken{};  // written by whoever holds
};

/// The state letter in /proc: it follows the name, which may hold anything, in parentheses.
bool asleep(int thread) {
  char text[256];
  const std::string path = "/proc/" + std::to_string(thread) + "/stat";
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const ssize_t size = ::read(fd, text, sizeof text - 1);
  ::close(fd);
  if (size <= 0) return false;
  text[size] = '\0';
  const char* const state = std::strrchr(text, ')');
  return state != nullptr && state[1] == ' ' && state[2] == 'S';
}

template <class Condition>
void wait_until(const Board& board, const char* what, Condition&& condition) {
  const auto until = std::chrono::steady_clock::now() + patience;
  while (!condition()) {
    if (board.over.load()) throw std::runtime_error("the other side failed");
    if (std::chrono::steady_clock::now() > until) throw std::runtime_error(what);
    std::this_thread::sleep_for(look_again);
  }
}

void wait_until_parked(const Board& board, int side) {
  wait_until(board, "the other side does not sleep while it waits for the lock",
             [&] { return board.coming[side].load() && asleep(board.thread[side].load()); });
}

void wait_for_turn(const Board& board, int turn) {
  wait_until(board, "the other side does not get the lock",
             [&] { return board.next.load() > turn; });
}

void take_turns(Board& board, int side, const Baton& baton, bool& holds) {
  const auto last = static_cast<int>(board.taken.size()) - 1;
  for (int turn = side; turn <= last; turn += 2) {
    board.coming[side].store(true);
    baton.take();
    const std::int64_t now = now_ns();
    holds = true;
    board.coming[side].store(false);
    board.taken.at(static_cast<std::size_t>(turn)) =
        static_cast<double>(now - board.given_at.load());
    board.next.store(turn + 1);
    if (turn < last) wait_until_parked(board, 1 - side);
    holds = false;
    board.given_at.store(now_ns());
    baton.give();
    // Where the lock is not fair it would be ours again before the other is awake.
    if (turn < last) wait_for_turn(board, turn + 1);
  }
}

/// Side 1 comes when side 0 has the lock for the first time.
void play(Board& board, int side, const std::function<Baton(int)>& make) {
  bool holds = false;
  Baton baton;
  try {
    baton = make(side);
    board.thread[side].store(static_cast<int>(::syscall(SYS_gettid)));
    if (side == 1) wait_for_turn(board, 0);
    take_turns(board, side, baton, holds);
  } catch (...) {
    board.over.store(true);
    if (holds) baton.give();  // the other side must not wait for ever
    throw;
  }
}

}  // namespace

double handoff(Mode mode, Sides sides, const std::function<Baton(int)>& make) {
  const Shared<Board> board;
  const auto second_side = [&] {
    place(mode, Side::server);
    play(*board, 1, make);
  };
  if (sides == Sides::processes) {
    Process second(second_side);
    play(*board, 0, make);
    second.wait();
  } else {
    // get() throws what either side threw; the future's destructor joins.
    std::future<void> second = std::async(std::launch::async, second_side);
    play(*board, 0, make);
    second.get();
  }
  return median({board->taken.begin() + warm_up, board->taken.end()}) / 1000;
}

void futex_sleep(const std::atomic<std::uint32_t>& word, std::uint32_t seen, bool shared) noexcept {
  ::syscall(SYS_futex, &word, shared ? FUTEX_WAIT : FUTEX_WAIT_PRIVATE, seen, nullptr, nullptr, 0);
}

void futex_wake_one(const std::atomic<std::uint32_t>& word, bool shared) noexcept {
  ::syscall(SYS_futex, &word, shared ? FUTEX_WAKE : FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

void FutexRelay::take(std::uint32_t side) noexcept {
  for (std::uint32_t now = turn_.load(); now != side; now = turn_.load()) {
    futex_sleep(turn_, now, shared_);
  }
}

void FutexRelay::give(std::uint32_t side) noexcept {
  turn_.store(side);
  futex_wake_one(turn_, shared_);
}

}  // namespace mortise::bench
