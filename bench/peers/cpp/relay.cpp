// SPDX-License-Identifier: MIT
#include "relay.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <system_error>
#include <thread>

namespace peers {
namespace {

using namespace std::chrono_literals;
using Word = std::atomic<std::int64_t>;
static_assert(sizeof(Word) == 8 && Word::is_always_lock_free);

constexpr auto look_again = 100us;
constexpr auto rest = 3ms;  // until the other side has reached the server and sleeps
constexpr auto patience = 10s;

/// The memory that both sides map.
class Board {
 public:
  Board(const std::string& path, int turns)
      : size_((5 + static_cast<std::size_t>(turns)) * sizeof(Word)) {
    const int fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
    void* const place = ::mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    const int error = errno;
    if (fd >= 0) ::close(fd);
    if (place == MAP_FAILED) throw std::system_error(error, std::generic_category(), path);
    words_ = static_cast<Word*>(place);
  }
  Board(const Board&) = delete;
  Board& operator=(const Board&) = delete;
  ~Board() { ::munmap(words_, size_); }

  [[nodiscard]] Word& failed() const { return words_[0]; }
  [[nodiscard]] Word& given_at() const { return words_[1]; }
  [[nodiscard]] Word& turns() const { return words_[2]; }
  [[nodiscard]] Word& coming(int side) const { return words_[3 + side]; }
  [[nodiscard]] Word& taken(int turn) const { return words_[5 + turn]; }

 private:
  std::size_t size_;
  Word* words_ = nullptr;
};

/// The same clock as Java's nanoTime().
std::int64_t now() {
  return std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count();
}

template <class Condition>
void wait_until(const Board& board, Condition&& condition) {
  const auto until = std::chrono::steady_clock::now() + patience;
  while (!condition()) {
    if (board.failed().load() != 0) throw std::runtime_error("the other side failed");
    if (std::chrono::steady_clock::now() > until) throw std::runtime_error("nobody comes");
    std::this_thread::sleep_for(look_again);
  }
}

/// In each turn another part of the period, spread evenly by the golden ratio.
std::chrono::microseconds part_of(std::chrono::microseconds period, int turn) {
  const double part = 0.618034 * turn;
  return std::chrono::microseconds(
      static_cast<std::int64_t>(static_cast<double>(period.count()) * (part - std::floor(part))));
}

void take_turns(Handle& lock, std::chrono::microseconds period, int side, int turns,
                const Board& board, bool& holds) {
  if (side == 1) wait_until(board, [&] { return board.turns().load() > 0; });
  for (int turn = side; turn < turns; turn += 2) {
    board.coming(side).store(1);
    lock.lock();
    board.taken(turn).store(now() - board.given_at().load());
    holds = true;
    board.coming(side).store(0);
    board.turns().store(turn + 1);
    const bool last = turn + 1 == turns;
    if (!last) {
      wait_until(board, [&] { return board.coming(1 - side).load() != 0; });
      std::this_thread::sleep_for(rest + part_of(period, turn));
    }
    holds = false;
    board.given_at().store(now());
    lock.unlock();
    if (!last) wait_until(board, [&] { return board.turns().load() > turn + 1; });
  }
}

}  // namespace

void run_relay(Handle& lock, std::chrono::microseconds period, int side, int turns,
               const std::string& board) {
  const Board shared(board, turns);
  bool holds = false;
  try {
    take_turns(lock, period, side, turns, shared, holds);
  } catch (...) {
    shared.failed().store(1);
    if (holds) lock.unlock();  // or the other side would wait without end
    throw;
  }
}

}  // namespace peers
