// SPDX-License-Identifier: MIT
#include "intake.hpp"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

namespace shop {
namespace {

using namespace std::chrono_literals;

// Records an accepted order and queues it in one step. A process that dies leaves both or neither.
constexpr const char* accept_once = R"lua(
if redis.call('SADD', KEYS[1], ARGV[1]) == 0 then return 0 end
redis.call('EXPIRE', KEYS[1], 172800)
return redis.call('RPUSH', KEYS[2], ARGV[1]))lua";

// The bank charges an order again if it is asked again.
void charge(Intake& intake, int counter, const std::string& order) {
  intake.redis.ask({"RPUSH", intake.name("charges", counter), order});
}

bool is_charged(Intake& intake, int counter, const std::string& order) {
  const auto charges = intake.redis.ask({"LRANGE", intake.name("charges", counter), "0", "-1"});
  return std::find(charges.begin(), charges.end(), order) != charges.end();
}

mortise::Once once(Intake& intake, const std::string& order) {
  return intake.client.make_once(intake.name("order/") + order, {.keep = 48h, .lease = 2s});
}

// [settle]
void settle(Intake& intake, int counter, const std::string& order, const std::string& dies_over) {
  once(intake, order).run([&](mortise::Run& run) {
    if (run.number() > 1 && is_charged(intake, counter, order)) {
      std::cout << (order + ": found charged by run " + std::to_string(run.number()) + "\n");
      return "charged by a worker that died";
    }
    charge(intake, counter, order);
    if (order == dies_over && run.number() == 1) ::raise(SIGKILL);
    return "charged";
  });
}
// [/settle]

// [drain]
/// Needs the counter's lock. @return whether the day is closed, and each of its orders is done
bool drain(Intake& intake, int counter, const mortise::Guard& turn, const std::string& dies_over) {
  const bool closed = !intake.redis.ask({"GET", intake.name("closed")}).empty();
  while (!turn.lost().stop_requested()) {
    const auto taken = intake.redis.ask({"BLPOP", intake.name("queue", counter), "0.1"});
    if (taken.empty()) break;
    settle(intake, counter, taken.at(1), dies_over);
  }
  // An order whose worker died is no longer in a list. Find such orders at the end of the day.
  if (!closed) return false;
  for (const std::string& order : intake.redis.ask({"SMEMBERS", intake.name("seen", counter)})) {
    if (turn.lost().stop_requested()) return false;
    if (once(intake, order).look().state() == mortise::KeyState::succeeded) continue;
    settle(intake, counter, order, dies_over);
  }
  return !turn.lost().stop_requested();
}
// [/drain]

}  // namespace

bool submit(Intake& intake, int counter, const std::string& order) {
  const std::string seen = intake.name("seen", counter);
  const std::string queue = intake.name("queue", counter);
  return intake.redis.ask({"EVAL", accept_once, "2", seen, queue, order}) !=
         std::vector<std::string>{"0"};
}

void work(Intake& intake, const std::string& dies_over) {
  std::vector<int> open(counters);
  for (int counter = 0; counter < counters; ++counter) {
    open[static_cast<std::size_t>(counter)] = counter;
  }
  while (!open.empty()) {
    std::erase_if(open, [&](int counter) {
      mortise::Lock lock = intake.client.make_lock(intake.name("counter", counter), {.lease = 2s});
      const mortise::Guard turn(lock,
                                {.wait = 0s});  // if another worker has it, try the next counter
      return turn && drain(intake, counter, turn, dies_over);
    });
    std::this_thread::sleep_for(10ms);
  }
}

}  // namespace shop
