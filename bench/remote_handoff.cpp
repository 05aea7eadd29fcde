// SPDX-License-Identifier: MIT
#include "remote_handoff.hpp"

#include "figure.hpp"
#include "process.hpp"

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <thread>

namespace mortise::bench {
namespace {

constexpr std::size_t warm_up = 50;
constexpr std::chrono::microseconds look_again{100};
constexpr std::chrono::microseconds rest{300};  // that the other has waited, at least
constexpr std::chrono::seconds patience{10};

struct Board {
  std::atomic<bool> coming[2] = {false, false};
  std::atomic<std::int64_t> given_at{0};
  std::atomic<int> turns{0};  // that have begun
  std::atomic<bool> over{false};
  std::array<double, remote_handoffs> taken{};  // written by whoever holds
};

template <class Condition>
void wait_until(const Board& board, const char* what, Condition&& condition) {
  const auto until = std::chrono::steady_clock::now() + patience;
  while (!condition()) {
    if (board.over.load()) throw std::runtime_error("the other process failed");
    if (std::chrono::steady_clock::now() > until) throw std::runtime_error(what);
    std::this_thread::sleep_for(look_again);
  }
}

void take_turns(Board& board, int side, const RemoteBaton& remote, bool& holds) {
  for (int turn = side; turn < remote_handoffs; turn += 2) {
    board.coming[side].store(true);
    remote.baton.take();
    const std::int64_t now = now_ns();
    holds = true;
    board.coming[side].store(false);
    board.taken.at(static_cast<std::size_t>(turn)) =
        static_cast<double>(now - board.given_at.load());
    board.turns.store(turn + 1);
    const bool last = turn + 1 == remote_handoffs;
    if (!last) {
      wait_until(board, "the other process does not wait at the server",
                 [&] { return board.coming[1 - side].load() && remote.other_waits(); });
      std::this_thread::sleep_for(rest);
    }
    holds = false;
    board.given_at.store(now_ns());
    remote.baton.give();
    if (!last) {
      wait_until(board, "the other process does not get the lock",
                 [&] { return board.turns.load() > turn + 1; });
    }
  }
}

void play(Board& board, int side, const std::function<RemoteBaton(int)>& make) {
  bool holds = false;
  RemoteBaton remote;
  try {
    remote = make(side);
    if (side == 1) {
      wait_until(board, "the first process has no lock", [&] { return board.turns.load() > 0; });
    }
    take_turns(board, side, remote, holds);
  } catch (...) {
    board.over.store(true);
    if (holds) remote.baton.give();  // the other side must not wait for ever
    throw;
  }
}

}  // namespace

double remote_handoff(const std::function<RemoteBaton(int)>& make, Mode mode) {
  const Shared<Board> board;
  Process second([&] {
    place(mode, Side::client);
    play(*board, 1, make);
  });
  play(*board, 0, make);
  second.wait();
  return median({board->taken.begin() + warm_up, board->taken.end()}) / 1000;
}

}  // namespace mortise::bench
