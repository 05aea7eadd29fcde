// SPDX-License-Identifier: MIT
// Who plays the client processes of a run, and what can be done to them: processes, that are killed
// and stopped; or parts of the test's own, that are cut off and forgotten.
#pragma once

#include "model/history_client.hpp"
#include "model/process.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace mortise::model {

// `role` counts from 0 to Workload::processes; whoever crashes is followed by a client process of a
// new index in the same role.
class Cast {
 public:
  virtual ~Cast() = default;
  virtual void begin() = 0;
  virtual void crash(std::uint32_t role, Dice& dice) = 0;
  // Holds the process of a role still while `meanwhile` runs, at a moment at which it has a hold.
  // False where that cannot be done, or it had none for too long.
  virtual bool pause_holder(std::uint32_t role, const std::function<void()>& meanwhile) = 0;
  // Waits until all have ended by themselves; tells why they have not, or nothing.
  virtual std::string end() = 0;
};

class ForkedCast final : public Cast {
 public:
  explicit ForkedCast(Stage& stage) : stage_(stage), recorder_(stage.history, 0) {}

  void begin() override;
  void crash(std::uint32_t role, Dice& dice) override;
  bool pause_holder(std::uint32_t role, const std::function<void()>& meanwhile) override;
  std::string end() override;

 private:
  struct Role {
    Process process;
    std::uint32_t index = 0;
  };

  Role start();
  bool stop_holder(Role& role);

  Stage& stage_;
  const Recorder recorder_;  // of deaths only
  std::vector<Role> roles_;
  std::uint32_t next_index_ = 0;
  std::string trouble_;
};

class ThreadCast final : public Cast {
 public:
  explicit ThreadCast(Stage& stage) : stage_(stage) {}
  ThreadCast(const ThreadCast&) = delete;
  ThreadCast& operator=(const ThreadCast&) = delete;
  ~ThreadCast() override;

  void begin() override;
  void crash(std::uint32_t role, Dice& dice) override;
  bool pause_holder(std::uint32_t, const std::function<void()>&) override { return false; }
  std::string end() override;

 private:
  struct Role {
    std::mutex mutex;
    std::shared_ptr<HistoryClient> playing;
    std::thread thread;
  };

  void play(Role& role);

  Stage& stage_;
  std::vector<std::unique_ptr<Role>> roles_;
  std::atomic<std::uint32_t> next_index_{0};
};

}  // namespace mortise::model
