// SPDX-License-Identifier: MIT
#include "postgres_cycles.hpp"

#include <mortise/mortise.hpp>

#include "contention.hpp"
#include "figure.hpp"
#include "raw_postgres.hpp"
#include "remote_handoff.hpp"
#include "turns.hpp"

#include <chrono>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace mortise::bench {
namespace {

using namespace std::chrono_literals;

constexpr const char* name = "bench/postgres";
constexpr std::chrono::milliseconds portion{200};

/// @return so many in a row, in microseconds, each by itself: a flush has outliers.
template <class Work>
Sampler each_of(int count, Work work) {
  return [count, work] {
    std::vector<double> samples(static_cast<std::size_t>(count));
    for (double& sample : samples) sample = timed(1, work) / 1000;
    return samples;
  };
}

/// A client and its lock.
struct OurSide {
  explicit OurSide(const PostgresBed& bed) : client(bed.url()), lock(client.make_lock(name)) {}
  Client client;
  Lock lock;
};

/// Takes and frees the lock alone.
Sampler our_owner(const PostgresBed& bed) {
  const auto side = std::make_shared<OurSide>(bed);
  return each_of(20, [side] {
    side->lock.lock();
    side->lock.unlock();
  });
}

Sampler our_threads(const PostgresBed& bed, int threads) {
  const auto client = std::make_shared<Client>(bed.url());
  client->check(10s);
  return [client, threads] {
    const Grants grants = contend(
        threads,
        [&](int thread) -> Baton {
          const auto lock =
              std::make_shared<Lock>(client->make_lock(std::string(name) + std::to_string(thread)));
          return {.take = [lock] { lock->lock(); }, .give = [lock] { lock->unlock(); }};
        },
        portion);
    return std::vector{grants.per_second};
  };
}

void take(RawPostgres& raw) {
  if (!raw.take()) throw std::runtime_error("the raw lock is not free");
}

Sampler raw_threads(const PostgresBed& bed, int threads) {
  std::vector<std::shared_ptr<RawPostgres>> all;
  all.reserve(static_cast<std::size_t>(threads));
  for (int thread = 0; thread < threads; ++thread) {
    all.push_back(
        std::make_shared<RawPostgres>(bed.url(), std::string(name) + std::to_string(thread)));
  }
  return [all, threads] {
    const Grants grants = contend(
        threads,
        [&](int thread) -> Baton {
          RawPostgres& raw = *all.at(static_cast<std::size_t>(thread));
          return {.take = [&raw] { take(raw); }, .give = [&raw] { raw.give(); }};
        },
        portion);
    return std::vector{grants.per_second};
  };
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
  const auto hear_and_take = [raw, first] {
    if (!std::exchange(*first, false)) raw->hears.hear();
    take(raw->talks);
  };
  return {.baton = {.take = hear_and_take,
                    .give = [raw, side] { raw->talks.give_and_notify(channel_of(1 - side)); }},
          .other_waits = [] { return true; }};
}

RemoteBaton by_library(const PostgresBed& bed) {
  const auto client = std::make_shared<Client>(bed.url());
  const auto lock = std::make_shared<Lock>(client->make_lock(name));
  const auto raw = std::make_shared<RawPostgres>(bed.url(), name);
  client->check(10s);
  return {.baton = {.take = [client, lock] { lock->lock(); },
                    .give = [client, lock] { lock->unlock(); }},
          .other_waits = [raw] { return raw->is_waited_for(); }};
}

}  // namespace

Pair postgres_cycle(Mode mode, Medium medium) {
  const PostgresBed bed(mode, medium);
  const auto floor = [&] {
    const auto raw = std::make_shared<RawPostgres>(bed.url(), name);
    return each_of(20, [raw] {
      take(*raw);
      raw->give();
    });
  };
  return in_turn(
      mode, 150, [&] { return our_owner(bed); }, floor);
}

Pair postgres_failed_try(Mode mode) {
  const PostgresBed bed(mode);
  std::shared_ptr<OurSide> holder;
  const auto ours = [&] {
    holder = std::make_shared<OurSide>(bed);
    holder->lock.lock();
    const auto side = std::make_shared<OurSide>(bed);
    return each_of(100, [side] {
      if (side->lock.try_lock()) throw std::runtime_error("a held lock was taken");
    });
  };
  const auto floor = [&] {
    const auto raw = std::make_shared<RawPostgres>(bed.url(), name);
    take(*raw);
    return each_of(100, [raw] {
      if (raw->look().empty()) throw std::runtime_error("the row is not there");
    });
  };
  const Pair pair = in_turn(mode, 30, ours, floor);
  holder->lock.unlock();
  return pair;
}

double log_of_failed_tries(Mode mode) {
  const PostgresBed bed(mode, Medium::memory);
  Client holder(bed.url());
  Client client(bed.url());
  Lock held = holder.make_lock(name, {.renew = false});
  held.lock();
  Lock lock = client.make_lock(name);
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

Pair postgres_throughput(Mode mode, int threads) {
  const PostgresBed bed(mode);
  return in_turn(
      mode, 8, [&] { return our_threads(bed, threads); },
      [&] { return raw_threads(bed, threads); });
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
