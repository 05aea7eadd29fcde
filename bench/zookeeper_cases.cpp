// SPDX-License-Identifier: MIT
// The cases of the ZooKeeper backend: what a lock costs beside the C client by hand, and how many
// round trips it takes where the server is far away.
#include <mortise/mortise.hpp>

#include "case.hpp"
#include "distance.hpp"
#include "figure.hpp"
#include "remote_handoff.hpp"
#include "shape_cycles.hpp"
#include "zookeeper_server.hpp"

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace mortise::bench {
namespace {

using namespace std::chrono_literals;

constexpr const char* name = "bench/zookeeper";
constexpr const char* in_long = "?session=30s";
constexpr int many = 2000;
constexpr int few = 40;
constexpr auto one_way = 5ms;
constexpr double round_trip = 10e6;  // in nanoseconds

double cycle(Mode mode) {
  Client client(ZooKeeperServer::warm(mode).url() + in_long);
  Lock lock = client.make_lock(name);
  return p50(many,
             [&] {
               return timed(1, [&] {
                 lock.lock();
                 lock.unlock();
               });
             }) /
         1000;
}

double remote(Mode mode) {
  const ZooKeeperServer& server = ZooKeeperServer::warm(mode);
  return remote_handoff(
      [&](int) -> RemoteBaton {
        const auto client = std::make_shared<Client>(server.url() + in_long);
        const auto lock = std::make_shared<Lock>(client->make_lock(name));
        return {
            .baton = {.take = [client, lock] { lock->lock(); }, .give = [lock] { lock->unlock(); }},
            // On its own connection, as the floor does: a word to the server has it make a thread,
            // and end it while the lock is handed over.
            .other_waits = [lock] {
              const std::optional<Holder> holder = lock->holder();
              return holder && holder->waiters.value_or(0) > 0;
            }};
      },
      mode);
}

std::string distant_url(const Distance& distance) {
  return "zookeeper://127.0.0.1:" + std::to_string(distance.port()) + "/bench" + in_long;
}

/// @param fresh whether each name is a new one, whose parent is missing
double distant_take(Mode mode, bool fresh) {
  const Distance distance(ZooKeeperServer::warm(mode).port(), one_way);
  Client client(distant_url(distance));
  client.check(10s);
  int count = 0;
  return p50(few,
             [&] {
               Lock lock =
                   client.make_lock(fresh ? "cold" + std::to_string(now_ns() + ++count) : name);
               const double taken = timed(1, [&] { lock.lock(); });
               lock.unlock();
               return taken;
             }) /
         round_trip;
}

double distant_handoff(Mode mode) {
  const ZooKeeperServer& server = ZooKeeperServer::warm(mode);
  const Distance distance(server.port(), one_way);
  Client first(distant_url(distance));
  Client second(distant_url(distance));
  Lock held = first.make_lock(name);
  Lock wanted = second.make_lock(name);
  return p50(few,
             [&] {
               std::atomic<std::int64_t> taken{0};
               held.lock();
               std::thread waiter([&] {
                 wanted.lock();
                 taken.store(now_ns());
                 wanted.unlock();
               });
               const std::int64_t until = now_ns() + std::chrono::nanoseconds(10s).count();
               while (server.watches() == 0 && now_ns() < until) std::this_thread::sleep_for(1ms);
               std::this_thread::sleep_for(2 * one_way);
               const std::int64_t began = now_ns();
               held.unlock();
               waiter.join();
               return static_cast<double>(taken.load() - began);
             }) /
         round_trip;
}

}  // namespace

void add_zookeeper_cases(Cases& cases) {
  using enum Mode;
  add(cases, {same, crossed},
      {.name = "zookeeper/cycle",
       .unit = "us",
       .ours = cycle,
       .floor = [](Mode mode) { return raw_zookeeper("cycle", ZooKeeperServer::warm(mode)); },
       .goal = 0.8});
  Case between{.name = "zookeeper/handoff", .unit = "us", .ours = remote, .floor = [](Mode mode) {
                 return raw_zookeeper("handoff", ZooKeeperServer::warm(mode));
               }};
  add(cases, {same}, between);
  between.goal = 1.1;
  add(cases, {crossed}, between);
  add(cases, {crossed},
      {.name = "zookeeper/distant_take",
       .unit = "rtt",
       .ours = [](Mode mode) { return distant_take(mode, false); },
       .goal = 1.3});
  add(cases, {crossed},
      {.name = "zookeeper/distant_cold_take", .unit = "rtt", .ours = [](Mode mode) {
         return distant_take(mode, true);
       }});
  add(cases, {crossed},
      {.name = "zookeeper/distant_handoff", .unit = "rtt", .ours = distant_handoff, .goal = 1.3});
  add_shape_cycles(cases, {same, crossed}, "zookeeper", 1,
                   [](Mode mode) { return Bed{ZooKeeperServer::warm(mode).url() + in_long}; });
}

}  // namespace mortise::bench
