// SPDX-License-Identifier: MIT
#include "postgres_cycles.hpp"

#include <mortise/mortise.hpp>

#include "contention.hpp"
#include "figure.hpp"
#include "raw_postgres.hpp"
#include "remote_handoff.hpp"

#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

namespace mortise::bench {
namespace {

using namespace std::chrono_literals;

constexpr const char* name = "bench/postgres";
constexpr int many = 1000;

/// @return the p50 in microseconds, each time by itself: a flush has outliers.
template <class Work>
double p50_of(Work&& work) {
  return p50(many, [&] { return timed(1, work); }) / 1000;
}

constexpr const char* channel_of(int side) { return side == 0 ? "bench_0" : "bench_1"; }

/// Two connections of one side: what it says, and what it hears.
struct RawSide {
  RawPostgres talks;
  RawPostgres hears;
};

RemoteBaton by_hand(const PostgresBed& bed, int side) {
  const std::shared_ptr<RawSide> raw(
      new RawSide{RawPostgres(bed.url(), name), RawPostgres(bed.url(), name)});
  raw->hears.listen(channel_of(side));
  const auto first = std::make_shared<bool>(side == 0);
  const auto take = [raw, first] {
    if (!std::exchange(*first, false)) raw->hears.hear();
    if (!raw->talks.take()) throw std::runtime_error("the raw lock is not free");
  };
  return {.baton = {.take = take,
                    .give = [raw, side] { raw->talks.give_and_notify(channel_of(1 - side)); }},
          .other_waits = [] { return true; }};
}

RemoteBaton by_library(const PostgresBed& bed) {
  const auto client = std::make_shared<Client>(bed.url());
  const auto lock = std::make_shared<Lock>(client->lock(name));
  const auto raw = std::make_shared<RawPostgres>(bed.url(), name);
  client->check(10s);
  return {.baton = {.take = [client, lock] { lock->lock(); },
                    .give = [client, lock] { lock->unlock(); }},
          .other_waits = [raw] { return raw->is_waited_for(); }};
}

}  // namespace

Pair postgres_cycle(Mode mode, Medium medium) {
  const PostgresBed bed(mode, medium);
  Client client(bed.url());
  Lock lock = client.lock(name);
  RawPostgres raw(bed.url(), name);
  const auto ours = [&] {
    lock.lock();
    lock.unlock();
  };
  const auto floor = [&] {
    if (!raw.take()) throw std::runtime_error("the raw lock is not free");
    raw.give();
  };
  const auto [of_ours, of_floor] = p50_in_turn(20, many / 20, ours, floor);
  return {.ours = of_ours / 1000, .floor = of_floor / 1000};
}

double postgres_failed_try(Mode mode) {
  const PostgresBed bed(mode);
  Client holder(bed.url());
  Client client(bed.url());
  Lock held = holder.lock(name);
  held.lock();
  Lock lock = client.lock(name);
  const double time = p50_of([&] {
    if (lock.try_lock()) throw std::runtime_error("a held lock was taken");
  });
  held.unlock();
  return time;
}

double raw_postgres_select(Mode mode) {
  const PostgresBed bed(mode);
  RawPostgres holder(bed.url(), name);
  RawPostgres raw(bed.url(), name);
  if (!holder.take()) throw std::runtime_error("the raw lock is not free");
  return p50_of([&] {
    if (raw.look().empty()) throw std::runtime_error("the row is not there");
  });
}

double log_of_failed_tries(Mode mode) {
  const PostgresBed bed(mode, Medium::memory);
  Client holder(bed.url());
  Client client(bed.url());
  Lock held = holder.lock(name, {.renew = false});
  held.lock();
  Lock lock = client.lock(name);
  const auto tries = [&](int count) {
    for (int i = 0; i < count; ++i) {
      if (lock.try_lock()) throw std::runtime_error("a held lock was taken");
    }
  };
  tries(10);  // what a new connection, and the first look at a page, may cost
  const std::uint64_t before = bed.log_position();
  tries(1000);
  const std::uint64_t after = bed.log_position();
  held.unlock();
  return static_cast<double>(after - before);
}

double postgres_throughput(Mode mode, int threads) {
  const PostgresBed bed(mode);
  Client client(bed.url());
  client.check(10s);
  const Grants grants = contend(threads, [&](int thread) -> Baton {
    const auto lock =
        std::make_shared<Lock>(client.lock(std::string(name) + std::to_string(thread)));
    return {.take = [lock] { lock->lock(); }, .give = [lock] { lock->unlock(); }};
  });
  return grants.per_second;
}

double raw_postgres_throughput(Mode mode, int threads) {
  const PostgresBed bed(mode);
  const Grants grants = contend(threads, [&](int thread) -> Baton {
    const auto raw =
        std::make_shared<RawPostgres>(bed.url(), std::string(name) + std::to_string(thread));
    const auto take = [raw] {
      if (!raw->take()) throw std::runtime_error("the raw lock is not free");
    };
    return {.take = take, .give = [raw] { raw->give(); }};
  });
  return grants.per_second;
}

double postgres_handoff(Mode mode) {
  const PostgresBed bed(mode);
  return remote_handoff([&](int) { return by_library(bed); }, mode);
}

double raw_postgres_handoff(Mode mode) {
  const PostgresBed bed(mode);
  return remote_handoff([&](int side) { return by_hand(bed, side); }, mode);
}

}  // namespace mortise::bench
