// SPDX-License-Identifier: MIT
#include "model/cast.hpp"

#include <csignal>
#include <string>
#include <utility>

namespace mortise::model {

namespace {

using namespace std::chrono_literals;

// A process of the run ends within the patience of its threads after the faults, or it hangs.
constexpr std::chrono::seconds patience_with_ending{90};

constexpr int looks_for_a_holder = 400;

}  // namespace

ForkedCast::Role ForkedCast::start() {
  const std::uint32_t index = next_index_++;
  if (index >= most_client_processes) throw ProcessError("too many client processes for one run");
  return {.process = Process::fork_child([this, index] {
            HistoryClient(stage_, index).play();
            return 0;
          }),
          .index = index};
}

void ForkedCast::begin() {
  for (std::uint32_t role = 0; role < stage_.workload.processes; ++role) {
    roles_.push_back(start());
  }
}

void ForkedCast::crash(std::uint32_t number, Dice& dice) {
  Role& role = roles_[number];
  // Half of them in the middle of a critical section, the others wherever they are.
  if (dice.chance(0.5)) stop_holder(role);
  const Exit exit = role.process.kill();
  if (exit.signal != SIGKILL) {
    trouble_ += "client process " + std::to_string(role.index) + " had ended by itself; ";
  }
  recorder_.died(role.index, role.process.pid(), exit.sent, exit.reaped);
  role = start();
}

bool ForkedCast::stop_holder(Role& role) {
  for (int look = 0; look < looks_for_a_holder; ++look) {
    if (!role.process.stop()) return false;
    if (stage_.tally->holding[role.index].load() > 0) return true;
    role.process.resume();
    std::this_thread::sleep_for(500us);
  }
  return false;
}

bool ForkedCast::pause_holder(std::uint32_t number, const std::function<void()>& meanwhile) {
  Role& role = roles_[number];
  if (!stop_holder(role)) return false;
  meanwhile();
  role.process.resume();
  return true;
}

std::string ForkedCast::end() {
  for (Role& role : roles_) {
    const std::optional<Exit> exit = role.process.wait_for(patience_with_ending);
    const std::string who = "client process " + std::to_string(role.index);
    if (!exit) {
      trouble_ += who + " hangs; ";
    } else if (exit->killed()) {
      trouble_ += who + " died of signal " + std::to_string(exit->signal) + "; ";
    } else if (exit->code != 0) {
      trouble_ += who + " ended with " + std::to_string(exit->code) + "; ";
    }
  }
  return trouble_;
}

ThreadCast::~ThreadCast() {
  stage_.tally->phase.store(Act::healed);
  end();
}

void ThreadCast::begin() {
  for (std::uint32_t number = 0; number < stage_.workload.processes; ++number) {
    Role& role = *roles_.emplace_back(std::make_unique<Role>());
    role.thread = std::thread([this, &role] { play(role); });
  }
}

void ThreadCast::play(Role& role) {
  std::shared_ptr<HistoryClient> client;
  do {
    client = std::make_shared<HistoryClient>(stage_, next_index_++);
    {
      const std::lock_guard lock(role.mutex);
      role.playing = client;
    }
    client->play();
    const std::lock_guard lock(role.mutex);
    role.playing.reset();
  } while (client->crashed());
}

void ThreadCast::crash(std::uint32_t number, Dice& /*dice*/) {
  const std::lock_guard lock(roles_[number]->mutex);
  if (roles_[number]->playing) roles_[number]->playing->crash();
}

std::string ThreadCast::end() {
  for (const std::unique_ptr<Role>& role : roles_) {
    if (role->thread.joinable()) role->thread.join();
  }
  return {};
}

}  // namespace mortise::model
