// SPDX-License-Identifier: MIT
#include "redis_async.hpp"

#include <mortise/mortise.hpp>

#include "raw_redis.hpp"
#include "redis_server.hpp"
#include "remote_handoff.hpp"

#include <hiredis/hiredis.h>

#include <poll.h>

#include <atomic>
#include <chrono>
#include <coroutine>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace mortise::bench {
namespace {

using namespace std::chrono_literals;

constexpr const char* name = "bench/redis";
constexpr const char* queue_key = "mortise:{bench/redis}:queue";
constexpr std::chrono::nanoseconds warm_up = 200ms;
constexpr std::chrono::nanoseconds length = 1s;
constexpr std::chrono::nanoseconds patience = 60s;

std::string name_of(std::size_t number) { return "bench/" + std::to_string(number); }

/// The event loop of a program. If the client has threads of its own, looks every millisecond.
template <class Condition>
void drive_until(Client& client, Condition&& is_met) {
  pollfd readable{.fd = client.descriptor(), .events = POLLIN, .revents = 0};
  const int longest_ms = readable.fd < 0 ? 1 : 100;
  const std::int64_t until = now_ns() + patience.count();
  while (!is_met()) {
    if (now_ns() > until) throw std::runtime_error("an asynchronous call does not end");
    ::poll(&readable, 1, longest_ms);
    client.poll();
  }
}

void drive_for(Client& client, std::chrono::nanoseconds time) {
  const std::int64_t until = now_ns() + time.count();
  drive_until(client, [until] { return now_ns() >= until; });
}

void connect(Client& client) {
  std::optional<Failure> failure;
  client.check_async(10s).start([&failure](const Failure& found) { failure = found; });
  drive_until(client, [&failure] { return failure.has_value(); });
  if (*failure) throw std::runtime_error(failure->words());
}

/// A coroutine that begins at once, and ends by itself.
struct Task {
  struct promise_type {
    Task get_return_object() noexcept { return {}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() noexcept {}
    void unhandled_exception() noexcept { std::terminate(); }
  };
};

/// Counts the calls of all coroutines of a client. Threads of the client may run the coroutines.
struct Calls {
  std::atomic<std::size_t> ended{0};
  std::atomic<std::size_t> failed{0};
  std::atomic<std::size_t> running{0};
  std::atomic<bool> stop{false};
};

Task keep_cycling(Lock lock, Calls& calls) {
  try {
    while (!calls.stop.load(std::memory_order_relaxed)) {
      Guard guard = co_await lock.acquire_async();
      calls.ended.fetch_add(1, std::memory_order_relaxed);
      const Released end = co_await guard.unlock_async();
      if (end != Released::released) throw std::runtime_error("not freed");
      calls.ended.fetch_add(1, std::memory_order_relaxed);
    }
  } catch (const std::exception&) {
    calls.failed.fetch_add(1);
  }
  calls.running.fetch_sub(1);
}

/// Takes and frees one name by asynchronous calls, on an event loop that does nothing else.
class AsyncBaton {
 public:
  explicit AsyncBaton(const std::string& url)
      : client_(url, {.drive = Drive::program}), lock_(client_.make_lock(name)) {
    connect(client_);
  }
  AsyncBaton(const AsyncBaton&) = delete;
  AsyncBaton& operator=(const AsyncBaton&) = delete;
  ~AsyncBaton() = default;

  void take() {
    lock_.acquire_async().start([this](Guard guard) { guard_.emplace(std::move(guard)); });
    drive_until(client_, [this] { return guard_.has_value(); });
    if (!*guard_) throw std::runtime_error(guard_->error_text());
  }
  void give() {
    std::optional<Released> end;
    guard_->unlock_async().start([&end](Released how) { end = how; });
    drive_until(client_, [&end] { return end.has_value(); });
    guard_.reset();
    if (*end != Released::released) throw std::runtime_error("not freed");
  }

 private:
  std::optional<Guard> guard_;
  Client client_;
  Lock lock_;
};

}  // namespace

Rate async_cycles(Mode mode, std::size_t coroutines, Drive drive) {
  const RedisServer server(mode);
  RawRedis redis(server.port());
  Calls calls;  // outlives the client, whose end ends the coroutines
  Client client(server.url(), {.drive = drive});
  calls.running.store(coroutines);
  for (std::size_t i = 0; i < coroutines; ++i) keep_cycling(client.make_lock(name_of(i)), calls);
  drive_until(client, [&] { return calls.ended.load() >= 2 * coroutines; });
  drive_for(client, warm_up);
  const std::string connections = redis.info("stats", "total_connections_received");
  const std::size_t before = calls.ended.load();
  const RateMeter meter;
  drive_for(client, length);
  // A cycle is two calls. With 10,000 coroutines, thousands of one kind may end in a row.
  const Rate rate = meter.rate_of(static_cast<double>(calls.ended.load() - before) / 2);
  if (redis.info("stats", "total_connections_received") != connections) {
    throw std::runtime_error("the client has connected again");
  }
  calls.stop.store(true);
  drive_until(client, [&] { return calls.running.load() == 0; });
  if (calls.failed.load() > 0) {
    throw std::runtime_error(std::to_string(calls.failed.load()) + " coroutines have failed");
  }
  return rate;
}

double memory_of_a_pending_acquire(Mode mode) {
  constexpr std::size_t waits = 10'000;
  const RedisServer server(mode);
  RawRedis redis(server.port());
  Client holder(server.url());
  std::vector<Lock> held;
  for (std::size_t i = 0; i < waits; ++i) {
    held.push_back(holder.make_lock(name_of(i)));
    held.back().lock();
  }
  std::size_t ended = 0;
  Client waiter(server.url(), {.drive = Drive::program});
  connect(waiter);
  const auto queues_and_places = static_cast<long long>(2 * waits);
  const long long all_keys = redis.ask({"DBSIZE"})->integer + queues_and_places;
  const double before = heap_in_use();
  for (const Lock& lock : held) {
    waiter.make_lock(lock.name()).acquire_async().start([&](const Guard&) { ++ended; });
  }
  drive_until(waiter, [&] { return redis.ask({"DBSIZE"})->integer >= all_keys; });
  drive_for(waiter, warm_up);  // the last answers
  const double bytes = heap_in_use() - before;
  if (ended > 0) throw std::runtime_error(std::to_string(ended) + " waits have ended");
  return bytes / waits;
}

double redis_async_cycle(Mode mode) {
  constexpr int many = 4000;
  const RedisServer server(mode);
  AsyncBaton baton(server.url());
  return p50(many,
             [&] {
               return timed(1, [&] {
                 baton.take();
                 baton.give();
               });
             }) /
         1000;
}

double redis_async_handoff(Mode mode) {
  const RedisServer server(mode);
  return remote_handoff(
      [&](int) -> RemoteBaton {
        const auto baton = std::make_shared<AsyncBaton>(server.url());
        const auto redis = std::make_shared<RawRedis>(server.port());
        return {.baton = {.take = [baton] { baton->take(); }, .give = [baton] { baton->give(); }},
                .other_waits = [redis] {
                  return redis->ask({"ZCARD", queue_key})->integer == 1;
                }};
      },
      mode);
}

}  // namespace mortise::bench
