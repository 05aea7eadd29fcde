// SPDX-License-Identifier: MIT
#include "worker.hpp"

#include "relay.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <istream>
#include <stdexcept>
#include <thread>
#include <utility>

namespace peers {
namespace {

using namespace std::chrono_literals;
using Now = std::chrono::steady_clock;

constexpr auto hold_time = 1ms;  // of a rival, and its pause before it wants the lock again

std::string name_of(const std::string& prefix, int number) {
  char text[16];
  std::snprintf(text, sizeof text, "-%06d", number);
  return prefix + text;
}

std::int64_t ns_since(Now::time_point begin) {
  return std::chrono::nanoseconds(Now::now() - begin).count();
}

template <class T>
T next(std::istream& order) {
  T value{};
  if (!(order >> value)) throw std::invalid_argument("an order lacks a word");
  return value;
}

/// Nanoseconds per call, without the first ones.
std::string times(int warm, int count, const std::function<void()>& call) {
  std::vector<std::int64_t> taken;
  taken.reserve(static_cast<std::size_t>(count));
  for (int i = 0; i < warm + count; ++i) {
    const Now::time_point begin = Now::now();
    call();
    if (i >= warm) taken.push_back(ns_since(begin));
  }
  std::string text;
  for (const std::int64_t each : taken) text += std::to_string(each) + " ";
  return text;
}

}  // namespace

Worker::Worker(const std::string& url) : peer_(make_peer(url)) {}

std::string Worker::obey(std::istream& order) {
  const auto word = next<std::string>(order);
  if (word == "cycles") return cycles(order);
  if (word == "tries") return tries(order);
  if (word == "threads") return threads(order);
  if (word == "hold") return hold(order);
  if (word == "drop") return drop(order);
  if (word == "refused") return refused(order);
  if (word == "rivals") return rivals(order);
  if (word == "contend") return contend(order);
  if (word == "relay") return relay(order);
  throw std::invalid_argument("no such order: " + word);
}

/// cycles PREFIX WARM COUNT: locks and unlocks one name.
std::string Worker::cycles(std::istream& order) {
  const auto lock = peer_->handle(name_of(next<std::string>(order), 0));
  const int warm = next<int>(order);
  return times(warm, next<int>(order), [&] {
    lock->lock();
    lock->unlock();
  });
}

/// tries PREFIX WARM COUNT: tries one name that another client holds.
std::string Worker::tries(std::istream& order) {
  const auto lock = peer_->handle(name_of(next<std::string>(order), 0));
  const int warm = next<int>(order);
  return times(warm, next<int>(order), [&] {
    if (lock->try_lock()) throw std::runtime_error("a try took a lock that somebody holds");
  });
}

/// threads PREFIX THREADS WARM MILLISECONDS: cycles per second, one name per thread.
std::string Worker::threads(std::istream& order) {
  const auto prefix = next<std::string>(order);
  const int count = next<int>(order);
  const std::chrono::milliseconds warm(next<int>(order));
  const std::chrono::milliseconds time(next<int>(order));
  std::atomic<bool> over{false};
  std::atomic<std::int64_t> cycles{0};
  std::vector<std::jthread> threads;
  for (int i = 0; i < count; ++i) {
    threads.emplace_back([&, lock = peer_->handle(name_of(prefix, i))] {
      for (; !over.load(); cycles.fetch_add(1, std::memory_order_relaxed)) {
        lock->lock();
        lock->unlock();
      }
    });
  }
  std::this_thread::sleep_for(warm);
  const std::int64_t before = cycles.load();
  const Now::time_point begin = Now::now();
  std::this_thread::sleep_for(time);
  const auto done = static_cast<double>(cycles.load() - before);
  const double seconds = static_cast<double>(ns_since(begin)) / 1e9;
  over.store(true);
  threads.clear();
  return std::to_string(done / seconds);
}

/// hold PREFIX FROM TO: takes these names and keeps them; seconds.
std::string Worker::hold(std::istream& order) {
  const auto prefix = next<std::string>(order);
  const int from = next<int>(order);
  const int to = next<int>(order);
  const Now::time_point begin = Now::now();
  for (int i = from; i < to; ++i) {
    held_.push_back(peer_->handle(name_of(prefix, i)));
    held_.back()->take();
  }
  return std::to_string(static_cast<double>(ns_since(begin)) / 1e9);
}

/// drop COUNT: unlocks the last ones that `hold` took.
std::string Worker::drop(std::istream& order) {
  for (int left = next<int>(order); left > 0; --left) {
    held_.back()->drop();
    held_.pop_back();
  }
  return "done";
}

/// refused PREFIX FROM TO STEP: how many of these names another client holds.
std::string Worker::refused(std::istream& order) {
  const auto prefix = next<std::string>(order);
  const int from = next<int>(order);
  const int to = next<int>(order);
  const int step = next<int>(order);
  int count = 0;
  for (int i = from; i < to; i += step) {
    const auto lock = peer_->handle(name_of(prefix, i));
    if (lock->try_lock()) {
      lock->unlock();
    } else {
      ++count;
    }
  }
  return std::to_string(count);
}

/// rivals PREFIX COUNT: clients for `contend`, which have each used the name once; 0 ends them.
std::string Worker::rivals(std::istream& order) {
  const std::string name = name_of(next<std::string>(order), 0);
  const int count = next<int>(order);
  rivals_.clear();
  for (int i = 0; i < count; ++i) {
    rivals_.push_back(peer_->another());
    const auto lock = rivals_.back()->handle(name);
    lock->lock();
    lock->unlock();
  }
  return "done";
}

/// contend PREFIX MILLISECONDS: all rivals compete for one name; the number of grants.
std::string Worker::contend(std::istream& order) {
  const std::string name = name_of(next<std::string>(order), 0);
  const std::chrono::milliseconds time(next<int>(order));
  std::atomic<bool> over{false};
  std::atomic<int> grants{0};
  std::vector<std::jthread> threads;
  for (const std::unique_ptr<Peer>& rival : rivals_) {
    threads.emplace_back([&, lock = rival->handle(name)] {
      while (!over.load()) {
        lock->lock();
        grants.fetch_add(1);
        std::this_thread::sleep_for(hold_time);
        lock->unlock();
        std::this_thread::sleep_for(hold_time);
      }
    });
  }
  std::this_thread::sleep_for(time);
  over.store(true);
  threads.clear();
  return std::to_string(grants.load());
}

/// relay PREFIX SIDE TURNS BOARD: half of a hand-over between two processes.
std::string Worker::relay(std::istream& order) {
  const auto lock = peer_->handle(name_of(next<std::string>(order), 0));
  const int side = next<int>(order);
  const int turns = next<int>(order);
  run_relay(*lock, peer_->period(), side, turns, next<std::string>(order));
  return "done";
}

}  // namespace peers
