// SPDX-License-Identifier: MIT
#include "model/history_client.hpp"

#include "model/relay.hpp"

#include <memory>
#include <thread>

namespace mortise::model {

namespace {

ClientOptions options_of(const Stage& stage) {
  ClientOptions options;
  options.clock = stage.time.clock();
  if (!stage.workload.passes_on) options.turn_handoffs = 0;
  return options;
}

}  // namespace

HistoryClient::HistoryClient(Stage& stage, std::uint32_t process)
    : stage_(stage),
      process_(process),
      recorder_(stage.history, process, [&stage] { return stage.time.now(); }),
      client_(std::make_unique<CutRelay>(stage.backend(), cut_), options_of(stage)),
      attempts_(stage.workload.threads) {}

void HistoryClient::play() {
  working_ = stage_.workload.threads;
  const Company company{.stage = stage_,
                        .client = client_,
                        .recorder = recorder_,
                        .process = process_,
                        .dead = dead_,
                        .cut = cut_,
                        .attempts = attempts_};
  std::vector<std::unique_ptr<Player>> players;
  for (std::uint32_t owner = 0; owner < stage_.workload.threads; ++owner) {
    players.push_back(stage_.workload.player ? stage_.workload.player(company, owner)
                                             : std::make_unique<HistoryWorker>(company, owner));
  }
  std::vector<std::thread> threads;
  for (const std::unique_ptr<Player>& player : players) {
    threads.emplace_back([this, &player] {
      player->run();
      const std::lock_guard lock(mutex_);
      --working_;
      changed_.notify_all();
    });
  }
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return working_ == 0 || crashed(); });
  }
  // Whoever waits for a lock is sent home.
  if (crashed()) client_.close();
  for (std::thread& thread : threads) thread.join();
}

void HistoryClient::crash() {
  const std::lock_guard lock(mutex_);
  cut_->store(true);
  dead_.store(true);
  changed_.notify_all();
}

}  // namespace mortise::model
