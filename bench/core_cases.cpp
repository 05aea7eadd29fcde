// SPDX-License-Identifier: MIT
// What the library itself costs: the backend is this process's memory, and its server part counts
// as ours.
#include <mortise/memory.hpp>
#include <mortise/mortise.hpp>

#include "case.hpp"
#include "contention.hpp"
#include "figure.hpp"
#include "handoff.hpp"
#include "support/crowd.hpp"

#include <array>
#include <atomic>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace mortise::bench {
namespace {

using namespace std::chrono_literals;

constexpr const char* url = "memory:";
constexpr const char* name = "bench/core";
constexpr int threads = 8;

Baton baton_of(Lock& lock) {
  return {.take = [&lock] { lock.lock(); }, .give = [&lock] { lock.unlock(); }};
}

double reentry(Mode /*mode*/) {
  constexpr int batch = 64;
  Client client(url);
  Lock lock = client.make_lock(name);
  const std::scoped_lock hold(lock);
  return p50(2000, [&] {
    const double took = timed(batch, [&] { lock.lock(); });
    for (int i = 0; i < batch; ++i) lock.unlock();
    return took;
  });
}

double reentry_pair(Mode /*mode*/) {
  Client client(url);
  Lock lock = client.make_lock(name);
  const std::scoped_lock hold(lock);
  return p50(2000, [&] {
    return timed(64, [&] {
      lock.lock();
      lock.unlock();
    });
  });
}

template <class Lockable>
double cycle_of(Lockable& lock) {
  return p50(2000, [&] {
    return timed(16, [&] {
      lock.lock();
      lock.unlock();
    });
  });
}

double cycle(Mode /*mode*/) {
  Client client(url);
  Lock lock = client.make_lock(name);
  return cycle_of(lock);
}

double std_cycle(Mode /*mode*/) {
  std::recursive_timed_mutex mutex;
  return cycle_of(mutex);
}

double handoff_between_threads(Mode mode) {
  Client client(url);
  Lock lock = client.make_lock(name);
  return handoff(mode, Sides::threads, [&](int) { return baton_of(lock); });
}

double futex_handoff(Mode mode) {
  FutexRelay turn;
  return handoff(mode, Sides::threads, [&](int side) -> Baton {
    const auto mine = static_cast<std::uint32_t>(side);
    return {.take = [&turn, mine] { turn.take(mine); },
            .give = [&turn, mine] { turn.give(1 - mine); }};
  });
}

Grants eight_threads() {
  Client client(url);
  Lock lock = client.make_lock(name);
  return contend(threads, [&](int) { return baton_of(lock); });
}

/// Eight threads in a ring, each wakes the next: the least that turns in order can cost.
double futex_ring(Mode /*mode*/) {
  std::array<FutexRelay, threads> turns;  // each is 1 when its thread may go, and the first begins
  turns[0].give(1);
  const Grants grants = contend(threads, [&](int thread) -> Baton {
    const auto mine = static_cast<std::size_t>(thread);
    return {.take =
                [&turns, mine] {
                  turns[mine].take(1);
                  turns[mine].reset();
                },
            .give = [&turns, mine] { turns[(mine + 1) % threads].give(1); }};
  });
  return grants.per_second;
}

/// Seven threads that wait in one client: none of them has business with the server.
double waiting_threads(Mode /*mode*/) {
  Client client(url);
  Lock lock = client.make_lock(name);
  return cost_of_waiting(baton_of(lock), std::vector<Baton>(7, baton_of(lock)), 1500ms);
}

/// Seven clients: each waits at the server and asks again each fallback period.
double waiting_clients(Mode /*mode*/) {
  constexpr int count = 8;
  std::vector<Client> clients;
  std::vector<Lock> locks;
  locks.reserve(count);
  for (int i = 0; i < count; ++i) {
    clients.emplace_back(url);
    locks.push_back(clients.back().make_lock(name));
  }
  std::vector<Baton> waiters;
  for (int i = 1; i < count; ++i) waiters.push_back(baton_of(locks[static_cast<std::size_t>(i)]));
  return cost_of_waiting(baton_of(locks[0]), waiters, 1500ms);
}

/// @return the microseconds of one step in a crowd of that many callers of one client.
double step_in_a_crowd(void (test::Crowd::*step)(), std::size_t callers, mortise::Mode mode) {
  test::Crowd crowd(callers, mode);
  return p50(100, [&] { return timed(1000, [&] { (crowd.*step)(); }); }) / 1000;
}

void add_crowd_cases(Cases& cases) {
  struct Kind {
    const char* name;
    void (test::Crowd::*step)();
    mortise::Mode mode;
  };
  for (const Kind& kind : {Kind{"hand_over", &test::Crowd::hand_over, mortise::Mode::exclusive},
                           Kind{"cancel", &test::Crowd::cancel, mortise::Mode::exclusive},
                           Kind{"share", &test::Crowd::share, mortise::Mode::shared}}) {
    const std::string group = std::string("core/") + kind.name + "_among_";
    const auto among = [kind](std::size_t callers) -> Measure {
      return [kind, callers](Mode) { return step_in_a_crowd(kind.step, callers, kind.mode); };
    };
    for (const std::size_t callers : {100UL, 1'000UL, 10'000UL, 100'000UL}) {
      add(cases, {Mode::same},
          {.name = group + std::to_string(callers),
           .unit = "us",
           .ours = among(callers),
           .goal = 5});
    }
    add(cases, {Mode::same},
        {.name = group + "100000_beside_100",
         .unit = "us",
         .ours = among(100'000),
         .floor = among(100),
         .goal = 3});
  }
}

std::vector<Lock> hold_many(Client& client, int count, const LockOptions& options) {
  std::vector<Lock> locks;
  locks.reserve(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) {
    locks.push_back(client.make_lock("orders/" + std::to_string(i), options));
    locks.back().lock();
  }
  return locks;
}

/// Everything on the heap: handle, hold, timer, table, and the memory server's own record.
double heap_of_a_held_lock(Mode /*mode*/) {
  constexpr int count = 100'000;
  Client client(url);
  const double before = heap_in_use();
  const std::vector<Lock> locks = hold_many(client, count, {});
  const double used = heap_in_use() - before;
  return used / count;
}

/// Renewing is made ten times as frequent as it is by default, and the cost divided by ten, so that
/// every hold is renewed twice while one watches.
double renewing(Mode /*mode*/) {
  constexpr int count = 100'000;
  constexpr int faster = 10;
  memory::Server server;
  Client client(server.backend());
  const LockOptions options{.lease = LockOptions().lease / faster};
  const std::vector<Lock> locks = hold_many(client, count, options);
  std::this_thread::sleep_for(options.lease / 3);  // the first renewals are behind us then
  const std::uint64_t before = server.requests();
  const double percent = cpu_percent(options.lease * 2 / 3);
  if (server.requests() - before < 3 * count / 2) throw std::runtime_error("too few renewals");
  for (const Lock& lock : locks) {
    if (lock.valid_for() == 0ns) throw std::runtime_error("a hold was not renewed in time");
  }
  return percent / faster;
}

}  // namespace

void add_core_cases(Cases& cases) {
  using enum Mode;
  add(cases, {same}, {.name = "core/reentry_lock", .unit = "ns", .ours = reentry, .goal = 200});
  add(cases, {same}, {.name = "core/reentry_lock_unlock", .unit = "ns", .ours = reentry_pair});
  add(cases, {same}, {.name = "core/cycle", .unit = "ns", .ours = cycle, .floor = std_cycle});
  add(cases, {same},
      {.name = "core/handoff", .unit = "us", .ours = handoff_between_threads, .goal = 5});
  add(cases, {same, crossed, unpinned},
      {.name = "core/handoff_beside_futex",
       .unit = "us",
       .ours = handoff_between_threads,
       .floor = futex_handoff});
  const Case eight{.name = "core/8_threads",
                   .unit = "1/s",
                   .better = Better::higher,
                   .ours = [](Mode) { return eight_threads().per_second; },
                   .goal = 120'000};
  add(cases, {same}, eight);
  Case beside = eight;
  beside.name = "core/8_threads_beside_ring";
  beside.floor = futex_ring;
  beside.goal.reset();
  add(cases, {same, unpinned}, beside);
  add(cases, {same, unpinned},
      {.name = "core/8_threads_least_by_most",
       .unit = "1",
       .better = Better::higher,
       .ours = [](Mode) { return eight_threads().evenness; }});
  add(cases, {unpinned},
      {.name = "core/7_waiting_threads", .unit = "% cpu", .ours = waiting_threads, .goal = 0.1});
  add(cases, {unpinned},
      {.name = "core/7_waiting_clients", .unit = "% cpu", .ours = waiting_clients, .goal = 0.1});
  add_crowd_cases(cases);
  add(cases, {unpinned},
      {.name = "core/held_lock", .unit = "bytes", .ours = heap_of_a_held_lock, .goal = 1024});
  add(cases, {unpinned},
      {.name = "core/renewing_100000", .unit = "% cpu", .ours = renewing, .goal = 5});
}

}  // namespace mortise::bench
