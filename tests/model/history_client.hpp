// SPDX-License-Identifier: MIT
// One client process of a run: a client of the library, and the threads that use it. It may be a
// process indeed, or, where a store cannot be reached from another one, a part of the test's own.
#pragma once

#include "model/history_worker.hpp"

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace mortise::model {

class HistoryClient {
 public:
  HistoryClient(Stage& stage, std::uint32_t process);

  // Plays its part on threads of its own; returns when they have ended.
  void play();

  // From another thread: as far as one can without a process of its own, the client is killed. Its
  // requests arrive no more, its threads say nothing more and end; its holds are left to their
  // leases.
  void crash();
  bool crashed() const noexcept { return dead_.load(); }

 private:
  Stage& stage_;
  const std::uint32_t process_;
  const Recorder recorder_;
  std::atomic<bool> dead_{false};
  const std::shared_ptr<std::atomic<bool>> cut_ = std::make_shared<std::atomic<bool>>(false);
  Client client_;
  std::vector<Cancellable> attempts_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::uint32_t working_ = 0;
};

}  // namespace mortise::model
