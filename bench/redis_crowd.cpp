// SPDX-License-Identifier: MIT
#include "redis_crowd.hpp"

#include <mortise/backend.hpp>
#include <mortise/mortise.hpp>
#include <mortise/redis.hpp>

#include "figure.hpp"
#include "raw_redis.hpp"
#include "redis_server.hpp"

#include <hiredis/hiredis.h>

#include <poll.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace mortise::bench {
namespace {

using namespace std::chrono_literals;

/// Polls the sources of a backend in the thread of the measurement.
class OneThread final : public Host {
 public:
  [[nodiscard]] const std::shared_ptr<Clock>& clock() const noexcept override { return clock_; }
  void attach(Source& source) override { sources_.push_back(&source); }
  void detach(Source& source) noexcept override { std::erase(sources_, &source); }
  void changed(Source& /*source*/) noexcept override {}
  void hold_lost(const HoldId& /*hold*/, Failure /*why*/) override {}

  void poll() {
    const std::vector<Source*> sources = sources_;
    polled_.clear();
    Instant until = clock_->now() + 20ms;
    for (const Source* const each : sources) {
      polled_.push_back({.fd = each->descriptor(), .events = each->interest(), .revents = 0});
      until = std::min(until, each->due());
    }
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - clock_->now());
    ::poll(polled_.data(), polled_.size(), std::max(0, static_cast<int>(left.count())));
    for (std::size_t i = 0; i < sources.size(); ++i) {
      const Instant now = clock_->now();
      if (polled_[i].revents != 0 || sources[i]->due() <= now) {
        sources[i]->ready(polled_[i].revents, now);
      }
    }
  }

 private:
  const std::shared_ptr<Clock> clock_ = Clock::real();
  std::vector<Source*> sources_;
  std::vector<pollfd> polled_;
};

/// Writes down that it is complete.
template <class Request>
class Reported final : public Request {
 public:
  template <class... Arguments>
  Reported(std::vector<std::size_t>& complete, std::size_t index, Arguments&&... arguments)
      : Request(std::forward<Arguments>(arguments)...), complete_(complete), index_(index) {}

 private:
  void finished() noexcept override { complete_.push_back(index_); }

  std::vector<std::size_t>& complete_;
  const std::size_t index_;
};

/// Takes and releases each of its names all the time.
class Cycles {
 public:
  Cycles(const std::string& url, std::size_t names) : backend_(redis::backend(url)) {
    complete_.reserve(2 * names);
    backend_->start(host_);
    turns_.resize(names);
    for (std::size_t i = 0; i < names; ++i) take(i);
  }
  Cycles(const Cycles&) = delete;
  Cycles& operator=(const Cycles&) = delete;
  ~Cycles() { backend_->stop(); }

  [[nodiscard]] std::uint64_t grants() const noexcept { return grants_; }
  void run_until(std::uint64_t grants) {
    while (grants_ < grants) step();
  }
  void run_for(std::chrono::nanoseconds time) {
    for (const std::int64_t until = now_ns() + time.count(); now_ns() < until;) step();
  }

 private:
  struct Turn {
    std::shared_ptr<Acquisition> taking{};
    std::shared_ptr<Release> releasing{};
  };

  void step() {
    host_.poll();
    for (const std::size_t each : std::exchange(complete_, {})) go_on(each);
  }
  void go_on(std::size_t index) {
    Turn& turn = turns_[index];
    if (turn.releasing) {
      if (turn.releasing->failure()) throw std::runtime_error(turn.releasing->failure().text);
      turn.releasing.reset();
      return take(index);
    }
    if (turn.taking->grant().number == 0) throw std::runtime_error(turn.taking->failure().text);
    ++grants_;
    turn.releasing =
        std::make_shared<Reported<Release>>(complete_, index,
                                            HoldId{.name = turn.taking->request().name,
                                                   .attempt = turn.taking->request().attempt,
                                                   .number = turn.taking->grant().number});
    backend_->release(turn.releasing);
  }
  void take(std::size_t index) {
    Turn& turn = turns_[index];
    turn.taking = std::make_shared<Reported<Acquisition>>(
        complete_, index,
        Acquisition::Request{.attempt = {now_, now_, ++attempts_},
                             .name = "bench/" + std::to_string(index),
                             .lease = 30s,
                             .label = "bench"});
    backend_->acquire(turn.taking);
  }

  OneThread host_;
  const std::uint64_t now_ = static_cast<std::uint64_t>(now_ns());
  std::uint64_t attempts_ = 0;
  std::uint64_t grants_ = 0;
  std::vector<std::size_t> complete_;
  std::vector<Turn> turns_;
  const std::unique_ptr<Backend> backend_;
};

void wait_for_keys(RawRedis& redis, long number) {
  const std::int64_t until = now_ns() + std::chrono::nanoseconds(60s).count();
  while (redis.ask({"DBSIZE"})->integer < number) {
    if (now_ns() > until) throw std::runtime_error("the waiters do not join their queues");
    std::this_thread::sleep_for(20ms);
  }
}

}  // namespace

double redis_outstanding(Mode mode, std::size_t calls) {
  const RedisServer server(mode);
  RawRedis redis(server.port());
  Cycles cycles(server.url(), calls);
  cycles.run_until(calls);  // each name once
  const std::string connections = redis.info("stats", "total_connections_received");
  const std::uint64_t before = cycles.grants();
  const std::int64_t began = now_ns();
  cycles.run_for(4s);
  const double seconds = static_cast<double>(now_ns() - began) * 1e-9;
  if (redis.info("stats", "total_connections_received") != connections) {
    throw std::runtime_error("the client has connected again");
  }
  return static_cast<double>(cycles.grants() - before) / seconds;
}

double redis_ten_thousand_waits(Mode mode, bool stands_still) {
  constexpr int waits = 10'000;
  const RedisServer server(mode);
  RawRedis redis(server.port());
  Client holder(server.url());
  Client waiter(server.url());
  std::deque<Lock> held;
  std::deque<Lock> wanted;
  for (int i = 0; i < waits; ++i) {
    held.push_back(holder.make_lock("bench/" + std::to_string(i)));
    held.back().lock();
    wanted.push_back(waiter.make_lock(held.back().name()));
  }
  const long keys = redis.ask({"DBSIZE"})->integer;
  std::stop_source stop;
  std::atomic<int> failed{0};
  std::vector<std::thread> threads;
  for (Lock& lock : wanted) {
    threads.emplace_back([&] {
      std::error_code ec;
      if (lock.acquire({.stop = stop.get_token()}, ec) || ec != Errc::cancelled) ++failed;
    });
  }
  wait_for_keys(redis, keys + 2 * waits);  // a queue, and the places in it
  if (stands_still) {
    ::kill(server.pid(), SIGSTOP);
    std::this_thread::sleep_for(3s);
    ::kill(server.pid(), SIGCONT);
  }
  std::this_thread::sleep_for(1s);
  const std::uint64_t before = redis.script_calls();
  const std::int64_t began = now_ns();
  std::this_thread::sleep_for(20s);
  const auto calls = static_cast<double>(redis.script_calls() - before);
  const double seconds = static_cast<double>(now_ns() - began) * 1e-9;
  const int failed_so_far = failed.load();
  stop.request_stop();
  for (std::thread& each : threads) each.join();
  if (failed_so_far > 0) {
    throw std::runtime_error(std::to_string(failed_so_far) + " waits have failed");
  }
  return calls / seconds;
}

}  // namespace mortise::bench
